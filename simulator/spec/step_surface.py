"""Measured steps of one model in one engine on one device: a small table for each cause, added up to any step.

Where a part of the step takes a jump (another kernel from a certain number of rows on), its table keeps it. Latencies
are in µs, as measured; between the knots everything is linear, beyond them it goes on as in the last segment.
"""

import itertools
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from simulator.spec.base import Count, Flag, Fraction, Name, NotNegative, Spec, Text
from simulator.spec.draft import KvDtype, WeightDtype

Knots = Annotated[tuple[Count, ...], Field(min_length=2)]
Micros = tuple[NotNegative, ...]
Grid = tuple[Micros, ...]
"""[sequences][queries or draft tokens]"""
Cause = Literal["linear", "attention", "prefill_attention", "sampling", "overhead", "draft", "step"]


def _rising(values: tuple[int, ...]) -> bool:
    return all(a < b for a, b in itertools.pairwise(values))


def _never_falling(values: tuple[float, ...]) -> bool:
    return all(a <= b for a, b in itertools.pairwise(values))


class CauseError(Spec):
    """How far the tables lay from measured steps."""

    count: Count
    mean_ape: NotNegative
    """Mean of |predicted − measured| ÷ measured."""
    median_ape: NotNegative
    worst_ape: NotNegative
    bias: Annotated[float, Field(strict=True, ge=-1e6, le=1e6, allow_inf_nan=False)] = 0.0
    """Mean of predicted ÷ measured − 1."""


class RowsTable(Spec):
    """Latency by rows (tokens)."""

    rows: Knots
    us: Micros
    falls: Flag = False
    """Whether the device really takes less time for more rows somewhere (measured, and beyond its noise)."""

    @model_validator(mode="after")
    def _shape(self) -> Self:
        if len(self.rows) != len(self.us) or not _rising(self.rows):
            raise ValueError("rows table: one latency for each number of rows, which must rise")
        if not self.falls and not _never_falling(self.us):
            raise ValueError("rows table: the latency falls with rows; say `falls: true` where that was measured")
        return self


class ContextGrid(Spec):
    """Latency by sequences and tokens of each: floor + per_token × context, the context summed over the sequences."""

    sequences: Knots
    tokens: Knots
    """Queries of a sequence (draft tokens + 1), or draft tokens, as the field says that holds the grid."""
    floor_us: Grid
    """Never falling in sequences and in tokens."""
    per_token_us: Grid
    """Of one more position of context; never falling in tokens."""
    max_context: Count
    """Longest context of one sequence that was measured [tokens]."""

    @model_validator(mode="after")
    def _shape(self) -> Self:
        for grid in (self.floor_us, self.per_token_us):
            if {(len(grid), len(row)) for row in grid} != {(len(self.sequences), len(self.tokens))}:
                raise ValueError("context grid: one row for each number of sequences, one latency for each of tokens")
            if not all(_never_falling(row) for row in grid):
                raise ValueError("context grid: the latency falls with the tokens of a sequence")
        if not (_rising(self.sequences) and _rising(self.tokens)):
            raise ValueError("context grid: knots must rise")
        if not all(_never_falling(column) for column in zip(*self.floor_us, strict=True)):
            raise ValueError("context grid: the floor falls with sequences")
        return self


class PromptTable(Spec):
    """Latency of the prompts of a step: base(tokens) + per_pair × pairs of a token and a position it attends to."""

    base: RowsTable
    per_million_pairs_us: NotNegative
    max_prompt: Count
    """Longest prompt measured [tokens]."""


class HostTime(Spec):
    """Host time of a step, of which nothing is hidden behind the passes."""

    step_us: NotNegative
    """Of each step, the gap to the next one included."""
    sequence_us: NotNegative
    """Of each decoding sequence."""
    row_us: NotNegative
    """Of each row, verified or of a prompt."""


class DraftSurface(Spec):
    """All passes of a draft in a step of this target, as they were measured together."""

    draft: Name
    """A model of the catalog, or a method without one: `lookup`."""
    passes: ContextGrid
    """By sequences and draft tokens K."""
    prompts: PromptTable | None = None
    """The draft's prefill; None: prompts cost it nothing."""


class StepSurface(Spec):
    """One target in one engine on one device."""

    model: Name
    """A model of the catalog."""
    weights: WeightDtype
    kv: KvDtype
    layers: RowsTable
    """The pass without attention and head, by all rows: verified tokens and those of prompts."""
    head: RowsTable
    """The output head by rows whose logits are wanted: verified tokens, and the last of each complete prompt."""
    decode: ContextGrid
    """Attention of verifying sequences, by sequences and queries (K + 1)."""
    prompts: PromptTable
    """Attention of prompt tokens."""
    sampling: RowsTable
    """Choosing and verifying tokens, by rows of logits."""
    host: HostTime
    drafts: tuple[DraftSurface, ...] = ()
    samples: Count
    """Step shapes that the tables were fitted on."""
    fit_error: dict[Cause, CauseError] = Field(default_factory=dict)
    """On the shapes of the fit, as fractions of the whole step."""
    held_out: dict[Cause, CauseError] = Field(default_factory=dict)
    """On shapes that were measured and kept from the fit."""


class Device(Spec):
    """The device and the process that were measured; a profile holds for no other."""

    name: Text
    """As the processor or the driver calls it."""
    kind: Literal["cpu", "cuda"]
    cores: Count
    """Processors that the machine shows."""
    threads: Count
    """Threads that the engine computes with."""
    backend: Text
    """How the engine multiplies matrices."""
    torch: Text
    noisy: Flag = False
    """Whether the machine was too busy or too uneven for its figures to be repeated."""
    noise: Fraction = 0.0
    """Median difference between two measurements of the same step, as a fraction [0 to 1]."""
    drift: NotNegative = 0.0
    """Largest difference of a reference step between blocks of the run, as a fraction."""
    load_average: tuple[NotNegative, NotNegative] = (0.0, 0.0)
    """Of the last minute, before and after."""
    notes: tuple[Text, ...] = ()
    """Why it counts as noisy."""
