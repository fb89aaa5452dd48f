"""The latency–throughput curve of a deployment: the loads that its searches tried, and a few short runs between them.

The search for the capacity tries loads near it only. Short runs of one replication fill in the rest where arrivals are
steady; a trace, bursts and hours of a day take their whole length to be seen, so nothing is filled in there.
"""

from collections.abc import Sequence

from simulator.spec.scenario import Scenario

SHARES = (0.2, 0.4, 0.6, 0.8, 0.95, 1.1)
"""Shares of the capacity at which a curve wants a point."""

NEAR = 0.06
"""Share of the capacity within which a load that was tried will do."""

MOST_REQUESTS, MOST_WARMUP = 2500, 500
"""Requests of a short run, and those of them that warm up."""

FILLED = ("poisson", "gamma", "constant", "closed_loop")
"""Arrivals of which a short run shows the same as a long one, but for noise."""


def loads_to_fill(capacity: float, tried: Sequence[float], *, whole: bool) -> list[float]:
    """Loads that the curve lacks.

    capacity: load at which the capacity was reached. [requests/s or clients]
    tried: loads that were simulated. [same]
    whole: only whole loads make sense.

    >>> loads_to_fill(10.0, [10.1, 9.4, 4.1], whole=False)
    [2.0, 6.0, 8.0, 11.0]
    """
    wanted = [round(share * capacity, 6) for share in SHARES]
    if whole:
        wanted = [float(max(round(load), 1)) for load in wanted]
    missing = dict.fromkeys(load for load in wanted if load > 0)
    return [load for load in missing if all(abs(load - other) > NEAR * capacity for other in tried)]


def shortened(scenario: Scenario) -> Scenario:
    """The scenario with a horizon that takes little time."""
    horizon = scenario.workload.horizon
    warmup = min(horizon.warmup_requests, MOST_WARMUP)
    shorter = horizon.model_copy(update={"requests": min(horizon.requests, MOST_REQUESTS), "warmup_requests": warmup})
    return scenario.model_copy(update={"workload": scenario.workload.model_copy(update={"horizon": shorter})})
