"""The latency–throughput–goodput curve of a deployment in the steady state, and its latencies at one load.

What the simulation finds of the same curve stands in `curve`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.outcome.cost import bill_of, usd_per_million_tokens
from simulator.outcome.latency import Summary, summarise
from simulator.planning.capacity import load_axis
from simulator.planning.estimate import steady_cluster
from simulator.planning.steady_cluster import Load, SteadyCluster, good_share, pressure
from simulator.spec.scenario import Scenario

SHARES = (0.05, 0.12, 0.2, 0.3, 0.4, 0.5, 0.6, 0.68, 0.76, 0.83, 0.88, 0.92, 0.95, 0.97, 0.985)
"""Shares of the saturation rate at which a curve is computed: closer where it bends."""

LEVELS = np.concatenate((np.linspace(0.01, 0.97, 49), np.linspace(0.975, 0.995, 5)))
"""Shares of requests at which a distribution is told: no further out than a sample of a few hundred knows."""


class CurvePoint(NamedTuple):
    """A deployment at one load."""

    req_per_s: float
    latencies: dict[str, Summary]
    """`ttft_s`, `tpot_s`, `e2e_s`: mean and percentiles [s]."""
    good_req_per_s: float | None
    """Good requests per second; None without an SLO."""
    output_tokens_per_s: float
    usd_per_million_output_tokens: float | None
    holds: bool


class LoadCurve(NamedTuple):
    """What the steady state says of a deployment from idle to saturation."""

    points: list[CurvePoint]
    capacity_req_per_s: float
    offered_req_per_s: float
    """The scenario's own load; what is served of it where that is less."""
    shares: list[float]
    quantiles: dict[str, list[float]]
    """`ttft_s`, `tpot_s`, `e2e_s` at the offered load, by the shares [s]."""


def load_curve(scenario: Scenario, deployment: str) -> LoadCurve:
    """The curve of a deployment.

    Raises ScenarioError when it does not fit into its GPUs.
    """
    cluster = steady_cluster(scenario, deployment)
    return curve_at(cluster, steady_loads(cluster), scenario, deployment)


def steady_loads(cluster: SteadyCluster) -> list[Load]:
    """A cluster from idle to saturation, its capacity included: neither the offered load nor the price plays a part."""
    capacity, saturation = cluster.capacity(), cluster.saturation()
    rates = {share * saturation for share in SHARES} | {capacity}
    return [cluster.at(rate) for rate in sorted(rates) if 0.0 < rate < saturation]


def curve_at(cluster: SteadyCluster, loads: Sequence[Load], scenario: Scenario, deployment: str) -> LoadCurve:
    """The curve at the scenario's offered load and the deployment's price."""
    axis = load_axis(scenario.workload, scenario.seed, 0)
    offered = cluster.offered(axis.kind, axis.offered)
    spec = scenario.deployments[deployment]
    usd_per_hour = bill_of(spec).usd_per_hour(spec.replicas)
    return LoadCurve(
        [_point(cluster, load, usd_per_hour) for load in loads],
        cluster.capacity(),
        offered.rate_per_s,
        LEVELS.tolist(),
        {name: _quantiles(getattr(offered.latencies, name)) for name in ("ttft_s", "tpot_s", "e2e_s")},
    )


def _point(cluster: SteadyCluster, load: Load, usd_per_hour: float) -> CurvePoint:
    output = load.rate_per_s * float(cluster.demand.output_tokens.mean())
    share = good_share(load, cluster.slo)
    return CurvePoint(
        load.rate_per_s,
        {name: summarise(getattr(load.latencies, name)) for name in ("ttft_s", "tpot_s", "e2e_s")},
        None if share is None else load.rate_per_s * share,
        output,
        usd_per_million_tokens(usd_per_hour, output),
        pressure(load, cluster.slo) <= 1.0,
    )


def _quantiles(values: NDArray[np.float64]) -> list[float]:
    known = values[~np.isnan(values)]
    return [float(value) for value in np.quantile(known, LEVELS)] if known.size else []
