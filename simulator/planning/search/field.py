"""The candidates of a plan, what so many replicas of each cost, and which of them differ in nothing but their price."""

from bisect import bisect_right
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from math import inf

from simulator.outcome.cost import Bill, bill_of
from simulator.planning.estimate import not_estimated
from simulator.planning.replication import Simulate
from simulator.planning.search.asked import Asked, asked_of
from simulator.planning.search.pareto import Latency, latency_of
from simulator.planning.tasks import Meter
from simulator.spec.deployment import Deployment
from simulator.spec.plan import Plan
from simulator.spec.scenario import Scenario

MOST_REPLICAS = 10_000
"""Replicas that a deployment may have."""

NO_PRICE = 1.0
"""Stands for a price where none plays a part [USD/h]."""

ROUNDING = 1.0 + 1e-9
"""Factor within which two costs are the same."""


@dataclass(frozen=True, slots=True)
class Field:
    """All that a search chooses from, and what it is to find."""

    scenario: Scenario
    question: Plan
    asked: Asked
    bills: Mapping[str, Bill]
    twins: Mapping[str, tuple[str, ...]]
    """The cheapest of candidates that differ in price alone → all of them; the search is over the former."""
    executor: Executor | None
    meter: Meter
    simulate: Simulate

    @property
    def estimates_hold(self) -> bool:
        """Whether the estimate knows these arrivals: of bursts and of hours of a day it sees the mean rate only."""
        return not_estimated(self.scenario.workload) is None

    @property
    def latency(self) -> Latency:
        """By which candidates of equal cost and GPUs are told apart."""
        return latency_of(self.scenario.slo)

    def usd_per_hour(self, name: str, replicas: int) -> float:
        """What so many replicas and the spares cost [USD/h]."""
        return self.bills[name].usd_per_hour(replicas + self.question.spare_replicas)

    def num_gpus(self, name: str, replicas: int) -> int:
        """GPUs of so many replicas and the spares, draft GPUs included."""
        return self.bills[name].gpus(replicas + self.question.spare_replicas)

    def most_replicas(self, name: str, usd_per_hour: float = inf) -> int:
        """Replicas, spares apart, that the budget and a cost allow; 0 where not even one is."""
        budget = self.question.budget
        usd = min(usd_per_hour, budget.usd_per_hour or inf if budget else inf) * ROUNDING
        gpus = budget.gpus or inf if budget else inf
        sizes = range(1, MOST_REPLICAS + 1)
        by_usd = bisect_right(sizes, usd, key=lambda count: self.usd_per_hour(name, count))
        return min(by_usd, bisect_right(sizes, gpus, key=lambda count: self.num_gpus(name, count)))


def field_of(scenario: Scenario, question: Plan, executor: Executor | None, meter: Meter, simulate: Simulate) -> Field:
    """All candidates of a plan.

    Raises ScenarioError for a load that no plan can be for, CatalogError where a price is missing.
    """
    bills = {name: bill_of(spec) for name, spec in scenario.deployments.items()}
    return Field(
        scenario, question, asked_of(scenario, question), bills, _twins(scenario, bills), executor, meter, simulate
    )


def _twins(scenario: Scenario, bills: Mapping[str, Bill]) -> dict[str, tuple[str, ...]]:
    """Candidates by what they are, prices apart: the cheapest of each kind first."""
    kinds: dict[str, list[str]] = {}
    for name, spec in scenario.deployments.items():
        kinds.setdefault(_priceless(spec), []).append(name)
    ordered = (sorted(names, key=lambda name: bills[name].usd_per_replica_hour()) for names in kinds.values())
    return {names[0]: tuple(names) for names in ordered}


def _priceless(spec: Deployment) -> str:
    """A deployment but for its replicas, its prices and what its drafts cost to make."""
    changed: dict[str, object] = {"price": NO_PRICE, "replicas": 1, "economics": None}
    if spec.draft_pool is not None:
        pool = spec.draft_pool.model_copy(update={"price": NO_PRICE, "gpu": spec.draft_gpu})
        changed["speculation"] = spec.speculation.model_copy(update={"placement": pool})
    return spec.model_copy(update=changed).model_dump_json()
