"""Evenly spread numbers that stand for chance in the steady state.

They are the same at every load, so that what is sampled with them moves smoothly with it.
"""

from bisect import bisect_left
from functools import cache

import numpy as np
from numpy.typing import NDArray

from simulator.planning.sampled_requests import normal_quantile

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SAMPLE = 384
"""Requests of the sample."""

COLUMNS = 26
"""Independent numbers of each."""

MOST_TOGETHER = 24
"""Prompts in one step that are told apart."""

_NEWTON_STEPS = 30


@cache
def strata() -> Floats:
    """[COLUMNS, SAMPLE] numbers in (0, 1), those of a column evenly spread and shuffled by themselves."""
    rng = np.random.Generator(np.random.PCG64(20231116))
    return np.stack([rng.permutation(evenly()) for _ in range(COLUMNS)])


@cache
def normal() -> Floats:
    """Standard normal numbers of the same strata."""
    return normal_quantile(strata())


@cache
def picks(size: int) -> Ints:
    """[COLUMNS, SAMPLE] positions in a list of so many equally likely values."""
    return (strata() * size).astype(np.int64)


def poisson(mean: Floats, column: int) -> Floats:
    """[SAMPLE] Poisson counts of these means by inverse distribution of a column's numbers, up to MOST_TOGETHER."""
    rises = _rises(column)
    possible = bisect_left(_first_rises(), np.maximum.reduce(mean))
    return np.asarray(np.add.reduce(mean > rises[:possible], axis=0, dtype=np.float64))


@cache
def rises_at() -> Floats:
    """[MOST_TOGETHER - 1, SAMPLE] means at which the count that belongs to a number of the grid rises to 1, 2, …

    The count is the number of k with u > F_k(m), F_k(m) the chance of at most k at mean m: it rises where F_k(m) = u.
    By Newton's method from the inflection m = k, from where it cannot overshoot.
    """
    most = np.arange(MOST_TOGETHER - 1)[:, None]
    mean = most + np.zeros(SAMPLE)
    for _ in range(_NEWTON_STEPS):
        at_most, exactly = _chances(mean, most)
        mean = mean + (at_most - evenly()) / exactly
    return mean


def _chances(mean: Floats, most: Ints) -> tuple[Floats, Floats]:
    """Chances of at most, and of exactly, so many."""
    exactly = at_most = term = np.exp(-mean)
    for k in range(1, MOST_TOGETHER - 1):
        term = term * mean / k
        at_most = at_most + np.where(k <= most, term, 0.0)
        exactly = np.where(k <= most, term, exactly)
    return at_most, exactly


@cache
def _first_rises() -> list[float]:
    """Means at which the first of the numbers counts 1, 2, …"""
    return [float(mean) for mean in rises_at()[:, -1]]


@cache
def rank_of(size: int) -> Ints:
    """Positions of the requests of the sample, which rise by their prompts, in a rising list of so many prompts."""
    return (np.arange(SAMPLE) + 0.5).astype(np.int64) * size // SAMPLE


@cache
def order(column: int) -> Ints:
    """Requests of the sample by their number in a column, the smallest first."""
    return np.argsort(strata()[column])


@cache
def _rises(column: int) -> Floats:
    """The same in the order of a column."""
    return np.ascontiguousarray(rises_at()[:, picks(SAMPLE)[column]])


@cache
def evenly() -> Floats:
    """Numbers in (0, 1), evenly spread and rising."""
    return np.asarray((np.arange(SAMPLE) + 0.5) / SAMPLE)
