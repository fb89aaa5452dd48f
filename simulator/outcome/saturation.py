"""Whether a run is saturated: the backlog grows through the window. Judged from the records alone.

The backlog is the number of requests that wait for their first step, seen by each measured arrival. A run is saturated
if the backlog grows by more than 1 % of the arrivals (and by 5 requests) *and* its lowest values in the last third of
the window (5 % quantile) lie above its mean in the first third: a stable queue, however bursty, comes back down.

How often that errs, over 400 seeds each (M/M/1 after 200 requests of warm-up; tests repeat a part of it):

====  ======================  ======================  =======================
load  1,000 measured          2,000                   4,000
====  ======================  ======================  =======================
0.80  0.0 % called saturated  0.0 %                   0.0 %
0.90  6 % called saturated    2 %                     0.3 %
1.05  24 % missed             13 %                    9 %
1.10  4 % missed              2 %                     0.3 %
1.20  0.0 % missed            0.0 %                   0.0 %
====  ======================  ======================  =======================

A batch that has not filled up yet hides a backlog: requests pile up in it, slower and slower, and none waits. So a run
is also saturated if in each third of the window a quarter of the arrivals stayed and the time per output token grew by
half. What this does not know: whether a longer run would have settled.
"""

from dataclasses import dataclass

import numpy as np

from simulator.cluster.records import ClusterRecords, Floats

GROWTH_SHARE = 0.01
"""Growth of the backlog, as a share of the arrivals, above which a run may be saturated."""

GROWTH_REQUESTS = 5.0
"""Growth of the backlog in requests below which nothing is concluded."""

STAYED_SHARE = 0.25
"""Share of a third's arrivals that stay when a batch fills without end."""

SLOWDOWN = 1.5
"""Growth of the time per output token that tells a batch too full from one that is filling."""

FEWEST = 12
"""Measured arrivals below which nothing is concluded."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """How the backlog moved through the window."""

    growth: float
    """Requests by which a straight line through the backlog rises."""
    limit: float
    """Growth above which the run may be saturated [requests]."""
    first_mean: float
    """Mean in the first third."""
    last_low: float
    """5 % quantile in the last third."""

    @property
    def grows(self) -> bool:
        """Whether it grows through the window."""
        return self.growth > self.limit and self.last_low > self.first_mean

    @property
    def pressure(self) -> float:
        """Growth ÷ limit, never below 0: at or above 1 where it grows."""
        return max(self.growth / self.limit, 0.0)


def counts_at_arrivals(records: ClusterRecords, ends_s: Floats) -> Floats:
    """Requests that had arrived before each measured arrival and had not reached `ends_s` by then."""
    served = ~records.requests.rejected
    arrivals = records.requests.arrival_s[records.measured]
    before = np.searchsorted(records.requests.arrival_s[served], arrivals, side="left")
    left = np.searchsorted(np.sort(ends_s[served]), arrivals, side="right")
    count: Floats = np.maximum(before - left, 0).astype(np.float64)
    return count


def backlog(waiting: Floats) -> Backlog:
    """How a sequence of backlogs moved.

    >>> backlog(np.arange(100.0)).grows
    True
    >>> backlog(np.ones(100)).grows
    False
    """
    third = max(waiting.size // 3, 1)
    limit = max(GROWTH_SHARE * waiting.size, GROWTH_REQUESTS)
    if waiting.size < FEWEST:
        return Backlog(0.0, limit, 0.0, 0.0)
    position = np.arange(waiting.size) - (waiting.size - 1) / 2
    slope = float((position * waiting).sum()) / float((position * position).sum())
    low = float(np.quantile(waiting[-third:], 0.05))
    return Backlog(slope * (waiting.size - 1), limit, float(waiting[:third].mean()), low)


def batch_overfills(records: ClusterRecords) -> bool:
    """Whether requests pile up in the batch through the whole window, each slower than those before."""
    inside = counts_at_arrivals(records, records.requests.finish_s)
    third = inside.size // 3
    if inside.size < 3 * FEWEST:
        return False
    means = [float(inside[i * third : (i + 1) * third].mean()) for i in range(3)]
    if min(means[1] - means[0], means[2] - means[1]) < STAYED_SHARE * third:
        return False
    requests = records.requests
    per_token = ((requests.finish_s - requests.arrival_s) / requests.output_tokens)[records.measured]
    known = [part[~np.isnan(part)] for part in (per_token[:third], per_token[-third:])]
    return all(part.size for part in known) and bool(np.median(known[1]) > SLOWDOWN * np.median(known[0]))


def measured_backlog(records: ClusterRecords) -> Backlog:
    """How the number of requests that wait for their first step moved through the window."""
    return backlog(counts_at_arrivals(records, records.requests.scheduled_s))


def saturated(records: ClusterRecords, *, open_loop: bool) -> bool:
    """Whether the backlog grows through the window; never where arrivals follow from the service, or come at once."""
    return open_loop and (measured_backlog(records).grows or batch_overfills(records))
