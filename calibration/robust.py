"""Robust, deterministic smoothing of measured latencies: spikes removed, falls removed, few digits kept."""

import numpy as np
from numpy.typing import NDArray

from simulator.spec.profile import Error

Floats = NDArray[np.float64]
WINDOW = 5
"""Neighbours, the point itself included, whose median judges it."""
SPIKE = 1.25
"""Ratio to its neighbourhood beyond which a latency is an outlier: larger than any step of a tile or a kernel."""


def despike(x: Floats, y: Floats, window: int = WINDOW, limit: float = SPIKE) -> Floats:
    """Latencies with outliers replaced by what their neighbours say, along one axis.

    A point is compared with the median of its neighbours, each carried to it along the robust slope of the
    neighbourhood, and is replaced by it beyond a factor `limit`; but latencies never fall, and what lies between the
    points on both sides, or below all others at the start, is a bend and no outlier.

    x: rising sizes. y: latencies, NaN where there is none.

    >>> despike(np.arange(1.0, 7.0), np.array([5.0, 5.0, 50.0, 5.2, 5.3, 5.3])).round(1).tolist()
    [5.0, 5.0, 5.1, 5.2, 5.3, 5.3]
    """
    out = y.copy()
    known = np.flatnonzero(np.isfinite(y))
    log_x, log_y = np.log(x), np.log(y)
    for at, i in enumerate(known):
        first = max(0, min(at - window // 2, known.size - window))
        near = [j for j in known[first : first + window] if j != i]
        if len(near) < 2:
            continue
        expected = _expected(log_x[near], log_y[near], log_x[i])
        low = min(expected, log_y[known[at - 1]]) if at else -np.inf
        high = max(expected, log_y[known[at + 1]]) if at + 1 < known.size else expected
        if not low - np.log(limit) <= log_y[i] <= high + np.log(limit):
            out[i] = round(float(np.exp(expected)), 12)
    return out


def _expected(log_x: Floats, log_y: Floats, at: float) -> float:
    """What neighbours say of the latency at a size, in logarithms; of a size below theirs: no more than they."""
    slope = max(0.0, float(np.median(np.diff(log_y) / np.diff(log_x)))) if at > log_x[0] else 0.0
    return float(np.median(log_y + slope * (at - log_x)))


def isotonic(y: Floats, weights: Floats | None = None) -> Floats:
    """The nearest sequence, in squares of logarithms, that never falls (pool adjacent violators).

    >>> isotonic(np.array([1.0, 4.0, 1.0, 8.0])).round(9).tolist()
    [1.0, 2.0, 2.0, 8.0]

    Barlow, Bartholomew, Bremner, Brunk, "Statistical inference under order restrictions", 1972.
    """
    pools: list[tuple[float, float, int]] = []
    heavy = np.ones_like(y) if weights is None else weights
    for value, weight in zip(np.log(y).tolist(), heavy.tolist(), strict=True):
        pools.append((value, weight, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (a, wa, na), (b, wb, nb) = pools[-2:]
            pools[-2:] = [((a * wa + b * wb) / (wa + wb), wa + wb, na + nb)]
    flat: Floats = np.exp(np.concatenate([np.full(count, value) for value, _, count in pools]))
    return flat


def smooth(x: Floats, y: Floats) -> Floats:
    """Despiked, then made monotone; NaN stays where there was no measurement."""
    known = np.isfinite(y)
    out = y.copy()
    if known.sum() > 0:
        out[known] = isotonic(despike(x[known], y[known]))
    return out


def monotone_along(values: Floats, axis: int) -> Floats:
    """The table made never falling along one axis; it has no gaps."""
    return np.apply_along_axis(isotonic, axis, values)


def digits(value: float, count: int = 3) -> float:
    """A latency to `count` significant digits.

    >>> digits(1234.5), digits(0.0123456)
    (1230.0, 0.0123)
    """
    return float(f"{value:.{count}g}")


def rising(values: Floats, count: int = 3) -> tuple[float, ...]:
    """Rounded, and still never falling."""
    return tuple(digits(v, count) for v in np.maximum.accumulate(values).tolist())


def error(predicted: Floats, measured: Floats) -> Error:
    """Error of predictions.

    >>> error(np.array([1.1, 0.9, 1.0]), np.ones(3)).median_ape
    0.1
    """
    ratio = predicted / measured - 1.0
    return Error(
        count=ratio.size,
        median_ape=round(float(np.median(np.abs(ratio))), 4),
        mean_ape=round(float(np.mean(np.abs(ratio))), 4),
        bias=round(float(np.mean(ratio)), 4),
    )
