"""The reader's own point on the page Speculation: one draft, a chain, as a file says it. Knows nothing of pages."""

from typing import Any

from app.dashboard.speculation.found import with_speculation
from app.dashboard.speculation_inputs import View, adopted, keeps_own_acceptance
from simulator.errors import ScenarioError
from simulator.planning.speculation_gain import MOST_DRAFT_TOKENS
from simulator.spec.draft import Draft
from simulator.spec.scenario import Scenario
from simulator.spec.speculation import DraftSpeculation


def point(scenario: Scenario, view: View) -> dict[str, Any]:
    """One draft and a chain of K, with an acceptance for every class, as many positions as the maps have.

    Raises ScenarioError for a draft that is for some classes of requests only.
    """
    found = adopted(scenario, view.name, view.choice, view.draft, MOST_DRAFT_TOKENS)
    for name, draft in found["drafts"].items():
        lacking = [kind for kind in scenario.workload.classes if not {kind, "all"} & set(draft["acceptance"])]
        if lacking:
            raise ScenarioError(f"draft {name} alone has no acceptance for {', '.join(lacking)}: choose another draft")
    return found


def point_draft(scenario: Scenario, view: View) -> Draft:
    """The draft of that point."""
    speculation = at_point(scenario, view).deployments[view.name].speculation
    assert isinstance(speculation, DraftSpeculation)
    return speculation.draft


def at_point(scenario: Scenario, view: View) -> Scenario:
    """The deployment alone, drafting as the point says."""
    return with_speculation(scenario, view.name, point(scenario, view))


def whose(scenario: Scenario, view: View) -> str:
    """Where the acceptance of that point is from."""
    own = keeps_own_acceptance(scenario, view.name, view.choice, view.draft)
    return "the deployment's own, by class" if own else "as the sliders say"
