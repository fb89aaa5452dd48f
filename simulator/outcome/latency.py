"""Latencies of the measured requests, and their percentiles.

Gaps between tokens (ITL) come from step records: in a run of steps each decoding sequence emits once a step, so the
gap is the step's length, once per sequence and step that ends within the measured window, whichever request the
sequence belongs to. The wait for a first token is TTFT, not a gap; the gap across a preemption is not counted.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from simulator.cluster.records import ClusterRecords, Floats, RequestColumns
from simulator.outcome.window import Window, steps_ending_within

METRICS = ("ttft_s", "tpot_s", "itl_s", "e2e_s")
"""Latencies of a report, in its order."""

STATISTICS = ("mean", "p50", "p90", "p95", "p99")
"""What is stated of each latency."""

_SHARES = np.array([0.50, 0.90, 0.95, 0.99])

Summary = Mapping[str, float | None]
"""STATISTICS by name; None where there is no value at all."""


@dataclass(frozen=True, slots=True)
class RequestLatencies:
    """One entry per request, in their order; NaN: not defined."""

    ttft_s: Floats
    tpot_s: Floats
    e2e_s: Floats
    mean_gap_s: Floats
    """Mean time between two emissions: a request's own share of the ITL."""


def request_latencies(requests: RequestColumns) -> RequestLatencies:
    """Latencies of all requests; those of rejected ones are NaN, as is the TPOT of one-token outputs."""
    decode_s = requests.finish_s - requests.first_token_s
    later_tokens = np.where(requests.output_tokens > 1, requests.output_tokens - 1.0, np.nan)
    rounds = np.where(requests.steps > 0, requests.steps.astype(np.float64), np.nan)
    return RequestLatencies(
        ttft_s=requests.first_token_s - requests.arrival_s,
        tpot_s=decode_s / later_tokens,
        e2e_s=requests.finish_s - requests.arrival_s,
        mean_gap_s=decode_s / rounds,
    )


def token_gaps(records: ClusterRecords, window: Window) -> tuple[Floats, Floats]:
    """Gaps between emissions [s], and how often each occurred within the window."""
    steps = records.steps
    count = steps.sequences * steps_ending_within(steps, window)
    seen = count > 0
    gaps, counts = steps.duration_s[seen] / steps.num_steps[seen], count[seen]
    stalled = steps.stalled_s[seen]
    if not stalled.any():
        return gaps, counts
    once = np.minimum(counts, np.where(stalled > 0, steps.sequences[seen], 0))
    return np.concatenate((gaps, gaps + stalled)), np.concatenate((counts - once, once))


def summarise(values: Floats) -> dict[str, float | None]:
    """Mean and percentiles of the values that are not NaN (percentiles interpolated, as benchmark tools do).

    >>> summarise(np.array([1.0, 2.0, 3.0, np.nan]))["p50"]
    2.0
    """
    known = values[~np.isnan(values)]
    if known.size == 0:
        return dict.fromkeys(STATISTICS)
    found = (known.mean(), *quantiles(known, _SHARES))
    return dict(zip(STATISTICS, map(float, found), strict=True))


def quantiles(values: Floats, shares: Floats) -> Floats:
    """Quantiles of some values, interpolated: what `numpy.quantile` gives, in a tenth of its time for a few hundred.

    shares: of the values that lie below [0 to 1].

    >>> quantiles(np.array([4.0, 1.0, 2.0]), np.array([0.25, 0.75])).tolist()
    [1.5, 3.0]
    """
    at = shares * (values.size - 1)
    low = at.astype(np.int64)
    high = np.minimum(low + 1, values.size - 1)
    rising = np.partition(values, np.unique(np.concatenate((low, high))))
    below, above, weight = rising[low], rising[high], at - low
    step = above - below
    return np.asarray(np.where(weight < 0.5, below + step * weight, above - step * (1.0 - weight)))


def summarise_weighted(values: Floats, weights: Floats) -> dict[str, float | None]:
    """The same of values that occur `weights` times: the smallest value that the share of all reaches.

    >>> summarise_weighted(np.array([2.0, 1.0]), np.array([1.0, 9.0]))["p90"]
    1.0
    """
    total = float(weights.sum())
    if total <= 0:
        return dict.fromkeys(STATISTICS)
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    at = np.searchsorted(reached, _SHARES * total * (1 - 1e-12))
    found = (np.average(values, weights=weights), *values[order][np.minimum(at, values.size - 1)])
    return dict(zip(STATISTICS, map(float, found), strict=True))


def summaries(records: ClusterRecords, window: Window, *, gaps: bool = True) -> dict[str, dict[str, float | None]]:
    """All latencies of the measured requests, by METRICS; without the gaps where nobody asks for them."""
    of_requests = request_latencies(records.requests)
    found = {name: summarise(getattr(of_requests, name)[records.measured]) for name in ("ttft_s", "tpot_s", "e2e_s")}
    if gaps:
        found["itl_s"] = summarise_weighted(*token_gaps(records, window))
    return {name: found[name] for name in METRICS if name in found}
