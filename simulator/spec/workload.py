"""What arrives: when requests come, how long they are, and what kinds of task they hold."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from simulator.spec.base import Count, CountOrZero, Fraction, Name, Positive, Spec, Text


class PoissonArrivals(Spec):
    """Independent arrivals at a constant mean rate."""

    kind: Literal["poisson"]
    rate_per_s: Positive
    """Mean requests per second over the whole cluster."""


class ConstantArrivals(Spec):
    """One request every 1 / rate seconds."""

    kind: Literal["constant"]
    rate_per_s: Positive
    """Requests per second over the whole cluster."""


class ClosedLoopArrivals(Spec):
    """A fixed number of clients; each sends its next request when its last one ends."""

    kind: Literal["closed_loop"]
    concurrency: Count
    """Requests in flight over the whole cluster."""


class QueuedAtOnceArrivals(Spec):
    """All requests are in the queue at time 0: an offline batch."""

    kind: Literal["queued_at_once"]


class TraceArrivals(Spec):
    """Requests replayed from a trace file."""

    kind: Literal["trace"]
    file: Text
    """Path of the trace, relative to the scenario file: an Azure LLM inference CSV."""
    time_scale: Positive = 1.0
    """All times are multiplied by this: 2 stretches the trace to twice its duration."""
    rate_scale: Positive = 1.0
    """Below 1 each request is kept with this chance; above 1 requests are repeated, spread up to the next arrival."""
    limit: Count | None = None
    """Replay the first so many requests only."""


Arrivals = Annotated[
    PoissonArrivals | ConstantArrivals | ClosedLoopArrivals | QueuedAtOnceArrivals | TraceArrivals,
    Field(discriminator="kind"),
]

TokenRange = Annotated[tuple[Count, Count], Field(strict=False)]
"""Lowest and highest number of tokens, both included."""


class FixedLengths(Spec):
    """All requests are alike."""

    kind: Literal["fixed"]
    prompt_tokens: Count
    output_tokens: Count


class UniformLengths(Spec):
    """Whole numbers drawn evenly from a range, prompt and output independent."""

    kind: Literal["uniform"]
    prompt_tokens: TokenRange
    """[lowest, highest]"""
    output_tokens: TokenRange
    """[lowest, highest]"""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        for low, high in (self.prompt_tokens, self.output_tokens):
            if low > high:
                raise ValueError(f"a range goes from low to high, not [{low}, {high}]")
        return self


class LogNormal(Spec):
    """A log-normal law given by its mean and its 95th percentile."""

    mean: Positive
    """Mean number of tokens."""
    p95: Positive
    """Number of tokens that 95 % of the requests stay below; above the mean, at most 3.8 times it."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if not 1.0 < self.p95 / self.mean <= 3.8:
            raise ValueError(
                f"no log-normal law has mean {self.mean:g} and p95 {self.p95:g}: p95 / mean lies between 1 and 3.8"
            )
        return self


class LogNormalLengths(Spec):
    """Log-normal prompt and output lengths, independent."""

    kind: Literal["lognormal"]
    prompt_tokens: LogNormal
    output_tokens: LogNormal


class EmpiricalLengths(Spec):
    """A joint table of prompt and output lengths from the catalog."""

    kind: Literal["empirical"]
    table: Name
    """Name of a table in the catalog's lengths folder."""


class TraceLengths(Spec):
    """Each request's own lengths, from the trace that gives the arrivals."""

    kind: Literal["trace"]


Lengths = Annotated[
    FixedLengths | UniformLengths | LogNormalLengths | EmpiricalLengths | TraceLengths,
    Field(discriminator="kind"),
]


class Horizon(Spec):
    """How much is simulated."""

    requests: Count
    """Requests offered in the measured run, those of the warm-up included."""
    warmup_requests: CountOrZero = 0
    """The first so many requests are simulated but left out of every figure."""

    @model_validator(mode="after")
    def _something_measured(self) -> Self:
        if self.warmup_requests >= self.requests:
            raise ValueError(
                f"warmup_requests ({self.warmup_requests}) must be below requests ({self.requests}), or nothing is "
                "measured"
            )
        return self


class Workload(Spec):
    """The traffic that every deployment is offered."""

    arrivals: Arrivals
    lengths: Lengths
    classes: dict[Name, Fraction] = Field(default_factory=lambda: {"all": 1.0})
    """Share of each task class; acceptance is looked up by class. The shares sum to 1."""
    horizon: Horizon

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        total = sum(self.classes.values())
        if abs(total - 1.0) > 1e-6:
            raise ValueError(f"the shares of the classes sum to {total:g}, not to 1")
        if self.lengths.kind == "trace" and self.arrivals.kind != "trace":
            raise ValueError("lengths of kind trace need arrivals of kind trace")
        return self


PERCENTILES = ("p50", "p90", "p95", "p99")
Percentile = Literal["p50", "p90", "p95", "p99"]


class Slo(Spec):
    """Latency limits, each for a percentile of the measured requests."""

    ttft_s: dict[Percentile, Positive] = Field(default_factory=dict)
    """Arrival to first output token [s]."""
    tpot_s: dict[Percentile, Positive] = Field(default_factory=dict)
    """Mean time per output token after the first, of a request [s]."""
    itl_s: dict[Percentile, Positive] = Field(default_factory=dict)
    """Gap between two emissions of a sequence [s]."""
    e2e_s: dict[Percentile, Positive] = Field(default_factory=dict)
    """Arrival to last token [s]."""
