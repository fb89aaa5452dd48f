"""How far figures can be trusted: percentiles of too few samples, and replications for a wanted precision."""

from collections.abc import Mapping, Sequence
from math import ceil, sqrt
from statistics import fmean, stdev

import numpy as np

from simulator.cluster.records import ClusterRecords
from simulator.outcome.interval import t_quantile
from simulator.outcome.latency import METRICS, request_latencies, token_gaps
from simulator.outcome.window import Window

SHARES = {"p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99}
"""Percentile → share of the samples that lie below it."""

BEYOND = 10
"""Samples that must lie beyond a percentile."""

WANTED = 0.05
"""Half-width of an interval that is wanted, as a share of the mean."""

MOST_REPLICATIONS = 100_000
"""Replications beyond which none are suggested."""


def samples_needed(share: float) -> int:
    r"""Samples from which a percentile can be read, so that ten lie beyond it.

    .. math:: n = 10 / (1 - q)

    share: share q of the samples that lie below it. [0 to 1]

    >>> samples_needed(0.95), samples_needed(0.99)
    (200, 1000)
    """
    return ceil(BEYOND / (1 - share) - 1e-9)


def too_few_samples(records: ClusterRecords, window: Window) -> list[str]:
    """Percentiles with fewer measured samples than they need, as `ttft_s.p99`; those with none at all left out.

    Samples of ITL are gaps between tokens, of the other latencies requests.
    """
    own = request_latencies(records.requests)
    counts = {
        name: float(token_gaps(records, window)[1].sum())
        if name == "itl_s"
        else float(np.count_nonzero(~np.isnan(getattr(own, name)[records.measured])))
        for name in METRICS
    }
    return [
        f"{name}.{percentile}"
        for name, count in counts.items()
        for percentile, share in SHARES.items()
        if 0 < count < samples_needed(share)
    ]


def replications_needed(values: Sequence[float], wanted: float = WANTED) -> int | None:
    r"""Replications at which a 95 % interval is as narrow as wanted, if they spread as those that are there.

    .. math:: \min n: \; t_{n-1} \, s / \sqrt{n} \le w \, |\bar x|

    values: one figure by replication, at least two. [any unit]
    wanted: half-width w as a share of the mean. [0 to 1]

    None where fewer than two are there, where their mean is 0, or where even MOST_REPLICATIONS would not do.

    >>> replications_needed([9.0, 10.0, 11.0])
    18
    >>> replications_needed([10.0, 10.0, 10.0])
    2
    """
    if len(values) < 2 or fmean(values) == 0:
        return None
    spread = stdev(values) / abs(fmean(values)) / wanted
    number = max(2, int((1.95 * spread) ** 2))
    while number <= MOST_REPLICATIONS:
        if t_quantile(0.95, min(number - 1, 1000)) * spread <= sqrt(number):
            return number
        number += max(1, number // 200)
    return None


def suggested_replications(figures: Mapping[str, Sequence[float]]) -> dict[str, int]:
    """Replications for ±5 % of each figure that has an answer."""
    found = {name: replications_needed(values) for name, values in figures.items()}
    return {name: number for name, number in found.items() if number is not None}
