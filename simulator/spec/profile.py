"""A measured profile: how long the kernels of one engine take on one GPU, and how well its fit has been checked.

Tables are small and monotone; between their knots everything is linear. Latencies are in µs, as measured.
"""

import itertools
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from simulator.spec.base import Count, CountOrZero, Fraction, Name, NotNegative, Positive, Spec, Text
from simulator.spec.sources import Sources
from simulator.spec.step_surface import Device, StepSurface

LinearDtype = Literal["bf16", "fp8", "fp8_block", "nvfp4"]
ExpertsDtype = Literal["bf16", "fp8", "fp8_block", "nvfp4", "mxfp4", "int4"]
Part = Literal["linear", "decode_attention", "prefill_attention", "experts", "all_reduce", "steps"]
Knots = tuple[Count, ...]
Latencies = tuple[Positive, ...]
Finite = Annotated[float, Field(strict=True, ge=-1e6, le=1e6, allow_inf_nan=False)]


def rising(values: tuple[float, ...]) -> bool:
    """Whether each value is above the one before."""
    return all(a < b for a, b in itertools.pairwise(values))


def never_falling(values: tuple[float, ...]) -> bool:
    """Whether no value is below the one before."""
    return all(a <= b for a, b in itertools.pairwise(values))


class LinearTable(Spec):
    """Latency of a matrix product by its outputs n, inputs k and rows m, on one GPU."""

    dtype: LinearDtype
    outputs: Knots
    """Output features n."""
    inputs: Knots
    """Input features k."""
    rows: Knots
    """Tokens m."""
    us: tuple[tuple[Latencies, ...], ...]
    """[n][k][m] latency [µs]; never falling in m, n, k."""
    launch_gap_us: NotNegative = 0.0
    """Part of every latency that is a gap between launches, absent where the step runs as a CUDA graph [µs]."""
    sustained_tflops: Positive
    """Rate of products that run for 5 ms and more: under its power limit a GPU does not keep the rate of short ones."""
    source: str | None = None
    """Where it is not the profile's."""

    @model_validator(mode="after")
    def _shape(self) -> Self:
        shape = {(len(self.us), len(row), len(cell)) for row in self.us for cell in row}
        if shape != {(len(self.outputs), len(self.inputs), len(self.rows))}:
            raise ValueError(f"linear table {self.dtype}: {shape} latencies do not match its knots")
        if not all(rising(knots) for knots in (self.outputs, self.inputs, self.rows)):
            raise ValueError(f"linear table {self.dtype}: knots must rise")
        if not all(never_falling(cell) for row in self.us for cell in row):
            raise ValueError(f"linear table {self.dtype}: latency falls with rows")
        return self


class Heads(Spec):
    """The attention heads of one GPU that a table was measured with."""

    kind: Literal["gqa", "mla"]
    kv: Literal["bf16", "fp8"]
    heads: Count
    """Query heads on the GPU."""
    kv_heads: Count
    """KV heads on the GPU; 1 for a latent cache."""
    head_dim: Count
    window: CountOrZero = 0
    """Tokens of a sliding window; 0: full attention."""


class DecodeTable(Heads):
    """Decode attention of one layer: seconds = floor(n) + per_token(n) × mean context, at n sequences."""

    batch: Knots
    floor_us: Latencies
    """By batch [µs], never falling."""
    per_token_us: tuple[NotNegative, ...]
    """Of one more token of context in every sequence, by batch [µs], never falling."""
    max_context: Count
    """Longest context measured [tokens]."""

    @model_validator(mode="after")
    def _monotone(self) -> Self:
        if not len(self.batch) == len(self.floor_us) == len(self.per_token_us):
            raise ValueError("decode table: one floor and one slope for each batch")
        if not (rising(self.batch) and never_falling(self.floor_us) and never_falling(self.per_token_us)):
            raise ValueError("decode table: neither batch, floor nor slope may fall")
        return self


class PrefillTable(Heads):
    """Prompt attention of one layer: base(tokens) + per_pair × pairs of a prompt token and a position it attends to."""

    tokens: Knots
    base_us: tuple[NotNegative, ...]
    """By prompt tokens of the step [µs], never falling."""
    per_million_pairs_us: NotNegative
    max_prompt: Count
    """Longest prompt measured [tokens]."""

    @model_validator(mode="after")
    def _monotone(self) -> Self:
        if len(self.tokens) != len(self.base_us):
            raise ValueError("prefill table: one latency for each number of tokens")
        if not (rising(self.tokens) and never_falling(self.base_us)):
            raise ValueError("prefill table: neither tokens nor latency may fall")
        return self


class ExpertsTable(Spec):
    """Routed experts of one layer on one GPU, router included where the engine fuses it; shared experts are not."""

    dtype: ExpertsDtype
    hidden: Count
    intermediate: Count
    """Of one expert, whole."""
    experts: Count
    top_k: Count
    tensor_parallel: Count
    """GPUs that split each expert."""
    expert_parallel: Count
    """Groups over which whole experts are spread."""
    tokens: Knots
    us: Latencies
    """Latency by tokens of the whole group [µs], never falling."""
    source: str | None = None
    """Where it is not the profile's."""

    @model_validator(mode="after")
    def _monotone(self) -> Self:
        if len(self.tokens) != len(self.us) or not (rising(self.tokens) and never_falling(self.us)):
            raise ValueError("experts table: a latency for each number of tokens, neither falling")
        return self


class AllReduceTable(Spec):
    """All-reduce within one node by message size."""

    gpus: Annotated[int, Field(strict=True, ge=2)]
    mode: Literal["graph", "eager"]
    bytes: Knots
    us: Latencies

    @model_validator(mode="after")
    def _monotone(self) -> Self:
        if len(self.bytes) != len(self.us) or not (rising(self.bytes) and never_falling(self.us)):
            raise ValueError("all-reduce table: a latency for each size, neither falling")
        return self


class Error(Spec):
    """How far predictions lay from measurements, as fractions."""

    count: Count
    median_ape: NotNegative
    mean_ape: NotNegative
    bias: Finite = 0.0
    """Mean of predicted ÷ measured − 1."""


class HeldOut(Spec):
    """Error on rows of a group that no constant was fitted on."""

    group: Text
    """Model, precision, GPU, engine."""
    tpot: Error | None = None
    ttft: Error | None = None
    step: Error | None = None
    """Of the duration of single steps, measured by the calibration itself."""
    source: str | None = None


class EngineConstants(Spec):
    """What no kernel table holds; each has a physical meaning, and was fitted on published serving rows."""

    unfused_fraction: Fraction = 1.0
    """Share of the element-wise traffic between the products of a layer that kernel fusion leaves."""
    layer_us: NotNegative = 0.0
    """Small kernels of a layer that no table holds (norms, rotary embedding, activation) at few rows [µs]."""
    step_ms: NotNegative = 0.0
    """Host time of a step that kernels do not hide: scheduling, input preparation, sampling launches [ms]."""
    sequence_host_us: NotNegative = 0.0
    """Host time that each decoding sequence adds to a step: bookkeeping of its token and its delivery [µs]."""
    request_host_ms: NotNegative = 0.0
    """Time from a client's sending a request to the scheduler's seeing it: HTTP, tokenising, queues [ms]."""
    overlap_steps: CountOrZero = 0
    """Steps by which a token reaches the client after the step that computed it (asynchronous scheduling)."""
    source: str = ""
    """Key of the source; empty: nothing was fitted, and the engine policy's step time holds."""


class Profile(Spec):
    """One engine on one GPU."""

    schema_version: Literal[1] = 1
    name: Name
    gpu: Name
    engine: Name
    """Engine policy."""
    date: Text
    """Day on which the measurements were read (ISO)."""
    versions: dict[str, Text]
    """Part → engine or library version that was measured."""
    samples: dict[Part, Count]
    """Measurements that each part was fitted on."""
    fit_error: dict[Part, Error]
    """Of the tables against every measurement within their range."""
    held_out: tuple[HeldOut, ...] = ()
    left_out: tuple[HeldOut, ...] = ()
    """By GPU and model, errors of this engine with constants that were fitted without any of their rows."""
    linear: tuple[LinearTable, ...] = ()
    decode_attention: tuple[DecodeTable, ...] = ()
    prefill_attention: tuple[PrefillTable, ...] = ()
    experts: tuple[ExpertsTable, ...] = ()
    all_reduce: tuple[AllReduceTable, ...] = ()
    constants: EngineConstants = EngineConstants()
    steps: tuple[StepSurface, ...] = ()
    """Whole steps of single models; a model that has one is priced by it and by no other table."""
    device: Device | None = None
    """What `specfleet calibrate` ran on."""
    source: str
    """Key of the source of all that names no other."""
    sources: Sources
