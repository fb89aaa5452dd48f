"""A candidate without simulation: does it fit, what can it do at best, and how many replicas hold by the estimate.

Prices play no part, so candidates that differ in nothing else share one appraisal. Picklable, both ways.
"""

from dataclasses import dataclass
from math import ceil, isfinite

from simulator.outcome.report import Row
from simulator.planning.context import why_unfit
from simulator.planning.estimate import estimate_row, steady_cluster
from simulator.planning.fleet import fewest
from simulator.planning.search.asked import Asked, alone, at_rate, ratios_at
from simulator.planning.search.bounds import Bound, bound_of
from simulator.planning.steady_cluster import IDLE, SteadyCluster
from simulator.spec.scenario import Scenario

ESTIMATE_ERROR = 0.15
"""By how much the estimate's capacity may fall short of the simulation's; up to 12 % was seen (decision 9)."""

USED_WELL = 0.7
"""Share of the saturation rate up to which a replica is first expected to hold; a start, nothing follows from it."""


@dataclass(frozen=True, slots=True)
class Estimated:
    """The fewest replicas that hold by the estimate."""

    replicas: int
    hopeful: int
    """The fewest that hold if the estimate is too cautious by its error."""
    rate_per_s: float
    """Load that is offered to so many [requests/s]."""
    row: Row
    """All figures of a report row at that load."""


@dataclass(frozen=True, slots=True)
class Appraisal:
    """What is known of a candidate without simulation."""

    unfit: str = ""
    """Why it does not fit into its GPUs; empty where it does."""
    bound: Bound | None = None
    """None where it does not fit."""
    least_replicas: int = 1
    """No fewer can hold."""
    estimated: Estimated | None = None
    """None where nothing holds, or where it was not asked."""
    asked: bool = False
    """Whether an estimate was made."""
    idle_ratios: dict[str, float] | None = None
    """Latency ÷ limit of a nearly idle cluster by the estimate, where no number of replicas holds."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A candidate to appraise; picklable."""

    scenario: Scenario
    """Holds it."""
    name: str
    load: Asked
    most_replicas: int | None
    """Where at least more than these are needed, no estimate is made; None: it always is."""


def appraise(asks: tuple[Ask, ...]) -> list[Appraisal]:
    """Candidates one after the other."""
    return [_appraise(ask) for ask in asks]


def _appraise(ask: Ask) -> Appraisal:
    unfit = why_unfit(ask.scenario, ask.name)
    if unfit:
        return Appraisal(unfit)
    one = steady_cluster(alone(ask.scenario, ask.name, 1), ask.name)
    bound = bound_of(one.demand, one.slo)
    least = _least_replicas(ask.load, bound)
    if bound.misses is not None or (ask.most_replicas is not None and least > ask.most_replicas):
        return Appraisal(bound=bound, least_replicas=least)
    start = one.with_replicas(ceil(ask.load.needed(ask.load.most(one)) / (USED_WELL * one.saturation())))
    idle = ratios_at(start, IDLE * start.saturation())
    able = max(idle.values(), default=0.0) <= 1.0
    estimated = _estimated(ask, one, start.num_replicas) if able else None
    return Appraisal(
        bound=bound, least_replicas=least, estimated=estimated, asked=True, idle_ratios=None if estimated else idle
    )


def _least_replicas(load: Asked, bound: Bound) -> int:
    """Replicas below which none can hold; 1 where users bring the load, for they send less to a slow cluster."""
    if load.rate_per_s is None or not isfinite(bound.replica_req_per_s):
        return 1
    return max(ceil(load.needed(load.rate_per_s) / bound.replica_req_per_s - 1e-9), 1)


def _estimated(ask: Ask, one: SteadyCluster, start: int) -> Estimated | None:
    """The fewest replicas by the estimate, sought from a start; None where even many times as many do not hold."""
    replicas = fewest(lambda count: ask.load.holds(one.with_replicas(count)), start)
    if replicas is None:
        return None
    cluster = one.with_replicas(replicas)
    rate = ask.load.offered(cluster)
    assert rate is not None, "it holds"
    needed = ask.load.needed(rate)
    capacity = cluster.capacity(near=needed * (2 * replicas - 1) / (2 * replicas - 2) if replicas > 1 else None)
    scenario = at_rate(alone(ask.scenario, ask.name, replicas), rate)
    hopeful = min(hopeful_replicas(needed, capacity, replicas), replicas)
    return Estimated(replicas, hopeful, rate, estimate_row(scenario, ask.name, cluster))


def hopeful_replicas(needed: float, capacity: float, replicas: int) -> int:
    """Fewest replicas that hold a rate if a cluster's capacity were higher by the estimate's error.

    Each is taken to carry an equal part of it, though fewer replicas carry less each: that is the more hopeful.

    needed: rate that must hold. [requests/s]
    capacity: estimated, of a cluster. [requests/s]
    replicas: of that cluster.

    >>> hopeful_replicas(100.0, 105.0, replicas=27)
    23
    """
    return max(ceil(needed * replicas / (capacity * (1.0 + ESTIMATE_ERROR)) - 1e-9), 1)
