"""What arrives: when requests come, how long they are, and what kinds of task they hold."""

from itertools import pairwise
from math import ceil
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from simulator.spec.arrivals import Arrivals, DiurnalArrivals
from simulator.spec.base import Count, CountOrZero, Fraction, Name, NotNegative, Positive, Spec

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


class QuantileLengths(Spec):
    """A joint table of prompt and output lengths that stands in the file; `specfleet import trace --fit` writes one."""

    kind: Literal["quantiles"]
    prompt_tokens: Annotated[tuple[Positive, ...], Field(strict=False, min_length=2, max_length=2000)]
    """Prompt tokens at evenly spaced quantiles, from the lowest to the highest."""
    output_tokens: Annotated[
        tuple[Annotated[tuple[Positive, ...], Field(strict=False, min_length=2, max_length=2000)], ...],
        Field(strict=False, min_length=1, max_length=200),
    ]
    """One row per equally likely group of prompts, shortest first: output tokens at evenly spaced quantiles."""

    @model_validator(mode="after")
    def _rising(self) -> Self:
        for row in (self.prompt_tokens, *self.output_tokens):
            if any(low > high for low, high in pairwise(row)):
                raise ValueError("quantiles go from the lowest to the highest; sort them")
        if len({len(row) for row in self.output_tokens}) > 1:
            raise ValueError("all rows of output_tokens need the same number of quantiles")
        return self


class TraceLengths(Spec):
    """Each request's own lengths, from the trace that gives the arrivals."""

    kind: Literal["trace"]


Lengths = Annotated[
    FixedLengths | UniformLengths | LogNormalLengths | EmpiricalLengths | QuantileLengths | TraceLengths,
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


def _covers_a_period(arrivals: DiurnalArrivals, horizon: Horizon) -> None:
    """A run that ends before the peak would call a cluster large enough that is not."""
    needed = ceil(arrivals.rate_per_s * arrivals.period_s)
    if horizon.requests < needed * (1 - 1e-9):
        raise ValueError(
            f"the horizon of {horizon.requests} requests covers {horizon.requests / arrivals.rate_per_s:.4g} s of the "
            f"period of {arrivals.period_s:g} s, and may miss the peak: ask for at least {needed} requests, or "
            "squeeze the pattern into a shorter period_s"
        )


class Prefix(Spec):
    """What prompts have in common, for the engine's prefix cache."""

    shared_tokens: CountOrZero = 0
    """System prompt at the start of every prompt, on top of the drawn length [tokens]."""
    turns: Annotated[Count, Field(le=1000)] = 1
    """Requests of a session; each turn's prompt holds all that was said before, and the drawn length is what is new."""
    think_time_s: NotNegative = 0.0
    """Mean time between the end of an answer and the session's next turn (exponential) [s]."""

    @model_validator(mode="after")
    def _turns_think(self) -> Self:
        if self.think_time_s and self.turns == 1:
            raise ValueError("think_time_s has no effect with turns: 1; give turns of 2 or more, or leave it out")
        return self


class Workload(Spec):
    """The traffic that every deployment is offered."""

    arrivals: Arrivals
    lengths: Lengths
    classes: dict[Name, Fraction] = Field(default_factory=lambda: {"all": 1.0})
    """Share of each task class; acceptance is looked up by class. The shares sum to 1."""
    temperature: Annotated[float, Field(strict=True, ge=0, le=2)] | None = None
    """Sampling temperature of all requests; drafts that were measured at several have their acceptance at it."""
    prefix: Prefix = Prefix()
    max_output_tokens: Count | None = None
    """Longest output that requests ask for: outputs are cut there, and an engine that reserves KV reserves for it."""
    priorities: dict[Name, Annotated[int, Field(strict=True, ge=0, le=1000)]] = Field(default_factory=dict)
    """Class → priority, 0 if it is not named; lower is served first by the scheduler `priority`."""
    horizon: Horizon

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        total = sum(self.classes.values())
        if abs(total - 1.0) > 1e-6:
            raise ValueError(f"the shares of the classes sum to {total:g}, not to 1")
        if self.lengths.kind == "trace" and self.arrivals.kind != "trace":
            raise ValueError("lengths of kind trace need arrivals of kind trace")
        if self.arrivals.kind == "trace" and self.prefix != Prefix():
            raise ValueError("a trace brings its own prefixes: leave prefix out")
        unknown = [name for name in self.priorities if name not in self.classes]
        if unknown:
            raise ValueError(f"priorities of class {', '.join(unknown)}, which is not among classes")
        if self.arrivals.kind == "diurnal":
            _covers_a_period(self.arrivals, self.horizon)
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
