"""Student's t, and confidence intervals over replications."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import cos, pi, sin, sqrt, tan
from statistics import fmean, stdev

from simulator.physics.bisection import bisected

CONFIDENCE = 0.95

NORMAL_QUANTILE = 1.959964
"""|z| of a normal variable stays below it with a chance of CONFIDENCE."""


def t_probability(angle: float, degrees: int) -> float:
    r"""Chance that a t variable lies within ±t, by the angle :math:`\theta = \arctan(t/\sqrt{\nu})`; a finite sum.

    angle: θ. [radians, 0 to π/2]
    degrees: degrees of freedom ν, whole.

    >>> round(t_probability(0.7853981633974483, 1), 12)
    0.5

    Abramowitz and Stegun, Handbook of Mathematical Functions, 1964, 26.7.3 and 26.7.4.
    """
    cosine2 = cos(angle) ** 2
    odd = degrees % 2
    term = total = 0.0
    for i in range(degrees // 2):
        term = (cos(angle) if odd else 1.0) if i == 0 else term * cosine2 * (2 * i - 1 + odd) / (2 * i + odd)
        total += term
    return 2 / pi * (angle + sin(angle) * total) if odd else sin(angle) * total


@lru_cache(maxsize=1024)
def t_quantile(confidence: float, degrees: int) -> float:
    """Two-sided quantile: |t| stays below it with this chance.

    confidence: chance. [0 to 1]
    degrees: degrees of freedom, whole, at least 1.

    >>> round(t_quantile(0.95, 4), 6)
    2.776445
    """
    low, high = bisected(0.0, pi / 2, lambda angle: t_probability(angle, degrees) < confidence)
    return sqrt(degrees) * tan((low + high) / 2)


def t_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float] | None:
    """Interval of the mean of independent replications; None for fewer than two.

    >>> [round(x, 4) for x in t_interval([1.0, 2.0, 3.0])]
    [-0.4841, 4.4841]
    """
    if len(values) < 2:
        return None
    mean = fmean(values)
    half = t_quantile(confidence, len(values) - 1) * stdev(values) / sqrt(len(values))
    return mean - half, mean + half


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """95 % interval of a share [0 to 1].

    >>> [round(x, 3) for x in wilson(5, 10)]
    [0.237, 0.763]

    Wilson, JASA 22, 1927.
    """
    share, z2 = successes / trials, NORMAL_QUANTILE * NORMAL_QUANTILE / trials
    middle = (share + z2 / 2) / (1 + z2)
    half = NORMAL_QUANTILE * sqrt(share * (1 - share) / trials + z2 / (4 * trials)) / (1 + z2)
    return max(0.0, middle - half), min(1.0, middle + half)


def steps_interval(histogram: Mapping[int, int]) -> tuple[float, float]:
    """95 % interval of tokens per step from the steps' own scatter, each step taken for itself [tokens].

    histogram: accepted draft tokens → steps.

    Too narrow where requests differ from each other.

    >>> [round(x, 3) for x in steps_interval({0: 500, 1: 500})]
    [1.469, 1.531]
    """
    steps = sum(histogram.values())
    mean = sum(j * n for j, n in histogram.items()) / steps
    variance = sum(n * (j - mean) ** 2 for j, n in histogram.items()) / max(steps - 1, 1)
    half = NORMAL_QUANTILE * sqrt(variance / steps)
    return max(1.0, 1.0 + mean - half), min(1.0 + max(histogram), 1.0 + mean + half)
