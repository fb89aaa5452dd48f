"""A cluster in the steady state: where it saturates, which rates hold the SLO, how many replicas a load needs."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil, exp, log

import numpy as np

from simulator.outcome.latency import quantiles
from simulator.outcome.slo import limits
from simulator.planning.demand import Demand
from simulator.planning.sample import Latencies, sample_latencies
from simulator.planning.steady_state import SteadyState, saturation_rate, solve
from simulator.spec.workload import Slo

RATE_TOLERANCE = 0.01
"""Relative precision of a rate that is sought."""

MOST_EVALUATIONS = 25
"""Steady states after which a search ends."""

NEAR = 1.3
"""Factor around a known capacity within which that of a slightly different cluster is sought first."""

IDLE = 0.02
"""Share of the saturation rate at which a cluster counts as nearly idle: where a capacity is sought from."""

FULL = 0.9995
"""Share of the saturation rate up to which a capacity is sought."""

NEARLY_ALL = 0.999
"""Share of the saturation rate up to which a load is followed."""

MOST_REPLICAS = 100_000
"""Replicas beyond which no fleet is sought."""


@dataclass(frozen=True, slots=True)
class Load:
    """A cluster at a load: the state of each replica, and latencies of sampled requests."""

    rate_per_s: float
    """Requests per second over the cluster."""
    state: SteadyState
    latencies: Latencies
    rounds: float = 1.0
    """Steps that are taken for each that is counted: more than 1 where a policy proposes less than K."""


@dataclass(frozen=True, slots=True)
class SteadyCluster:
    """All replicas of a deployment in the steady state."""

    demand: Demand
    num_replicas: int
    router: str
    slo: Slo | None
    _capacity: list[float] = field(init=False, default_factory=list, compare=False, repr=False)
    """The capacity, once it has been sought."""

    def at(self, rate_per_s: float) -> Load:
        """The cluster at a rate below saturation."""
        state = solve(self.demand, rate_per_s / self.num_replicas, self.num_replicas, self.router)
        chosen = self.demand.chosen
        rounds = 1.0 if chosen is None else chosen.at(max(round(state.mean_batch), 1)).rounds
        return Load(rate_per_s, state, sample_latencies(self.demand, state), rounds)

    def holds(self, rate_per_s: float) -> bool:
        """Whether a rate holds the SLO."""
        return rate_per_s < self.saturation() and self.pressure(rate_per_s) <= 1.0

    def pressure(self, rate_per_s: float) -> float:
        """Largest of latency ÷ limit at a rate; 0 without limits."""
        return pressure(self.at(rate_per_s), self.slo)

    def saturation(self) -> float:
        """Rate at which the backlog begins to grow [requests/s]."""
        return saturation_rate(self.demand) * self.num_replicas

    def capacity(self, near: float | None = None) -> float:
        """Highest rate that holds [requests/s]; 0 where none does. Sought once.

        near: a rate not far from it, from which the search begins.
        """
        if not self._capacity:
            self._capacity.append(self._sought(near))
        return self._capacity[0]

    def _sought(self, near: float | None) -> float:
        most = self.saturation()
        if not limits(self.slo):
            return most
        low, high = IDLE * most, FULL * most
        if near is not None and low < near / NEAR and near * NEAR < high:
            ends = [(rate, self.pressure(rate)) for rate in (near / NEAR, near * NEAR)]
            if ends[0][1] <= 1.0 < ends[1][1]:
                return _crossing(self.pressure, *ends)
        first = self.pressure(low)
        if first > 1.0:
            return 0.0
        return _crossing(self.pressure, (low, first), (high, self.pressure(high)))

    def offered(self, kind: str, load: float | None) -> Load:
        """The cluster at the scenario's load; above saturation, at saturation."""
        most = self.saturation() * NEARLY_ALL
        if kind == "rate" and load is not None:
            return self.at(min(load, most))
        if kind == "batch" or load is None:
            return self.at(most)
        low = 1e-4 * most
        return self.at(
            _crossing(lambda r: self._in_flight(r) / load, (low, 0.05), (most, self._in_flight(most) / load))
        )

    def replicas_for(self, rate_per_s: float, capacity: float, *, by_capacity: bool = False) -> int | None:
        """Fewest replicas that hold a rate, sought from this cluster's capacity; None where no number does.

        More replicas hold at least as much each, for routers level the load better: so many as hold their share at
        this cluster's capacity need no further look, nor do fewer of them than it has that would have to hold more.

        by_capacity: take every replica to hold as much as one of this cluster.
        """
        if capacity <= 0:
            return None
        each = capacity / self.num_replicas
        count = max(ceil(rate_per_s / each), 1)
        while not by_capacity and count < self.num_replicas and not self.with_replicas(count).holds(rate_per_s):
            count += 1
        if not by_capacity and count > self.num_replicas:
            count = fewest_below(count, self.num_replicas + 1, partial(self._holds_on, rate_per_s))
        return count if count <= MOST_REPLICAS else None

    def _holds_on(self, rate_per_s: float, num_replicas: int) -> bool:
        return self.with_replicas(num_replicas).holds(rate_per_s)

    def with_replicas(self, num_replicas: int) -> "SteadyCluster":
        """The same requests on another number of replicas."""
        return replace(self, num_replicas=num_replicas)

    def _in_flight(self, rate_per_s: float) -> float:
        load = self.at(rate_per_s)
        return rate_per_s * float(load.latencies.e2e_s.mean())


def fewest_below(count: int, least: int, holds: Callable[[int], bool]) -> int:
    """Fewest that hold, from `least` to a count that does, if more always hold: in steps that double, then halve.

    >>> fewest_below(1000, 1, lambda count: count >= 437), fewest_below(1000, 998, lambda count: True)
    (437, 998)
    """
    step = 1
    while count - step >= least and holds(count - step):
        count, step = count - step, 2 * step
    while step > 1:
        step //= 2
        if count - step >= least and holds(count - step):
            count -= step
    return count


def _crossing(rises: Callable[[float], float], low: tuple[float, float], high: tuple[float, float]) -> float:
    """Where a rising function of a rate reaches 1, to RATE_TOLERANCE: regula falsi in logarithms, kept from stalling.

    low, high: (rate, value) at both ends; below 1 at the high end, the high rate is the answer.
    """
    if high[1] <= 1.0:
        return high[0]
    ends = [(log(rate), log(min(max(value, 0.05), 20.0))) for rate, value in (low, high)]
    weights = [1.0, 1.0]
    for _ in range(MOST_EVALUATIONS):
        (x0, y0), (x1, y1) = ends
        if x1 - x0 < RATE_TOLERANCE:
            break
        y0, y1 = y0 * weights[0], y1 * weights[1]
        x = min(max(x0 - y0 * (x1 - x0) / (y1 - y0), x0 + 0.02 * (x1 - x0)), x1 - 0.02 * (x1 - x0))
        y = log(min(max(rises(exp(x)), 0.05), 20.0))
        side = 0 if y <= 0 else 1
        ends[side] = (x, y)
        weights[side] = 1.0
        weights[1 - side] *= 0.5
        if abs(y) < RATE_TOLERANCE:
            return exp(x)
    return exp(ends[0][0])


def latency_values(load: Load, metric: str) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Latencies of the sampled requests, or gaps between emissions [s]."""
    if metric == "itl_s":
        return token_gaps(load)
    return np.asarray(getattr(load.latencies, metric))


def token_gaps(load: Load) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Gaps between emissions: plain steps, and a share of steps with prompts, as sequences meet them."""
    state = load.state
    weight = state.running * np.arange(state.running.size) / state.step_s
    if weight.sum() <= 0:
        return np.zeros(1)
    plain_s = float(weight @ state.step_s / weight.sum()) / load.rounds
    with_prompt = 1.0 - float(np.exp(-state.prompts_met))
    count = 1000
    longer = min(ceil(with_prompt * count), count)
    sizes = state.work.sample_s[(np.arange(longer) * state.work.sample_s.size) // max(longer, 1)]
    return np.concatenate((np.full(count - longer, plain_s), plain_s + sizes))


def pressure(load: Load, slo: Slo | None) -> float:
    """Largest of latency ÷ limit over the stated percentiles; 0 without any, and of latencies that no request has."""
    ratios = [0.0]
    for metric, of in limits(slo).items():
        values = latency_values(load, metric)
        known = values[~np.isnan(values)]
        shares = np.array([int(percentile[1:]) / 100 for percentile in of])
        if known.size:
            ratios += (quantiles(known, shares) / np.array(list(of.values()))).tolist()
    return max(ratios)


def good_share(load: Load, slo: Slo | None) -> float | None:
    """Share of the sampled requests within the threshold of the highest percentile stated for each metric.

    None without such a threshold; gaps between tokens are no request's own and do not count. [0 to 1]
    """
    stated = {metric: of for metric, of in limits(slo).items() if metric != "itl_s"}
    if not stated:
        return None
    good = np.ones(load.latencies.ttft_s.size, np.bool_)
    for metric, of in stated.items():
        good &= ~(latency_values(load, metric) > of[max(of)])
    return float(good.mean())
