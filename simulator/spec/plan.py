"""What a planner is asked: the choices that are open, what must be kept free, and what may be spent."""

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from simulator.spec.base import Count, CountOrZero, Fraction, NotNegative, Positive, Spec
from simulator.spec.fleet import Fleet


class Budget(Spec):
    """What may be spent; a candidate above it is no answer."""

    gpus: Count | None = None
    """Most GPUs, draft GPUs and spares included."""
    usd_per_hour: Positive | None = None
    """Most that the cluster may cost [USD/h], spares included."""


class Users(Spec):
    """People who think between an answer and their next request: the load is theirs, not the workload's rate."""

    count: Count
    """Users at the same time."""
    think_s: NotNegative
    """Mean time from the last token of an answer to the next request [s]."""


class Plan(Spec):
    """The question of `specfleet plan`: every deployment of the file, in every choice of `vary`, is a candidate."""

    vary: dict[str, tuple[Any, ...]] = Field(default={})
    """Dotted path inside a deployment → the values that it may take. A deployment without the path is not varied by it.
    Replicas are not varied: the plan finds them."""
    users: Users | None = None
    """In place of a rate of the workload."""
    headroom: Annotated[Fraction, Field(lt=1)] = 0.0
    """Share of a cluster's capacity that is left free at the offered load."""
    spare_replicas: CountOrZero = 0
    """Replicas beyond those that hold the load: so many may fail."""
    budget: Budget | None = None
    confirm: Count = 6
    """Most candidates that are simulated, those of the Pareto set first; the others keep their estimate."""
    fleet: Fleet | None = None
    """Contracts and hours for what the cluster costs a month; without it every hour is paid at the offer's price."""

    @model_validator(mode="after")
    def _not_the_answer(self) -> Self:
        if "replicas" in self.vary:
            raise ValueError("vary.replicas: how many replicas is what a plan finds; cap them with budget.gpus")
        return self
