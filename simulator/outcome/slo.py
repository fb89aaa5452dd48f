"""Whether a run holds its latency target, which requests are good, and how near the target it is."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.records import ClusterRecords, RequestColumns
from simulator.outcome.latency import METRICS, RequestLatencies, Summary, request_latencies, summaries
from simulator.outcome.saturation import batch_overfills, measured_backlog
from simulator.outcome.throughput import throughput
from simulator.outcome.window import measured_window
from simulator.spec.workload import PERCENTILES, Slo

OPEN_LOOP = ("poisson", "constant", "gamma", "bursty", "diurnal", "trace")
"""Arrivals that come whether or not the cluster keeps up: only these can saturate it."""

JUST_FAILED = 1.0001
"""Pressure of a run that fails for a reason that no latency shows."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a search needs to know of one run."""

    holds: bool
    """Not saturated, and every stated percentile met."""
    pressure: float
    """Largest of measured ÷ limit over the stated percentiles (without an SLO: backlog growth ÷ its limit)."""
    saturated: bool
    req_per_s: float
    """Completions per second in the window; 0 where nothing completed."""
    worst: str
    """What comes nearest to its limit, such as `ttft_s.p95`."""


def limits(slo: Slo | None) -> dict[str, dict[str, float]]:
    """Stated limits by metric and percentile; empty without an SLO."""
    stated = {metric: getattr(slo, metric, None) or {} for metric in METRICS}
    return {metric: dict(of) for metric, of in stated.items() if of}


def limit_ratios(found: dict[str, dict[str, float | None]], slo: Slo | None) -> dict[str, float]:
    """Measured ÷ limit of each stated percentile; a latency that no request has (no second token) meets its limit."""
    ratios: dict[str, float] = {}
    for metric, of in limits(slo).items():
        for percentile, limit in of.items():
            value = found[metric][percentile]
            ratios[f"{metric}.{percentile}"] = 0.0 if value is None else value / limit
    return ratios


def meets_limits(summary_by_metric: dict[str, Summary], slo: Slo) -> bool:
    """Whether every stated percentile is met by a report row's own figures."""
    return all(
        (summary_by_metric[metric].get(percentile) or 0.0) <= limit
        for metric, of in limits(slo).items()
        for percentile, limit in of.items()
    )


def good_requests(requests: RequestColumns, slo: Slo) -> NDArray[np.bool_]:
    """Which requests are good: within the limit of the highest percentile stated for each metric.

    A request's own ITL is its mean gap between emissions. A latency that a request does not have cannot be missed; a
    request that never finished is not good.
    """
    own = request_latencies(requests)
    good: NDArray[np.bool_] = ~np.isnan(requests.finish_s)
    for metric, of in limits(slo).items():
        limit = of[max(of, key=PERCENTILES.index)]
        good &= ~(_of_request(own, metric) > limit)
    return good


def _of_request(own: RequestLatencies, metric: str) -> NDArray[np.float64]:
    found: NDArray[np.float64] = own.mean_gap_s if metric == "itl_s" else getattr(own, metric)
    return found


def attainment(records: ClusterRecords, slo: Slo) -> float | None:
    """Share of the measured requests that are good; rejected ones are not."""
    good = good_requests(records.requests, slo)[records.measured]
    return float(good.mean()) if good.size else None


def verdict(records: ClusterRecords, slo: Slo | None, *, open_loop: bool) -> Verdict:
    """Whether a run holds, and how near it is to failing."""
    window = measured_window(records)
    rate = throughput(records, window).req_per_s or 0.0
    if not np.any(~np.isnan(records.requests.finish_s[records.measured])):
        return Verdict(False, JUST_FAILED, False, rate, "no request was served")
    backlog = measured_backlog(records)
    is_saturated = open_loop and (backlog.grows or batch_overfills(records))
    ratios = limit_ratios(summaries(records, window, gaps=bool(slo and slo.itl_s)), slo)
    worst = max(ratios, key=lambda name: ratios[name], default="backlog")
    pressure = ratios[worst] if ratios else backlog.pressure
    if is_saturated:
        return Verdict(False, max(pressure, JUST_FAILED), True, rate, worst if pressure > 1 else "backlog")
    if not ratios:
        pressure = min(pressure, 1.0)
    return Verdict(pressure <= 1.0, pressure, False, rate, worst)
