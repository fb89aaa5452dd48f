"""Survival by draft position from each of the figures that engines and papers print, and beyond where they end."""

from collections.abc import Mapping, Sequence

import numpy as np

from simulator.errors import ScenarioError
from simulator.physics.acceptance import (
    conditional_from_survival,
    constant_acceptance,
    survival_from_conditional,
    tokens_per_step,
)
from simulator.physics.bisection import bisected

_WIDEST_LOG = 60.0
"""Of the power to which survival is raised."""


def survival_of_decay(tokens: float, at: int, decay: float) -> tuple[float, ...]:
    r"""Survival from tokens per step, where conditional acceptance falls by the same factor at each position [0 to 1].

    .. math:: \beta_i = \beta_1 d^{\,i-1}, \quad 1 + \sum_{i \le K} \prod_{j \le i} \beta_j = \Omega

    tokens: Ω, per step, bonus included. [tokens]
    at: K. [tokens]
    decay: d. [ratio]

    >>> [round(s, 3) for s in survival_of_decay(2.29, 3, decay=0.75)]
    [0.729, 0.398, 0.163]

    The two-parameter family of SPECULATION.md, A2; β_1 by bisection.
    """

    def curve(first: float) -> tuple[float, ...]:
        return survival_from_conditional([first * decay**position for position in range(at)])

    most = tokens_per_step(curve(1.0))
    if tokens > most + 1e-9:
        raise ScenarioError(
            f"decay {decay:g} commits at most {most:.4g} tokens per step at {at} draft tokens, not {tokens:g}: raise "
            "decay, or give survival by position"
        )
    return curve(bisected(0.0, 1.0, lambda first: tokens_per_step(curve(first)) < tokens)[1])


def extended(survival: Sequence[float], positions: int) -> tuple[float, ...]:
    """The same up to so many positions at least: beyond those given, acceptance falls on as between the last two.

    The conditional acceptance of each further position is that of the one before × the ratio of the last two that are
    given, never above 1 (with one position it stays); the first of them starts from the last that is given, or from the
    mean of all where noise or pooling has put the last above it.

    survival: of the positions that were measured. [0 to 1]
    positions: wanted. [tokens]

    >>> [round(s, 3) for s in extended((0.8, 0.48), positions=4)]
    [0.8, 0.48, 0.216, 0.073]

    An extrapolation of this project's own, which whoever uses it must say.
    """
    found, conditional = list(survival), conditional_from_survival(survival)
    if positions <= len(found):
        return tuple(found)
    last = found[-1] if found else 0.0
    kept = min(conditional[-1], last ** (1.0 / len(found))) if found else 0.0
    ratio = min(conditional[-1] / conditional[-2], 1.0) if len(found) > 1 and conditional[-2] > 0 else 1.0
    while len(found) < positions:
        kept *= ratio
        last *= kept
        found.append(last)
    return tuple(found)


def survival_of_drafted(tokens: float, reach: Sequence[float]) -> tuple[float, ...]:
    """Survival from tokens per step, where drafts are of different lengths: a drafted token is kept as the one before.

    tokens: per step, bonus included; at most 1 + Σ reach. [tokens]
    reach: share of steps that draft position 1, 2, …; never rises. [0 to 1]

    >>> [round(s, 3) for s in survival_of_drafted(1.6, [0.8, 0.8])]
    [0.4, 0.2]
    """
    drafted = np.array(reach)
    powers = np.arange(1, drafted.size + 1)
    _, kept = bisected(0.0, 1.0, lambda kept: 1.0 + float(drafted @ kept**powers) < tokens)
    return tuple((drafted * kept**powers).tolist())


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

    The differences of the curve (between measured K the conditional acceptance is constant) are made to never rise by
    pooling adjacent violators; then all are raised to one power, so that 1 + ΣS is the measured figure at the K in use.

    curve: draft tokens → tokens per step, bonus included. [tokens]
    draft_tokens: K in use. [tokens]

    >>> [round(s, 2) for s in survival_of_curve({1: 1.8, 2: 2.3, 3: 2.9}, draft_tokens=3)]
    [0.8, 0.55, 0.55]
    >>> [round(s, 2) for s in survival_of_curve({3: 2.952}, draft_tokens=1)]
    [0.8]

    Ayer et al., 1955 (pool adjacent violators); the power is this project's own.
    """
    differences = _differences(curve)
    falling = np.clip(never_rising(differences), 0.0, 1.0)[:draft_tokens]
    wanted = float(np.clip(sum(differences[:draft_tokens]), np.sum(falling == 1), np.sum(falling > 0)))
    low, high = bisected(-_WIDEST_LOG, _WIDEST_LOG, lambda log: bool(np.sum(falling ** np.exp(log)) > wanted))
    return tuple((falling ** np.exp((low + high) / 2)).tolist())


def _differences(curve: Mapping[int, float]) -> list[float]:
    """Tokens per step that each draft token adds, up to the last K measured [tokens]."""
    found: list[float] = []
    for k in sorted(curve):
        added, missing = curve[k] - 1.0 - sum(found), k - len(found)
        start = found[-1] if found else 1.0
        if missing > 1 and 0.0 < added < missing * start:
            kept = constant_acceptance(1.0 + added / start, missing)
            found += [start * kept**position for position in range(1, missing + 1)]
        else:
            found += [added / missing] * missing
    return found


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
