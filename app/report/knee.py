"""The knee of a latency–throughput curve: where more load begins to cost more time than it brings throughput."""

from collections.abc import Sequence
from itertools import pairwise
from math import exp, log

STEPS = 40
"""Loads looked at between two points."""


def knee(points: Sequence[tuple[float, float]]) -> float | None:
    r"""Load with the largest power, throughput ÷ mean response time; None where that still grows at the last point.

    .. math:: x^* = \arg\max_x \; x / T(x)

    points: (requests per second x, mean end-to-end latency T [s]) of stable runs; between them log T is linear.

    >>> round(knee([(rate, 1 / (10 - rate)) for rate in (1, 2, 3, 4, 5, 6, 7, 8, 9)]), 1)
    5.0
    >>> knee([(1.0, 2.0), (2.0, 2.0)]) is None
    True

    Kleinrock, Power and deterministic rules of thumb for probabilistic problems in computer communications, ICC 1979.
    """
    known = sorted({x: t for x, t in points if x > 0 and t > 0}.items())
    if len(known) < 3:
        return None
    grid = [
        (x0 + (x1 - x0) * i / STEPS, exp(log(t0) + (log(t1) - log(t0)) * i / STEPS))
        for (x0, t0), (x1, t1) in pairwise(known)
        for i in range(STEPS + 1)
    ]
    best = max(grid, key=lambda point: point[0] / point[1])[0]
    return best if best < known[-1][0] * 0.98 else None
