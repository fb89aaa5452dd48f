"""Intervals of acceptance figures, and the spread of acceptance over requests; each says how it was found."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from simulator.physics.acceptance import tokens_per_step
from simulator.physics.curves import survival_of_histogram
from simulator.physics.spread import mean_over_steps, spread_survival

Interval = tuple[float, float]
Histogram = Mapping[int, int]
RESAMPLES = 2000
"""Times that requests are drawn anew."""
WIDEST_SPREAD, SPREAD_STEP = 3.0, 0.05
"""Grid over which the likelihood is looked at [log-odds]."""
CHI2_95 = 3.841459
"""95 % quantile of χ² with one degree of freedom: a profile likelihood falls by half of it."""


def requests_interval(requests: Sequence[Histogram], seed: int = 0) -> Interval:
    """95 % interval of tokens per step over steps: whole requests are drawn anew, with replacement [tokens].

    Efron, Annals of Statistics 7, 1979 (percentile bootstrap of a ratio).
    """
    steps = np.array([sum(one.values()) for one in requests], np.float64)
    committed = steps + [sum(j * n for j, n in one.items()) for one in requests]
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, len(requests), (RESAMPLES, len(requests)))
    ratios = committed[drawn].sum(axis=1) / np.maximum(steps[drawn].sum(axis=1), 1.0)
    low, high = np.quantile(ratios, (0.025, 0.975)).tolist()
    return low, high


def spread_over_requests(
    requests: Sequence[Histogram], reach: Sequence[float] | None = None
) -> tuple[float, Interval] | None:
    """Spread of acceptance over requests and its 95 % interval, by maximum likelihood; None where none can be seen.

    requests: histograms of accepted draft tokens, one a request.
    reach: share of steps that draft position 1, 2, …; None: all do. [0 to 1]

    The model is that of a scenario's `spread`: groups of requests, equally likely, whose log-odds of acceptance are
    shifted by quantiles of N(0, spread²). The interval is that of the profile likelihood.
    """
    positions = max(max(one) for one in requests)
    counts = np.array([[one.get(j, 0) for j in range(positions + 1)] for one in requests], np.float64)
    pooled = {j: int(n) for j, n in enumerate(counts.sum(axis=0))}
    survival = survival_of_histogram(pooled) if positions else ()
    if len(requests) < 2 or tokens_per_step(survival) == 1.0:
        return None
    grid = np.arange(0.0, WIDEST_SPREAD + SPREAD_STEP / 2, SPREAD_STEP)
    likelihood = np.array([_log_likelihood(counts, survival, spread, reach) for spread in grid])
    inside = grid[likelihood >= likelihood.max() - CHI2_95 / 2]
    return round(float(grid[likelihood.argmax()]), 2), (round(float(inside[0]), 2), round(float(inside[-1]), 2))


def _log_likelihood(
    counts: NDArray[np.float64], survival: Sequence[float], spread: float, reach: Sequence[float] | None
) -> float:
    groups = spread_survival(survival, spread, mean_over_steps, reach=reach)
    bounded = np.concatenate((np.ones((len(groups), 1)), groups, np.zeros((len(groups), 1))), axis=1)
    chances = np.log(np.maximum(bounded[:, :-1] - bounded[:, 1:], 1e-12))
    by_group = counts @ chances.T
    most = by_group.max(axis=1)
    return float(np.sum(most + np.log(np.exp(by_group - most[:, None]).mean(axis=1))))
