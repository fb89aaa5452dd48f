"""Ways to draft at one deployment: chain, tree, several drafts, heads, each as a file says it. Knows nothing of pages.

They are made of the reader's own draft and acceptance, or of a measured preset; what is assumed beyond says so.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, NamedTuple

from app.dashboard.draft_presets import PRESETS
from app.dashboard.speculation.point import point, whose
from app.dashboard.speculation_inputs import View
from app.format import percent
from simulator.catalog.load import load_acceptance
from simulator.errors import ScenarioError
from simulator.spec.scenario import Scenario
from simulator.spec.speculation import DraftSpeculation

BEST_TREE = "the best at your batch"
TREES = {BEST_TREE: (), "2·1·1·1": (2, 1, 1, 1), "3·2·1·1": (3, 2, 1, 1), "4·2·2·1": (4, 2, 2, 1)}
"""Trees to choose from → children of the root, of each node below it, and so on."""
MOST_NODES = 64
"""Of the best tree."""

BRANCHES = (0.634, 0.108, 0.057, 0.0225, 0.0195, 0.015, 0.0045, 0.003)
"""Chance of the 1st, 2nd, … child as Sequoia's repository holds it (Infini-AI-Lab/Sequoia @0ff3ff71, measured for its
models): how later children share what the first leaves, where a draft's own acceptance does not say."""

INSIDE, OUTSIDE = 1.15, 0.9
"""Assumed factors on a specialised draft's acceptance, in its own class and elsewhere: those of the built-in scenario
`multi_draft_code_math_prose`. Ge et al., arXiv:2505.08600, report 6 to 50 % for drafts trained for their task."""
ACCURACY, CORRELATION = 0.95, 0.6
"""Assumed, as there: the share of requests that a router sends right, and how alike the drafts' rejections are."""
ROUTER = {"parameters": 150_000_000, "latency_s": 0.002}
"""Assumed, as there."""
MOST_DRAFTS = 4
"""Specialised drafts that are offered."""
ONE_CLASS = "requests are of one class: there is nothing to specialise drafts in"


class Knobs(NamedTuple):
    """Where the controls of several drafts and of the tree stand."""

    drafts: int
    accuracy: float
    correlation: float
    inside: float
    outside: float
    tree: str


class Asked(NamedTuple):
    """A deployment, the reader's own point, and the controls beside it."""

    scenario: Scenario
    view: View
    knobs: Knobs

    @property
    def own(self) -> DraftSpeculation | None:
        """How the deployment speculates as it stands."""
        found = self.scenario.deployments[self.view.name].speculation
        return found if isinstance(found, DraftSpeculation) else None

    @property
    def draft_tokens(self) -> int:
        """K of the reader's own point."""
        return self.view.choice.draft_tokens

    @property
    def accepted(self) -> str:
        """Where its acceptance is from."""
        return whose(self.scenario, self.view)


class Way(NamedTuple):
    """A way to draft."""

    name: str
    speculation: Mapping[str, Any]
    """As a file says it."""
    acceptance: str
    """Where its acceptance is from, and what of it is assumed."""


def own_accuracy(own: DraftSpeculation | None) -> float:
    """The router's accuracy that a deployment states, the lowest of its classes; without one an assumed one."""
    if own is None or own.combine.kind != "routed":
        return ACCURACY
    return min(own.combine.accuracy.values())


def own_correlation(own: DraftSpeculation | None) -> float:
    """The correlation of rejections that a deployment states; without one an assumed one."""
    if own is None or own.combine.kind != "union" or own.combine.recursive_rejection is None:
        return CORRELATION
    return own.combine.recursive_rejection.correlation


def as_it_stands(asked: Asked) -> Way:
    """The deployment's own speculation, but for a router's accuracy and a union's correlation that were moved."""
    own, knobs = asked.own, asked.knobs
    if own is None:
        raise ScenarioError(f"{asked.view.name} has no draft")
    stated = own.model_dump(mode="json", exclude_unset=True)
    if own.combine.kind == "routed" and knobs.accuracy != own_accuracy(own):
        stated["combine"]["accuracy"] = {"all": knobs.accuracy}
    if own.combine.kind == "union" and knobs.correlation != own_correlation(own):
        stated["combine"]["recursive_rejection"]["correlation"] = knobs.correlation
    return Way(f"{asked.view.name} as it stands", stated, "the scenario's own")


def chain(asked: Asked) -> Way:
    """One draft, a chain of K."""
    return Way("one draft, a chain", point(asked.scenario, asked.view), asked.accepted)


def tree(asked: Asked) -> Way:
    """The same draft, a tree; the best one is at most as deep as the chain."""
    name, draft = _own_draft(asked)
    said = asked.accepted
    if not all("branches" in one for one in draft["acceptance"].values()):
        said += "; further children as Sequoia measured them on its models: assumed"
    accepted = {kind: {"branches": list(BRANCHES), **one} for kind, one in draft["acceptance"].items()}
    widths = TREES[asked.knobs.tree]
    propose = {"shape": "tree", "widths": list(widths)} if widths else _best_tree(asked)
    drafts = {name: draft | {"acceptance": accepted}}
    return Way("one draft, a tree", {"kind": "drafts", "drafts": drafts, "propose": propose}, said)


def routed(asked: Asked) -> Way:
    """Specialised drafts, of which a router picks one for each request."""
    drafts, routes = specialised(asked)
    classes = asked.scenario.workload.classes
    combine = {
        "kind": "routed", "routes": routes, "accuracy": {"all": asked.knobs.accuracy},
        "fallback": routes[max(classes, key=lambda kind: classes[kind])], "router": ROUTER,
    }  # fmt: skip
    said = f"{_factors(asked)}; router right for {percent(asked.knobs.accuracy)} of the requests"
    return Way(f"{len(drafts)} drafts, routed", _chain(drafts, asked.draft_tokens) | {"combine": combine}, said)


def together(asked: Asked) -> Way:
    """Specialised drafts that all propose; the target verifies all their chains."""
    drafts, _ = specialised(asked)
    combine = {"kind": "union", "recursive_rejection": {"correlation": asked.knobs.correlation}}
    said = f"{_factors(asked)}; rejections alike to {percent(asked.knobs.correlation)}"
    return Way(f"{len(drafts)} drafts, all at once", _chain(drafts, asked.draft_tokens) | {"combine": combine}, said)


def equal_budget(asked: Asked) -> Way:
    """The baseline of several drafts: one draft that proposes as many tokens as all of them."""
    name, draft = _own_draft(asked)
    tokens = len(specialised(asked)[0]) * asked.draft_tokens
    said = f"{asked.accepted}; beyond what was measured it falls on as between the last two positions"
    return Way(f"one draft, a chain of {tokens}: equal budget", _chain({name: draft}, tokens), said)


def specialised(asked: Asked) -> tuple[dict[str, Any], dict[str, str]]:
    """Drafts like the reader's own, each better in its classes and worse elsewhere; class → its draft.

    They share no part, which a file could not write.

    Raises ScenarioError where all requests are of one class.
    """
    classes, knobs = list(asked.scenario.workload.classes), asked.knobs
    if len(classes) < 2:
        raise ScenarioError(ONE_CLASS)
    _, draft = _own_draft(asked)
    names = [f"for-{kind}"[:80] for kind in classes[: knobs.drafts]]
    routes = {kind: names[place % len(names)] for place, kind in enumerate(classes)}
    drafts = {}
    for name in names:
        factors = {kind: knobs.inside if routes[kind] == name else knobs.outside for kind in classes}
        accepted = {kind: _lifted(_accepted(draft, kind), factor) for kind, factor in factors.items()}
        drafts[name] = deepcopy(draft | {"acceptance": accepted})
    return drafts, routes


def preset(name: str) -> Callable[[Asked], Way]:
    """A head or copied text with the acceptance that somebody measured."""

    def made(_: Asked) -> Way:
        found = PRESETS[name]
        return Way(name, found.mapping(), f"measured on {load_acceptance(found.acceptance).title}")

    return made


def like(other: str) -> Callable[[Asked], Way]:
    """What another deployment of the scenario does."""

    def made(asked: Asked) -> Way:
        found = asked.scenario.deployments[other].speculation
        return Way(f"as {other}", found.model_dump(mode="json", exclude_unset=True), "the scenario's own")

    return made


WAYS: dict[str, Callable[[Asked], Way]] = {
    "as it stands": as_it_stands,
    "chain": chain,
    "tree": tree,
    "routed": routed,
    "all at once": together,
    "equal budget": equal_budget,
    **{name: preset(name) for name in PRESETS},
}
"""Ways to draft by what a control calls them."""

AT_FIRST = ("as it stands", "chain", "tree", "routed", "all at once", "equal budget", "EAGLE-3 head", "MTP module")
"""Those that are drawn until the reader chooses."""


def choices(scenario: Scenario, name: str) -> dict[str, Callable[[Asked], Way]]:
    """Ways to choose from for a deployment: those above, and what others of its GPU and target do."""
    spec = scenario.deployments[name]
    others = {
        other: of
        for other, of in scenario.deployments.items()
        if other != name and of.speculation.kind != "none" and (of.gpu, of.target) == (spec.gpu, spec.target)
    }
    return WAYS | {f"as {other}": like(other) for other in others}


def _own_draft(asked: Asked) -> tuple[str, dict[str, Any]]:
    """The reader's draft by its name."""
    ((name, draft),) = point(asked.scenario, asked.view)["drafts"].items()
    return name, draft


def _chain(drafts: Mapping[str, Any], draft_tokens: int) -> dict[str, Any]:
    propose = {"shape": "chain", "draft_tokens": draft_tokens}
    return {"kind": "drafts", "drafts": dict(drafts), "propose": propose}


def _best_tree(asked: Asked) -> dict[str, Any]:
    batch = max(round(asked.view.sequences), 1)
    return {"shape": "best_tree", "max_depth": asked.draft_tokens, "max_nodes": MOST_NODES, "at_sequences": batch}


def _accepted(draft: Mapping[str, Any], kind: str) -> dict[str, Any]:
    found: dict[str, Any] = draft["acceptance"].get(kind) or draft["acceptance"]["all"]
    return found


def _lifted(accepted: Mapping[str, Any], factor: float) -> dict[str, Any]:
    """An acceptance with a further factor on every position."""
    own = accepted.get("uplift") or {"factor": 1.0}
    return {**accepted, "uplift": {"factor": own["factor"] * factor, "source": "assumed on the page Speculation"}}


def _factors(asked: Asked) -> str:
    inside, outside = asked.knobs.inside, asked.knobs.outside
    return f"{asked.accepted}, ×{inside:.2f} in a draft's own classes and ×{outside:.2f} elsewhere: assumed"
