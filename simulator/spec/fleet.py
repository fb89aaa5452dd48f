"""What a fleet costs over a day and a month: the shape of the load, contracts for GPUs, and a batch job."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from simulator.spec.base import Count, Fraction, Name, NotNegative, Positive, Spec
from simulator.spec.price import AnyPrice

PriceByGpu = dict[Name, AnyPrice]
"""GPU → what an hour of it costs."""


class Job(Spec):
    """Requests that may wait, as long as all are done in time; no latency is promised."""

    requests: Count
    """Requests of the job, of the workload's lengths."""
    within_hours: Positive
    """Time in which all must be done [hours]."""


class Fleet(Spec):
    """Contracts to choose from, and the hours over which the load rises and falls."""

    hours: Annotated[tuple[NotNegative, ...], Field(strict=False, min_length=2, max_length=168)] | None = None
    """Load of equal parts of a day or week, such as its 24 hours; only ratios count, and the plan's cluster is what the
    highest needs. Without it: those of diurnal arrivals, else every hour is alike."""
    on_demand: PriceByGpu = Field(default={})
    """Prices by the hour, paid only while a replica runs. Without it: a deployment's own price."""
    reserved: PriceByGpu = Field(default={})
    """Prices that are paid in every hour of the month."""
    spot: PriceByGpu = Field(default={})
    """Prices of GPUs that may be taken away."""
    spot_interrupted: Fraction = 0.05
    """Share of the hours on spot in which the GPUs are taken away, and bought on demand instead: an assumption."""
    job: Job | None = None

    @model_validator(mode="after")
    def _some_load(self) -> Self:
        if self.hours is not None and sum(self.hours) <= 0:
            raise ValueError("hours: all are 0, so nothing ever arrives")
        return self
