"""What a cluster is asked to hold: a rate, or the users who bring one, and how much of its capacity is to stay free."""

from dataclasses import dataclass
from math import sqrt

from simulator.errors import ScenarioError
from simulator.outcome.latency import summarise
from simulator.outcome.slo import OPEN_LOOP, limit_ratios, limits
from simulator.planning.capacity import load_axis
from simulator.planning.steady_cluster import IDLE, NEARLY_ALL, SteadyCluster, latency_values
from simulator.spec.plan import Plan, Users
from simulator.spec.scenario import Scenario

RATE_TOLERANCE = 0.002
"""Relative precision of the rate that users bring."""

MOST_ROUNDS = 60
"""Rounds after which that rate is taken as it is."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The load of a plan, whatever cluster serves it."""

    rate_per_s: float | None
    """Requests per second that come; None: as many as the users send."""
    users: Users | None
    headroom: float
    """Share of the capacity that stays free [0 to 1]."""

    def offered(self, cluster: SteadyCluster) -> float | None:
        """Requests per second that come to a cluster; None where its users ask for more than it can serve."""
        return self.rate_per_s if self.users is None else rate_of_users(cluster, self.users)

    def most(self, cluster: SteadyCluster) -> float:
        """Requests per second that come to a cluster at most, however many replicas it has."""
        if self.users is None:
            assert self.rate_per_s is not None
            return self.rate_per_s
        return _sent(cluster, self.users, IDLE * cluster.saturation())

    def needed(self, rate_per_s: float) -> float:
        """Rate that a cluster must hold so that its headroom stays free at a rate."""
        return rate_per_s / (1.0 - self.headroom)

    def holds(self, cluster: SteadyCluster) -> bool:
        """Whether a cluster holds the load by the estimate."""
        rate = self.offered(cluster)
        return rate is not None and cluster.holds(self.needed(rate))


def asked_of(scenario: Scenario, question: Plan) -> Asked:
    """The load that a plan is for.

    Raises ScenarioError for arrivals that wait for the service, and so state no load.
    """
    arrivals, users = scenario.workload.arrivals, question.users
    if arrivals.kind not in OPEN_LOOP:
        raise ScenarioError(f"workload.arrivals: {_no_load(scenario)}")
    if users is None:
        return Asked(load_axis(scenario.workload, scenario.seed, 0).offered, None, question.headroom)
    if arrivals.kind == "trace":
        raise ScenarioError(
            "plan.users: the users bring the load, and so does a trace: leave plan.users out, or give arrivals of "
            "another kind"
        )
    return Asked(None, users, question.headroom)


def _no_load(scenario: Scenario) -> str:
    arrivals = scenario.workload.arrivals
    if arrivals.kind == "closed_loop":
        return (
            f"the {arrivals.concurrency} clients of a closed loop state no rate: give arrivals of kind poisson, and "
            f"plan.users {{count: {arrivals.concurrency}, think_s: 0}} for clients that wait for their answers"
        )
    return "a batch that is queued at once states no rate, any cluster gets through it in time: give a rate_per_s"


def rate_of_users(cluster: SteadyCluster, users: Users) -> float | None:
    r"""Requests per second that users send to a cluster; None where that is more than it can serve [requests/s].

    .. math:: \lambda = N / (Z + E(\lambda))

    with N users, their mean time to think Z, and the mean end-to-end latency E at the rate. E rises with the rate, so
    the right side at any rate is a bound of the answer on the other side of it.

    Little's law over the cycle of a user; requests are estimated as if they came at random at this rate.
    """
    most = NEARLY_ALL * cluster.saturation()
    low, high = _sent(cluster, users, most), most
    if low > most:
        return None
    for _ in range(MOST_ROUNDS):
        if high <= low * (1.0 + RATE_TOLERANCE):
            break
        middle = sqrt(low * high)
        sent = _sent(cluster, users, middle)
        low, high = (middle, min(high, sent)) if sent > middle else (max(low, sent), middle)
    return high


def _sent(cluster: SteadyCluster, users: Users, rate_per_s: float) -> float:
    """Requests per second that users send if the cluster is as slow as at a rate."""
    return users.count / (users.think_s + float(cluster.at(rate_per_s).latencies.e2e_s.mean()))


def alone(scenario: Scenario, name: str, replicas: int) -> Scenario:
    """The scenario with a single deployment, of so many replicas."""
    spec = scenario.deployments[name].model_copy(update={"replicas": replicas})
    return scenario.model_copy(update={"deployments": {name: spec}})


def at_rate(scenario: Scenario, rate_per_s: float) -> Scenario:
    """The scenario with another rate; a trace keeps its own."""
    arrivals = scenario.workload.arrivals
    if arrivals.kind == "trace" or getattr(arrivals, "rate_per_s", None) == rate_per_s:
        return scenario
    changed = arrivals.model_copy(update={"rate_per_s": rate_per_s})
    return scenario.model_copy(update={"workload": scenario.workload.model_copy(update={"arrivals": changed})})


def ratios_at(cluster: SteadyCluster, rate_per_s: float) -> dict[str, float]:
    """Estimated latency ÷ limit at a rate below saturation, by `ttft_s.p95`."""
    load = cluster.at(rate_per_s)
    found = {metric: summarise(latency_values(load, metric)) for metric in limits(cluster.slo)}
    return limit_ratios(found, cluster.slo)
