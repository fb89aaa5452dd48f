"""A spread of acceptance over requests: groups that accept more or less than their class does on average."""

from collections.abc import Callable, Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from simulator.physics.acceptance import conditional_from_survival, tokens_per_step
from simulator.physics.bisection import bisected

Floats = NDArray[np.float64]
NUM_GROUPS = 64
"""Equally likely groups of requests that stand for a spread of acceptance."""
_WIDEST_OFFSET = 60.0


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
    known: int | None = None,
) -> Floats:
    """Survival of groups of requests, [num_groups, K], whose mean tokens per step is that of `survival`.

    A group's conditional acceptances are σ(logit β_i + z + offset), with z at the midpoints of equally likely quantiles
    of N(0, spread²); the offset is solved. Positions that are always or never accepted stay so.

    survival: of the class. [0 to 1]
    spread: standard deviation of a request's log-odds of acceptance. [logits]
    mean: how tokens per step are averaged over groups.
    reach: share of steps that draft position 1, 2, …: no group's survival is above it; None: all do. [0 to 1]
    known: positions whose tokens per step the mean is solved for; None: all. [tokens]
    """
    limit = np.ones(len(survival)) if reach is None else np.array(reach)
    conditional = np.array(conditional_from_survival(survival), dtype=np.float64)
    free = (conditional > 0) & (conditional < 1)
    odds = np.zeros_like(conditional)
    odds[free] = np.log(conditional[free]) - np.log1p(-conditional[free])
    quantiles = [NormalDist().inv_cdf((group + 0.5) / num_groups) for group in range(num_groups)]
    shift = spread * np.array(quantiles)[:, None]
    wanted = tokens_per_step(survival[:known])

    def table(offset: float) -> Floats:
        return np.minimum(_survival_at(conditional, free, odds + shift + offset), limit)

    low, high = bisected(
        -_WIDEST_OFFSET, _WIDEST_OFFSET, lambda offset: mean(1.0 + table(offset)[:, :known].sum(axis=1)) < wanted
    )
    return table((low + high) / 2)


def _survival_at(conditional: Floats, free: NDArray[np.bool_], log_odds: Floats) -> Floats:
    sigmoid = np.exp(-np.logaddexp(0.0, -log_odds))
    return np.asarray(np.cumprod(np.where(free, sigmoid, conditional), axis=1), dtype=np.float64)
