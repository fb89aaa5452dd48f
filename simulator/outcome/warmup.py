"""How long a run warms up: MSER-5 on what its requests saw, in the order of their arrival.

The rule drops the start that, dropped, makes the error of the mean of the rest smallest: batches of five, and of all
cuts the one with the least sum of squares ÷ number², in the first half only. A minimum in the second half means that
no steady part was found. It is asked of two sequences, the TTFT and the requests in the system at each arrival, and
the later answer counts; the clients of a closed loop are always in the system, so there only of the TTFT.

At high load a stable queue has long excursions, and the rule cuts some of them away though nothing was warming up. So
the stated warm-up is called too short only if what lies between its end and the cut differs from the steady part by
more than parts of the steady part differ from each other (99 % t interval of a block), or, where nothing is steady, if
ten blocks of the run rise or fall in order. How often that is wrong, M/D/1 at loads 0.5 to 0.95: 2 to 13 % of single
runs, up to 2.5 % of majorities of five; rows over replications go by the majority.

White, Cobb, Spratt, A comparison of five steady-state truncation heuristics for simulation, WSC 2000; five to a batch
after Spratt, 1998.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.records import ClusterRecords, Floats
from simulator.outcome.interval import t_quantile

BATCH = 5
"""Requests of a batch."""

FEWEST_BATCHES = 10
"""Batches below which nothing is found."""

SURE = 0.99
"""Confidence at which the start of what is measured differs from the steady part."""

FEWEST_BLOCKS, MOST_BLOCKS = 3, 30
"""Blocks into which the steady part is cut to see how much its parts differ."""

ROUNDING = 1e-12
"""Share of the sum of squares below which a spread is rounding."""

TREND_BLOCKS = 10
"""Blocks of a run without a steady part."""

TREND = 0.85
"""Rank correlation of those blocks with time above which the run drifts."""

STEADY = ("poisson", "constant", "gamma", "bursty", "closed_loop")
"""Arrivals whose law does not change in time: only these have a steady state to warm up to."""


@dataclass(frozen=True, slots=True)
class WarmUp:
    """What a run says of its own warm-up."""

    found_requests: int | None
    """Requests after which the run is steady; None where there is no steady state, or none was found."""
    too_short: bool
    """Whether what is measured still warms up."""


def mser(values: Floats, batch: int = BATCH) -> int | None:
    r"""Observations that warm up; None when the least error lies in the second half, or there are too few.

    .. math:: d^* = \arg\min_d \frac{1}{(n-d)^2} \sum_{i>d} (Y_i - \bar Y_{n,d})^2

    values: what was observed, in order.
    batch: observations averaged to one Y.

    >>> mser(np.concatenate((np.full(50, 9.0), np.tile([1.0, 2.0], 100))))
    50
    >>> mser(np.tile([1.0, 2.0], 100))
    0
    >>> mser(np.arange(500.0)) is None
    True
    """
    number = values.size // batch
    if number < FEWEST_BATCHES:
        return None
    means = values[: number * batch].reshape(number, batch).mean(axis=1)
    smallest = ROUNDING * float((means**2).sum())
    means = means - means.mean()
    left = np.arange(number, 0, -1)
    rest, squares = np.cumsum(means[::-1])[::-1], np.cumsum(means[::-1] ** 2)[::-1]
    spread = squares - rest**2 / left
    error = np.where(spread > smallest, spread, 0.0) / left**2
    cut = int(np.argmin(error[: number - FEWEST_BATCHES // 2]))
    return cut * batch if cut <= number // 2 else None


def warm_up(records: ClusterRecords, arrivals_kind: str, *, saturated: bool = False) -> WarmUp:
    """The warm-up that a run shows; a run that is saturated, or whose arrivals change in time, has none."""
    if saturated or arrivals_kind not in STEADY:
        return WarmUp(None, False)
    positions, sequences = _seen(records)
    if positions.size < FEWEST_BATCHES * BATCH:
        return WarmUp(None, False)
    if arrivals_kind == "closed_loop":
        sequences = sequences[:1]
    cuts = [mser(values) for values in sequences]
    stated = int(np.searchsorted(positions, records.measured.start))
    short = any(_still_warming(values, stated, cut) for values, cut in zip(sequences, cuts, strict=True))
    known = [cut for cut in cuts if cut is not None]
    found = None if len(known) < len(cuts) else int(positions[max(known)])
    return WarmUp(found, short)


def _seen(records: ClusterRecords) -> tuple[NDArray[np.intp], list[Floats]]:
    """Positions of the served requests up to the last measured one; their TTFT; requests in the system before each."""
    requests = records.requests
    ttft = (requests.first_token_s - requests.arrival_s)[: records.measured.stop]
    positions = np.flatnonzero(~np.isnan(ttft))
    arrivals = requests.arrival_s[positions]
    finished = np.sort(requests.finish_s[~np.isnan(requests.finish_s)])
    inside = np.arange(positions.size) - np.searchsorted(finished, arrivals, side="right")
    return positions, [ttft[positions], np.maximum(inside, 0).astype(np.float64)]


def _still_warming(values: Floats, stated: int, cut: int | None) -> bool:
    """Whether what follows the stated warm-up is no part of the steady state."""
    if cut is None:
        return _drifts(values[stated:])
    if cut <= stated:
        return False
    start, steady = values[stated:cut], values[cut:]
    number = min(max(steady.size // start.size, FEWEST_BLOCKS), MOST_BLOCKS)
    blocks = steady[: steady.size // number * number].reshape(number, -1).mean(axis=1)
    allowed = t_quantile(SURE, number - 1) * float(blocks.std(ddof=1)) * sqrt(1 + 1 / number)
    return abs(float(start.mean() - blocks.mean())) > allowed + 1e-9 * abs(float(blocks.mean()))


def _drifts(values: Floats) -> bool:
    """Whether blocks rise or fall nearly in order."""
    if values.size < TREND_BLOCKS:
        return False
    means = [float(part.mean()) for part in np.array_split(values, TREND_BLOCKS)]
    rounded = np.round(np.array(means) / (max(map(abs, means)) or 1.0), 9)
    ordered = np.sort(rounded)
    ranks = np.searchsorted(ordered, rounded, side="left") + np.searchsorted(ordered, rounded, side="right")
    if ranks.max() == ranks.min():
        return False
    return abs(float(np.corrcoef(ranks, np.arange(TREND_BLOCKS))[0, 1])) > TREND
