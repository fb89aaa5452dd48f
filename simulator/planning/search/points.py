"""The points of a plan: each candidate with its fewest replicas, what they cost and how fast they are, or why not."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from simulator.outcome.cost import usd_per_million_tokens
from simulator.outcome.report import Row
from simulator.planning.search.appraisal import Appraisal, Estimated
from simulator.planning.search.field import MOST_REPLICAS, Field
from simulator.planning.search.ranking import REACH
from simulator.planning.search.rivals import Confirmed, Rivals, rivals_of
from simulator.planning.search.trials import Tried
from simulator.spec.plan import Budget

Method = Literal["bound", "estimated", "simulated"]


@dataclass(frozen=True, slots=True)
class Point:
    """A candidate at its fewest replicas; figures are None where nothing holds, or nothing was asked."""

    name: str
    gpu: str
    method: Method
    """What its figures rest on."""
    spare_replicas: int
    replicas: int | None = None
    """The fewest that hold, spares apart."""
    num_gpus: int | None = None
    """Of replicas and spares, draft GPUs included."""
    usd_per_hour: float | None = None
    """Of the same [USD/h]."""
    offered_req_per_s: float | None = None
    capacity_req_per_s: float | None = None
    """Of the replicas without the spares; estimated, and kept to what simulations showed [requests/s]."""
    row: Row | None = None
    """All figures of a report row with the replicas, at the offered load."""
    tried: Tried | None = None
    """The replicas in simulation."""
    fewer: Tried | None = None
    """One replica less in simulation, where that was tried."""
    why_not: str | None = None
    """Why it is no answer."""

    @property
    def holds(self) -> bool:
        """Whether it is an answer: it holds the load within the budget."""
        return self.why_not is None

    @property
    def cost(self) -> float:
        """What an answer costs [USD/h]."""
        assert self.usd_per_hour is not None, "an answer has a size"
        return self.usd_per_hour

    def usd_per_million(self, tokens_per_s: float | None) -> float | None:
        """What a million tokens cost at a throughput [USD]."""
        return usd_per_million_tokens(self.usd_per_hour, tokens_per_s)

    @property
    def output_tokens_per_s_at_capacity(self) -> float | None:
        """Capacity × output tokens of a request [tokens/s]."""
        tokens = None if self.row is None else self.row["output_tokens_per_request"]
        return None if tokens is None or self.capacity_req_per_s is None else self.capacity_req_per_s * tokens


def points_of(field: Field, found: Mapping[str, Appraisal], done: Mapping[str, Confirmed]) -> tuple[Point, ...]:
    """A point of every candidate, in their order; twins share what is not money."""
    rivals = rivals_of(field, found, done)
    made = {name: point for of, names in field.twins.items() for name, point in _twins(rivals, found[of], of)}
    return tuple(made[name] for name in field.scenario.deployments)


def _twins(rivals: Rivals, appraisal: Appraisal, kind: str) -> Iterator[tuple[str, Point]]:
    field, confirmed = rivals.field, rivals.done.get(kind)
    doubt = None if confirmed is not None or appraisal.estimated is None else _doubt(rivals, kind)
    for name in field.twins[kind]:
        if confirmed is not None:
            yield name, _simulated(field, name, appraisal, confirmed)
        elif appraisal.estimated is not None:
            yield name, _estimated(field, name, appraisal.estimated, doubt)
        else:
            yield name, _none(field, name, appraisal)


def _simulated(field: Field, name: str, appraisal: Appraisal, of: Confirmed) -> Point:
    if of.replicas is None:
        return _no_size(field, name, of)
    size, estimated = of.sizes[of.replicas], appraisal.estimated
    assert estimated is not None, "only what may hold is simulated"
    return Point(
        method="simulated",
        row=of.row,
        offered_req_per_s=size.offered_req_per_s,
        capacity_req_per_s=_capacity(of, estimated.row["capacity_req_per_s"] / estimated.replicas),
        tried=size,
        fewer=of.sizes.get(of.replicas - 1),
        **_sized(field, name, of.replicas),
    )


def _capacity(of: Confirmed, replica_req_per_s: float) -> float:
    """The estimated capacity, no less than what was simulated to hold, and less than what a replica less would need."""
    assert of.replicas is not None
    needed = of.sizes[of.replicas].needed_req_per_s
    capacity = max(replica_req_per_s * of.replicas, needed)
    return min(capacity, needed * of.replicas / (of.replicas - 1)) if of.replicas - 1 in of.sizes else capacity


def _no_size(field: Field, name: str, of: Confirmed) -> Point:
    """What was simulated and holds at no size."""
    largest = max(of.sizes, default=0)
    said = "its users ask for more than it can serve"
    if largest:
        budget = " that the budget allows" if largest == field.most_replicas(name) else ""
        number = "1 replica" if largest == 1 else f"{largest:,} replicas"
        holds = "does not hold" if largest == 1 else "do not hold"
        said = f"{number}{budget} {holds} in simulation: {missed(of.sizes[largest])}"
    return Point(name, field.scenario.deployments[name].gpu, "simulated", field.question.spare_replicas, why_not=said)


def missed(size: Tried) -> str:
    """What a size that does not hold misses; a start may look like a backlog where a run is short."""
    saturates = size.worst == "backlog"
    if size.held:
        how = "saturates" if saturates else f"misses {size.worst}"
        said = f"holds in {size.held} of {len(size.outcomes)} replications only, and {how} in the others"
    else:
        said = "it saturates" if saturates else f"{size.worst} is {size.pressure:.3g} times its limit"
    return "; ".join([said, *(size.too_short if saturates else ())])


def _doubt(rivals: Rivals, kind: str) -> str | None:
    """Why an estimate is not believed, from what was simulated; None where it is."""
    if not rivals.done:
        return None
    if not rivals.field.estimates_hold:
        return "only estimated, for arrivals at their mean rate"
    replicas = rivals.hoped[kind].replicas
    other = rivals.failed_kin(kind, replicas)
    return f"only estimated, and {other} does not hold in simulation with {replicas} replicas" if other else None


def _estimated(field: Field, name: str, of: Estimated, doubt: str | None) -> Point:
    sized = _sized(field, name, of.replicas)
    return Point(
        method="estimated",
        row=of.row,
        offered_req_per_s=of.rate_per_s,
        capacity_req_per_s=of.row["capacity_req_per_s"],
        **sized | {"why_not": sized["why_not"] or doubt},
    )


def _sized(field: Field, name: str, replicas: int) -> dict[str, Any]:
    """What any point with a size has; one that is over the budget is no answer."""
    gpus, usd = field.num_gpus(name, replicas), field.usd_per_hour(name, replicas)
    over = over_budget(field.question.budget, usd, gpus)
    if replicas > MOST_REPLICAS:
        over = f"{replicas:,} replicas, above the {MOST_REPLICAS:,} that a cluster may have"
    return {
        "name": name,
        "gpu": field.scenario.deployments[name].gpu,
        "spare_replicas": field.question.spare_replicas,
        "replicas": replicas,
        "num_gpus": gpus,
        "usd_per_hour": usd,
        "why_not": f"needs {over}" if over else None,
    }


def over_budget(budget: Budget | None, usd_per_hour: float, gpus: int) -> str:
    """What goes beyond the budget; empty within it."""
    said = []
    if budget is not None and budget.usd_per_hour is not None and usd_per_hour > budget.usd_per_hour * (1 + 1e-9):
        said.append(f"${usd_per_hour:.2f}/h, above the budget of ${budget.usd_per_hour:.2f}/h")
    if budget is not None and budget.gpus is not None and gpus > budget.gpus:
        said.append(f"{gpus} GPUs, above the budget of {budget.gpus}")
    return " and ".join(said)


def _none(field: Field, name: str, appraisal: Appraisal) -> Point:
    gpu = field.scenario.deployments[name].gpu
    method: Method = "estimated" if appraisal.asked else "bound"
    return Point(name, gpu, method, field.question.spare_replicas, why_not=_why_none(field, name, appraisal))


def _why_none(field: Field, name: str, appraisal: Appraisal) -> str:
    if appraisal.unfit:
        return f"does not fit: {appraisal.unfit}"
    bound, idle = appraisal.bound, appraisal.idle_ratios or {}
    assert bound is not None
    if bound.misses is not None:
        return f"even alone, a request has {bound.misses} at {bound.ratios[bound.misses]:.2f} times its limit or more"
    if appraisal.asked:
        worst = max(idle, key=lambda of: idle[of], default=None)
        if worst is None or idle[worst] <= 1.0:
            return "no number of replicas holds by the estimate"
        return f"no number of replicas holds: nearly idle, {worst} is at {idle[worst]:.2f} times its limit"
    least = appraisal.least_replicas
    usd, gpus = field.usd_per_hour(name, least), field.num_gpus(name, least)
    over = over_budget(field.question.budget, usd, gpus)
    return f"needs at least {over or f'${usd:.2f}/h, over {REACH:g} times the cheapest'}"
