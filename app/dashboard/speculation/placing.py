"""Where one draft runs: beside the target, on GPUs of its own, or there and ahead of it. Knows nothing of pages."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from app.dashboard.speculation.found import each
from app.dashboard.speculation.point import point
from app.dashboard.speculation_inputs import View
from simulator.spec.draft import Draft
from simulator.spec.draft_pool import ON_ITS_OWN, WHY_NOT
from simulator.spec.scenario import Scenario

BESIDE, APART, AHEAD = "co-located", "dedicated", "drafted-ahead"
"""Names of the placements, as deployments."""

BONUS_GUESS = 0.7
"""Assumed chance that drafts made ahead begin with the token that the target adds itself; SSD (arXiv:2603.03251)
reports up to 0.9 with several guesses, and a single guess is right less often."""


class Pool(NamedTuple):
    """Where the controls of draft GPUs stand."""

    gpus: int
    shared_by: int
    """Replicas."""
    link: str
    bonus_guess: float
    outcomes: int


def why_not_apart(draft: Draft) -> str:
    """Why a draft cannot have GPUs of its own; empty where it can."""
    if draft.way not in ON_ITS_OWN:
        return WHY_NOT[draft.way]
    return "it shares the target's KV, which lies on other GPUs" if draft.shares_target_kv else ""


def speculations(scenario: Scenario, view: View, pool: Pool) -> dict[str, Mapping[str, Any]]:
    """Placement → the reader's own point in it, as a file says it."""
    base = point(scenario, view)
    apart = {"kind": "dedicated", "gpus": pool.gpus, "shared_by": pool.shared_by, "link": pool.link}
    ahead = {"kind": "draft_ahead", "bonus_guess": pool.bonus_guess, "outcomes": pool.outcomes}
    placed = {BESIDE: {"kind": "colocated"}, APART: apart, AHEAD: apart | {"overlap": ahead}}
    return {name: base | {"placement": placement} for name, placement in placed.items()}


def placements(scenario: Scenario, view: View, pool: Pool) -> Scenario:
    """The scenario with a deployment for each placement, and one without a draft."""
    return each(scenario, view.name, speculations(scenario, view, pool))
