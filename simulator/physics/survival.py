"""Acceptance by draft position and by group of requests, from what a user knows of a draft.

The formulas are in `acceptance`; this module only turns an Acceptance specification into their inputs.
"""

from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from simulator.catalog.load import load_acceptance
from simulator.catalog.presets import stated
from simulator.errors import ScenarioError
from simulator.physics.acceptance import (
    conditional_from_survival,
    constant_acceptance,
    survival_from_conditional,
    tokens_per_step,
)
from simulator.spec.acceptance import Acceptance

Floats = NDArray[np.float64]
NUM_GROUPS = 64
"""Equally likely groups of requests that stand for a spread of acceptance."""
_BISECTIONS = 100
_WIDEST_OFFSET = 60.0


def survival_for(acceptance: Acceptance, draft_tokens: int) -> tuple[float, ...]:
    """Survival S_1 … S_K of a class, averaged over steps as engines count it [0 to 1].

    acceptance: the specification; fewer draft tokens than it was measured at take its first positions.
    draft_tokens: K of the deployment; more than was measured is a ScenarioError. [tokens]
    """
    return _class_survival(stated(acceptance), draft_tokens)[:draft_tokens]


def acceptance_table(acceptance: Acceptance, draft_tokens: int) -> Floats:
    """Survival by group of requests and position, [num_groups, K]; one row when requests are all alike.

    A group's conditional acceptances are σ(logit β_i + z + offset), with z at the midpoints of equally likely quantiles
    of N(0, spread²); its survival is cut at the share of steps that draft the position. The offset is solved so that
    tokens per step, over time or over requests as the specification says, comes out as given: at the draft tokens it
    was measured at, or at K where each position was given.
    Positions that are always or never accepted stay so.
    """
    acceptance = stated(acceptance)
    survival = _class_survival(acceptance, draft_tokens)
    if acceptance.spread == 0:
        return np.array([survival[:draft_tokens]], dtype=np.float64).reshape(1, draft_tokens)
    mean = mean_over_requests if acceptance.averaged_over == "requests" else mean_over_steps
    solved_at = survival if acceptance.at is not None else survival[:draft_tokens]
    reach = [acceptance.reach(position + 1) for position in range(len(solved_at))]
    return spread_survival(solved_at, acceptance.spread, mean, reach=reach)[:, :draft_tokens]


def mean_over_steps(tokens: Floats) -> float:
    """Tokens per step over time, of groups that bring equally many output tokens: the harmonic mean [tokens].

    tokens: tokens per step of each group. [tokens]

    >>> round(mean_over_steps(np.array([4.68559, 2.38336])), 2)
    3.16
    """
    return float(1.0 / np.mean(1.0 / tokens))


def mean_over_requests(tokens: Floats) -> float:
    """Tokens per step averaged over requests: the plain mean [tokens].

    tokens: tokens per step of each group. [tokens]

    >>> round(mean_over_requests(np.array([4.68559, 2.38336])), 2)
    3.53
    """
    return float(np.mean(tokens))


def spread_survival(
    survival: Sequence[float],
    spread: float,
    mean: Callable[[Floats], float],
    num_groups: int = NUM_GROUPS,
    reach: Sequence[float] | None = None,
) -> Floats:
    """Survival of groups of requests, [num_groups, K], whose mean tokens per step is that of `survival`.

    survival: of the class. [0 to 1]
    spread: standard deviation of a request's log-odds of acceptance. [logits]
    mean: how tokens per step are averaged over groups.
    reach: share of steps that draft position 1, 2, …: no group's survival is above it; None: all do. [0 to 1]
    """
    limit = np.ones(len(survival)) if reach is None else np.array(reach)
    conditional = np.array(conditional_from_survival(survival), dtype=np.float64)
    free = (conditional > 0) & (conditional < 1)
    odds = np.zeros_like(conditional)
    odds[free] = np.log(conditional[free]) - np.log1p(-conditional[free])
    quantiles = [NormalDist().inv_cdf((group + 0.5) / num_groups) for group in range(num_groups)]
    shift = spread * np.array(quantiles)[:, None]
    wanted = tokens_per_step(survival)
    low, high = -_WIDEST_OFFSET, _WIDEST_OFFSET
    for _ in range(_BISECTIONS):
        offset = (low + high) / 2
        table = np.minimum(_survival_at(conditional, free, odds + shift + offset), limit)
        low, high = (offset, high) if mean(1.0 + table.sum(axis=1)) < wanted else (low, offset)
    return np.minimum(_survival_at(conditional, free, odds + shift + (low + high) / 2), limit)


def _survival_at(conditional: Floats, free: NDArray[np.bool_], log_odds: Floats) -> Floats:
    sigmoid = np.exp(-np.logaddexp(0.0, -log_odds))
    return np.asarray(np.cumprod(np.where(free, sigmoid, conditional), axis=1), dtype=np.float64)


def _class_survival(acceptance: Acceptance, draft_tokens: int) -> tuple[float, ...]:
    """Survival at all positions that the specification gives; a preset's only up to draft_tokens."""
    if acceptance.preset is not None:
        curve = load_acceptance(acceptance.preset).tokens_per_step or {}
        _require(draft_tokens, max(curve), f"preset {acceptance.preset} goes up to K = {max(curve)}")
        return survival_of_curve(curve, draft_tokens)
    if acceptance.survival is not None:
        survival = acceptance.survival
        _require(draft_tokens, len(survival), f"survival has {len(survival)} positions")
        return survival
    if acceptance.histogram is not None:
        most = max(acceptance.histogram)
        _require(draft_tokens, most, f"the histogram goes up to {most} accepted tokens")
        return survival_of_histogram(acceptance.histogram)
    assert acceptance.tokens_per_step is not None
    assert acceptance.at is not None
    _require(draft_tokens, acceptance.at, f"tokens_per_step was measured at {acceptance.at} draft tokens")
    if acceptance.drafted is not None:
        reach = [acceptance.reach(position + 1) for position in range(acceptance.at)]
        return survival_of_drafted(acceptance.tokens_per_step, reach)
    constant = constant_acceptance(acceptance.tokens_per_step, acceptance.at)
    return survival_from_conditional([constant] * acceptance.at)


def survival_of_drafted(tokens: float, reach: Sequence[float]) -> tuple[float, ...]:
    """Survival from tokens per step, where drafts are of different lengths: a drafted token is kept as the one before.

    tokens: per step, bonus included; at most 1 + Σ reach. [tokens]
    reach: share of steps that draft position 1, 2, …; never rises. [0 to 1]

    >>> [round(s, 3) for s in survival_of_drafted(1.6, [0.8, 0.8])]
    [0.4, 0.2]
    """
    drafted = np.array(reach)
    powers = np.arange(1, drafted.size + 1)
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if 1.0 + float(drafted @ middle**powers) < tokens else (low, middle)
    return tuple((drafted * high**powers).tolist())


def _require(draft_tokens: int, given: int, what: str) -> None:
    if draft_tokens > given:
        raise ScenarioError(
            f"{what}, draft_tokens is {draft_tokens}: propose at most {given}, or measure more positions"
        )


def survival_of_histogram(histogram: Mapping[int, int]) -> tuple[float, ...]:
    """Survival from counts of steps by the draft tokens that they accepted [0 to 1].

    >>> survival_of_histogram({0: 5, 1: 3, 2: 2})
    (0.5, 0.2)
    """
    steps = sum(histogram.values())
    positions = range(1, max(histogram) + 1)
    return tuple(sum(n for accepted, n in histogram.items() if accepted >= i) / steps for i in positions)


def survival_of_curve(curve: Mapping[int, float], draft_tokens: int) -> tuple[float, ...]:
    """Survival S_1 … S_K from tokens per step that were measured at several K, each on its own [0 to 1].

    The differences of the curve (linear between measured K) are made to never rise by pooling adjacent violators; then
    all are raised to one power, so that 1 + ΣS is the measured figure at the K in use.

    curve: draft tokens → tokens per step, bonus included. [tokens]
    draft_tokens: K in use. [tokens]

    >>> [round(s, 2) for s in survival_of_curve({1: 1.8, 2: 2.3, 3: 2.9}, draft_tokens=3)]
    [0.8, 0.55, 0.55]

    Ayer et al., 1955 (pool adjacent violators); the power is this project's own.
    """
    known = [0, *sorted(curve)]
    tokens = np.interp(np.arange(max(known) + 1), known, [1.0, *(curve[k] for k in sorted(curve))])
    falling = np.clip(never_rising(np.diff(tokens).tolist()), 0.0, 1.0)[:draft_tokens]
    wanted = float(np.clip(tokens[draft_tokens] - 1.0, np.sum(falling == 1), np.sum(falling > 0)))
    low, high = -_WIDEST_OFFSET, _WIDEST_OFFSET
    for _ in range(_BISECTIONS):
        exponent = np.exp((low + high) / 2)
        low, high = ((low + high) / 2, high) if np.sum(falling**exponent) > wanted else (low, (low + high) / 2)
    return tuple((falling ** np.exp((low + high) / 2)).tolist())


def never_rising(values: Sequence[float]) -> list[float]:
    """The never-rising sequence nearest to the values in squared distance: violators are pooled into their mean.

    >>> never_rising([3.0, 1.0, 2.0])
    [3.0, 1.5, 1.5]

    Ayer, Brunk, Ewing, Reid, Silverman, Annals of Mathematical Statistics 26, 1955.
    """
    pools: list[tuple[float, int]] = []
    for value in values:
        total, size = value, 1
        while pools and pools[-1][0] / pools[-1][1] < total / size:
            before, count = pools.pop()
            total, size = total + before, size + count
        pools.append((total, size))
    return [total / size for total, size in pools for _ in range(size)]
