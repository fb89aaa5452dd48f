"""What was predicted of one replica under a benchmark that somebody will run: written beside its script, read again."""

from typing import Literal

from pydantic import Field

from simulator.spec.base import Count, Name, NotNegative, Positive, Spec, Text

Latency = dict[str, NotNegative | None]
"""mean, p50, p90, p95, p99 → seconds; None where no request has such a latency."""


class BenchLoad(Spec):
    """What the benchmark sends."""

    requests: Count
    prompt_tokens: Count
    """Of all requests together."""
    output_tokens: Count
    """Of all requests together."""
    clients: Count | None = None
    """Requests in flight of a closed loop; None: requests come at their own times, or all at once."""


class BenchFigures(Spec):
    """What it is predicted to measure, as the client counts it."""

    ttft_s: Latency
    tpot_s: Latency
    e2e_s: Latency
    req_per_s: Positive
    """Requests ÷ time from the first request to the last answer."""
    output_tokens_per_s: Positive
    tokens_per_step: Positive | None = None
    """Mean committed tokens per sequence and step, bonus token included; None without drafts."""


class StepFactors(Spec):
    """How far predictions of this kind have been off: factors within which 95 % of measurements lie."""

    tpot: Positive
    ttft: Positive
    basis: Text


class Prediction(Spec):
    """The file `predicted.json`."""

    kind: Literal["specfleet-prediction"]
    schema_version: Literal[1]
    scenario: Name
    deployment: Name
    engine: Name
    gpu: Name
    gpus: Count
    """Of the replica."""
    profile: Text
    """What its step times rest on."""
    version: Text
    """Of specfleet."""
    acceptance: tuple[float, ...] = Field(default=())
    """Survival by position to which synthetic acceptance is set [0 to 1]."""
    load: BenchLoad
    figures: BenchFigures
    factors: StepFactors | None = None
    """None: not known."""
