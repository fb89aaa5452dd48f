"""Which candidates might yet become the cheapest of a plan, given what was simulated so far."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil, inf

from simulator.outcome.report import Row
from simulator.planning.search.appraisal import Appraisal, Estimated
from simulator.planning.search.field import ROUNDING, Field
from simulator.planning.search.trials import Tried

MOST_FAILING = 3
"""Candidates ÷ those to confirm that are simulated at most while none of them holds."""

KIN_ERROR = 0.03
"""By how much the estimate may err more for a candidate than for another of its kind; an assumption."""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """What simulation says of a candidate."""

    replicas: int | None
    """The fewest that hold; None where none do within the budget."""
    sizes: Mapping[int, Tried]
    """By replicas, those that were simulated."""
    row: Row | None
    """Figures of the fewest that hold, at the load that is offered."""


@dataclass(frozen=True, slots=True)
class Rivals:
    """Candidates that hold by the estimate, and those that were simulated; the latter grow."""

    field: Field
    hoped: Mapping[str, Estimated]
    done: dict[str, Confirmed]

    def __iter__(self) -> Iterator[str]:
        """Which candidate to simulate next, the most promising first, as long as one might become the cheapest."""
        order = sorted(self.hoped, key=self._promise)
        while True:
            least = self.least_cost()
            most = self.field.question.confirm * (MOST_FAILING if least == inf else 1)
            name = next((name for name in order if self.might_cost_less(name, least)), None)
            if name is None or len(self.done) >= most:
                return
            yield name

    def _promise(self, name: str) -> tuple[float, int, float, str]:
        """By what a candidate costs by the estimate, then by GPUs and by the share of its capacity that is used."""
        of = self.hoped[name]
        cost, gpus = self.field.usd_per_hour(name, of.replicas), self.field.num_gpus(name, of.replicas)
        return round(cost, 9), gpus, of.row["utilisation"], name

    def least_cost(self) -> float:
        """Cost of the cheapest candidate that holds in simulation; inf where none does [USD/h]."""
        sizes = ((name, of.replicas) for name, of in self.done.items() if of.replicas is not None)
        return min((self.field.usd_per_hour(name, replicas) for name, replicas in sizes), default=inf)

    def might_cost_less(self, name: str, usd_per_hour: float) -> bool:
        """Whether a candidate that was not simulated may cost less than this, and be within the budget."""
        if name in self.done:
            return False
        most = self.field.most_replicas(name, usd_per_hour / ROUNDING**2)
        return ceil(self.hoped[name].hopeful * self.shortfall() - 1e-9) <= most and self.failed_kin(name, most) is None

    def failed_kin(self, name: str, replicas: int) -> str | None:
        """Another of its kind, no slower by the estimate, that failed in simulation with as many replicas, if any."""
        used = _used(self.hoped[name], replicas) * (1.0 + KIN_ERROR)
        failed = (
            other
            for other, of in self.done.items()
            if any(count >= replicas and not size.holds for count, size in of.sizes.items())
            if self._kind(other) == self._kind(name) and used >= _used(self.hoped[other], replicas)
        )
        return next(failed, None)

    def _kind(self, name: str) -> tuple[object, ...]:
        """Candidates of one kind differ in what they propose and in the limits of their engine."""
        spec = self.field.scenario.deployments[name]
        return (spec.gpu, spec.target, spec.engine.policy, spec.speculation.kind, *spec.speculation.drafts)

    def shortfall(self) -> float:
        """Factor by which all that were simulated need more replicas than estimated, where the load is not known to it.

        Of bursts and of hours of a day the estimate sees the mean rate only: those that were not simulated will need
        more, too. 1 elsewhere.
        """
        if self.field.estimates_hold:
            return 1.0
        sizes = ((name, of.replicas) for name, of in self.done.items() if of.replicas is not None)
        return max(min((replicas / self.hoped[name].replicas for name, replicas in sizes), default=1.0), 1.0)


def rivals_of(field: Field, found: Mapping[str, Appraisal], done: Mapping[str, Confirmed]) -> Rivals:
    """The rivals among all candidates."""
    return Rivals(field, {name: of.estimated for name, of in found.items() if of.estimated is not None}, dict(done))


def _used(of: Estimated, replicas: int) -> float:
    """Share of the estimated capacity of so many replicas that the load takes, each carrying an equal part of it."""
    used: float = of.row["utilisation"] * of.replicas / replicas if replicas else inf
    return used
