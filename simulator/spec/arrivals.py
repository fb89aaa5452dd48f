"""When requests come: at random, in bursts, by the hour, from clients that wait, all at once, or from a trace."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from simulator.spec.base import Count, NotNegative, Positive, Spec, Text

GapCv = Annotated[float, Field(strict=True, gt=0, le=50, allow_inf_nan=False)]
"""A coefficient of variation of gaps."""

Rate = Annotated[float, Field(strict=True, gt=0, le=1e6, allow_inf_nan=False)]
"""Requests per second, at most a million."""

Step = Annotated[tuple[Positive, NotNegative], Field(strict=False)]
"""Length and weight of a part of a pattern."""


class PoissonArrivals(Spec):
    """Independent arrivals at a constant mean rate."""

    kind: Literal["poisson"]
    rate_per_s: Rate
    """Mean requests per second over the whole cluster."""


class ConstantArrivals(Spec):
    """One request every 1 / rate seconds."""

    kind: Literal["constant"]
    rate_per_s: Rate
    """Requests per second over the whole cluster."""


class GammaArrivals(Spec):
    """Independent gaps between arrivals that follow a gamma law: more, or less, even than Poisson."""

    kind: Literal["gamma"]
    rate_per_s: Rate
    """Mean requests per second over the whole cluster."""
    cv: GapCv
    """Standard deviation of the gaps ÷ their mean: 1 is Poisson, above it requests come in clumps. At most 50."""


class BurstyArrivals(Spec):
    """Bursts of random length, and lulls between them; within each, arrivals are Poisson."""

    kind: Literal["bursty"]
    rate_per_s: Rate
    """Mean requests per second over the whole cluster, bursts and lulls together."""
    burst_factor: Annotated[float, Field(strict=True, gt=1, le=1e4, allow_inf_nan=False)]
    """Rate during a burst ÷ mean rate; at its highest, (on_s + off_s) / on_s, nothing comes between the bursts."""
    on_s: Positive
    """Mean length of a burst [s]; lengths are exponential."""
    off_s: Positive
    """Mean length of a lull [s]; lengths are exponential."""

    @property
    def lull_factor(self) -> float:
        """Rate between bursts ÷ mean rate."""
        return max((self.on_s + self.off_s - self.burst_factor * self.on_s) / self.off_s, 0.0)

    @model_validator(mode="after")
    def _possible(self) -> Self:
        most = (self.on_s + self.off_s) / self.on_s
        if self.burst_factor > most * (1 + 1e-9):
            raise ValueError(
                f"burst_factor {self.burst_factor:g}: bursts that take {1 / most:.3g} of the time bring at most "
                f"{most:.4g} times the mean rate; lower burst_factor or on_s, or raise off_s"
            )
        return self


class DiurnalArrivals(Spec):
    """Arrivals whose rate follows the hours of a day, or any other pattern that repeats."""

    kind: Literal["diurnal"]
    rate_per_s: Rate
    """Mean requests per second over a whole period."""
    period_s: Positive
    """Length of the pattern [s]: 86400 for a day; a shorter one squeezes the day."""
    peak_to_mean: Annotated[float, Field(strict=True, gt=1, le=2, allow_inf_nan=False)] | None = None
    """A sine wave from its trough: rate at the peak ÷ mean rate, at most 2. This, profile or steps."""
    profile: Annotated[tuple[NotNegative, ...], Field(strict=False, min_length=2, max_length=10_000)] | None = None
    """Weights of equal parts of the period, such as 24 for the hours of a day; only their ratios count."""
    steps: Annotated[tuple[Step, ...], Field(strict=False, min_length=2, max_length=10_000)] | None = None
    """[length, weight] of parts that follow one another and fill the period; only ratios count. `specfleet import trace
    --fit` writes them."""
    cv: GapCv = 1.0
    """Standard deviation of the gaps ÷ their mean at an even rate: 1 is Poisson, above it requests come in clumps."""

    @model_validator(mode="after")
    def _one_shape(self) -> Self:
        shapes = [shape for shape in (self.peak_to_mean, self.profile, self.steps) if shape is not None]
        if len(shapes) != 1:
            raise ValueError(
                "diurnal arrivals need one of peak_to_mean (a sine wave), profile (weights of equal parts) and "
                "steps ([length, weight] of each part)"
            )
        if self.peak_to_mean is None and sum(self.profile or (weight for _, weight in self.steps or ())) <= 0:
            raise ValueError("all weights of the pattern are 0, so nothing ever arrives")
        return self


class ClosedLoopArrivals(Spec):
    """A fixed number of clients; each sends its next request when its last one ends."""

    kind: Literal["closed_loop"]
    concurrency: Annotated[Count, Field(le=1_000_000)]
    """Requests in flight over the whole cluster."""


class QueuedAtOnceArrivals(Spec):
    """All requests are in the queue at time 0: an offline batch."""

    kind: Literal["queued_at_once"]


class TraceWindow(Spec):
    """A part of a trace, in its own time, counted from its first request."""

    start_s: NotNegative = 0.0
    """Requests before this are left out [s]."""
    end_s: Positive | None = None
    """Requests from this on are left out [s]."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.end_s is not None and self.end_s <= self.start_s:
            raise ValueError(f"end_s ({self.end_s:g}) must be above start_s ({self.start_s:g})")
        return self


class TraceArrivals(Spec):
    """Requests replayed from a trace file."""

    kind: Literal["trace"]
    file: Text
    """Path of the trace, relative to the scenario file. Azure and BurstGPT CSV, Mooncake JSONL and a JSONL of our own
    are told apart by their content (docs/workloads.md)."""
    time_scale: Positive = 1.0
    """All times are multiplied by this: 2 stretches the trace to twice its duration."""
    rate_scale: Annotated[float, Field(strict=True, gt=0, le=1000, allow_inf_nan=False)] = 1.0
    """Below 1 each request is kept with this chance; above 1 requests are repeated, spread up to the next arrival."""
    window: TraceWindow | None = None
    """Replay a part of the trace only."""
    limit: Count | None = None
    """Replay the first so many requests only, of the window where there is one."""


Arrivals = Annotated[
    PoissonArrivals
    | ConstantArrivals
    | GammaArrivals
    | BurstyArrivals
    | DiurnalArrivals
    | ClosedLoopArrivals
    | QueuedAtOnceArrivals
    | TraceArrivals,
    Field(discriminator="kind"),
]
