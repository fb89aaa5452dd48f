"""What a report draws of a run: latencies as quantiles, batch, KV and queue over time, and a load with its outcome.

Small whatever the run was: at most so many points as an eye can tell apart, as plain numbers of five digits.
"""

from typing import Any

import numpy as np

from simulator.cluster.records import ClusterRecords, Floats
from simulator.outcome.latency import request_latencies, summarise
from simulator.outcome.slo import Verdict, good_requests
from simulator.outcome.throughput import good_shares, throughput
from simulator.outcome.window import measured_window
from simulator.spec.workload import Slo

BINS = 200
"""Spans of time into which a run is cut."""

LEVELS = np.unique(np.concatenate((np.linspace(0.0, 0.98, 197), np.linspace(0.98, 1.0, 81))))
"""Shares at which quantiles are kept: finer where the tail is."""

DIGITS = 5
"""Significant digits that are kept."""

Evidence = dict[str, Any]
"""Plain JSON values."""


def run_evidence(records: ClusterRecords) -> Evidence:
    """Latency quantiles of the measured requests, and the run over time."""
    own = request_latencies(records.requests)
    quantiles = {name: _quantiles(getattr(own, name)[records.measured]) for name in ("ttft_s", "tpot_s", "e2e_s")}
    return {"shares": _short(LEVELS), "quantiles": quantiles, "timeline": timeline(records)}


def trial_evidence(load: float, records: ClusterRecords, verdict: Verdict, slo: Slo | None) -> Evidence:
    """A simulated load: what it got through, its latencies, how much of it was good."""
    own, measured = request_latencies(records.requests), records.measured
    ttft, tpot, e2e = (summarise(getattr(own, name)[measured]) for name in ("ttft_s", "tpot_s", "e2e_s"))
    found: dict[str, float | None] = {
        "load": load,
        "req_per_s": verdict.req_per_s,
        "ttft_s_p95": ttft["p95"],
        "tpot_s_p95": tpot["p95"],
        "e2e_s_mean": e2e["mean"],
        "goodput_req_per_s": None if slo is None else _goodput(records, slo),
    }
    rounded = {name: None if value is None else _digits(value) for name, value in found.items()}
    return {**rounded, "holds": verdict.holds, "saturated": verdict.saturated}


def _goodput(records: ClusterRecords, slo: Slo) -> float | None:
    window = measured_window(records)
    shares = good_shares(records, window, good_requests(records.requests, slo))
    rate = throughput(records, window).req_per_s
    return None if shares is None or rate is None else rate * shares[0]


def _quantiles(values: Floats) -> list[float]:
    known = values[~np.isnan(values)]
    return _short(np.quantile(known, LEVELS)) if known.size else []


def timeline(records: ClusterRecords, bins: int = BINS) -> Evidence:
    """Means over equal spans, from the start to the last measured arrival (a batch: to its last finish).

    `batch`: decoding sequences of a replica, 0 while it idles. `kv`: share of the KV blocks held. `queue`: requests of
    the cluster that wait for their first step. `end_s` ends the last span; `measured_from_s` ends the warm-up.
    """
    requests, steps = records.requests, records.steps
    window = measured_window(records)
    if window.end_s <= 0:
        return {}
    edges = np.linspace(0.0, window.end_s, bins + 1)
    ends = steps.start_s + steps.duration_s
    replicas = records.num_replicas
    served = ~requests.rejected
    batch = span_means(steps.start_s, ends, steps.sequences / replicas, edges)
    kv = span_means(steps.start_s, ends, steps.kv_blocks / (records.kv_blocks_total * replicas), edges)
    waiting = requests.scheduled_s[served]
    queue = span_means(requests.arrival_s[served], waiting, np.ones(waiting.size), edges)
    return {
        "end_s": window.end_s,
        "measured_from_s": window.start_s,
        "batch": _short(batch),
        "kv": _short(kv),
        "queue": _short(queue),
    }


def span_means(start_s: Floats, end_s: Floats, values: Floats, edges_s: Floats) -> Floats:
    """Mean over each span between two edges of a sum of values, each there from its start to its end (NaN: for good).

    >>> span_means(np.array([0.0, 1.0]), np.array([2.0, np.nan]), np.array([4.0, 1.0]), np.array([0.0, 1.0, 3.0]))
    array([4., 3.])
    """
    ends = np.where(np.isnan(end_s), np.inf, end_s)
    whole = _integral(start_s, values, edges_s) - _integral(ends, values, edges_s)
    means: Floats = np.maximum(np.diff(whole) / np.diff(edges_s), 0.0)
    return means


def _integral(from_s: Floats, values: Floats, until_s: Floats) -> Floats:
    """Integral up to each time of what comes and stays: the sum of value × time since it came."""
    order = np.argsort(from_s, kind="stable")
    times, sizes = from_s[order], values[order]
    came = np.isfinite(times)
    number = np.searchsorted(times, until_s, side="right")
    total = np.concatenate(([0.0], np.cumsum(sizes)))[number]
    moment = np.concatenate(([0.0], np.cumsum(sizes * np.where(came, times, 0.0))))[number]
    found: Floats = total * until_s - moment
    return found


def _short(values: Floats) -> list[float]:
    return [_digits(value) for value in values.tolist()]


def _digits(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
