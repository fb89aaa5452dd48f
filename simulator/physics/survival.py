"""Acceptance by draft position and by group of requests, from what a user knows of a draft.

The formulas are in `acceptance`, `curves`, `spread` and `factors`; this module only turns an Acceptance specification
into their inputs.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simulator.catalog.load import load_acceptance
from simulator.catalog.presets import stated
from simulator.physics.acceptance import constant_acceptance, survival_from_conditional
from simulator.physics.curves import (
    extended,
    survival_of_curve,
    survival_of_decay,
    survival_of_drafted,
    survival_of_histogram,
)
from simulator.physics.factors import Conditions, factors_of, scaled
from simulator.physics.spread import mean_over_requests, mean_over_steps, spread_survival
from simulator.spec.acceptance import Acceptance

Floats = NDArray[np.float64]


def survival_for(acceptance: Acceptance, draft_tokens: int) -> tuple[float, ...]:
    """Survival S_1 … S_K of a class, averaged over steps as engines count it [0 to 1].

    As measured: no factor of temperature, context or training is on it.

    acceptance: the specification; fewer draft tokens than it was measured at take its first positions.
    draft_tokens: K of the deployment; beyond what was measured it is extrapolated (`measured_positions` says how far).
    """
    return extended(_class_survival(stated(acceptance), draft_tokens), draft_tokens)[:draft_tokens]


def mean_survival(of: Sequence[Acceptance], draft_tokens: int) -> Floats:
    """Survival S_1 … S_K, mean of several classes or drafts, each counting as much; as `survival_for` [0 to 1]."""
    return np.asarray(np.mean([survival_for(acceptance, draft_tokens) for acceptance in of], axis=0))


def acceptance_table(acceptance: Acceptance, draft_tokens: int) -> Floats:
    """Survival by group of requests and position, [num_groups, K]; one row when requests are all alike.

    Tokens per step, over time or over requests as the specification says, come out as given: at the draft tokens they
    were measured at, or at K where each position was given. Survival is cut at the share of steps that draft the
    position. As `survival_for`, without factors.
    """
    acceptance = stated(acceptance)
    survival = extended(_class_survival(acceptance, draft_tokens), draft_tokens)
    if acceptance.spread == 0:
        return np.array([survival[:draft_tokens]], dtype=np.float64).reshape(1, draft_tokens)
    mean = mean_over_requests if acceptance.averaged_over == "requests" else mean_over_steps
    solved = survival if acceptance.at is not None else survival[:draft_tokens]
    known = len(solved) if acceptance.at is None else acceptance.at
    table = spread_survival(solved, acceptance.spread, mean, reach=_reach(acceptance, len(solved)), known=known)
    return table[:, :draft_tokens]


def acceptance_tables(acceptance: Acceptance, draft_tokens: int, conditions: Conditions, kept: float = 1.0) -> Floats:
    """The same under conditions, [prompt lengths, num_groups, K].

    kept: further factor on the conditional acceptance of every position. [0 to 1]
    """
    acceptance = stated(acceptance)
    factors = factors_of(acceptance, conditions) * kept
    return scaled(acceptance_table(acceptance, draft_tokens), factors, _reach(acceptance, draft_tokens))


def measured_positions(acceptance: Acceptance) -> int:
    """Draft tokens up to which acceptance was measured; beyond, it is extrapolated [tokens]."""
    acceptance = stated(acceptance)
    if acceptance.preset is not None:
        return max(load_acceptance(acceptance.preset).tokens_per_step or {})
    if acceptance.survival is not None:
        return len(acceptance.survival)
    if acceptance.histogram is not None:
        return max(acceptance.histogram)
    assert acceptance.at is not None
    return acceptance.at


def _reach(acceptance: Acceptance, positions: int) -> list[float]:
    return [acceptance.reach(position + 1) for position in range(positions)]


def _class_survival(acceptance: Acceptance, draft_tokens: int) -> tuple[float, ...]:
    """Survival at all positions that the specification gives; a preset's only up to draft_tokens."""
    if acceptance.preset is not None:
        curve = load_acceptance(acceptance.preset).tokens_per_step or {}
        return survival_of_curve(curve, min(draft_tokens, max(curve)))
    if acceptance.survival is not None:
        return acceptance.survival
    if acceptance.histogram is not None:
        return survival_of_histogram(acceptance.histogram)
    assert acceptance.tokens_per_step is not None
    assert acceptance.at is not None
    if acceptance.drafted is not None:
        return survival_of_drafted(acceptance.tokens_per_step, _reach(acceptance, acceptance.at))
    if acceptance.decay is not None:
        return survival_of_decay(acceptance.tokens_per_step, acceptance.at, acceptance.decay)
    constant = constant_acceptance(acceptance.tokens_per_step, acceptance.at)
    return survival_from_conditional([constant] * acceptance.at)
