"""One pass of a model as tensors: the rows that each sequence brings, and the KV positions that those rows may see."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import NamedTuple

import torch
from torch import Tensor

from engine.kv_cache import BlockTable
from engine.trees import Parents, depths, seen_by

FOLDED_ROWS = 32
"""Spans up to this many rows attend with the query heads of a group folded into rows; longer ones with heads apart."""


class Branches(NamedTuple):
    """Where rows stand that are nodes of a tree: they lie in consecutive slots, but at positions by their depth."""

    positions: Sequence[int]
    """Of each row."""
    seen: Tensor
    """[rows, last slots] which of the last slots each row looks at, its own and those before it; what lies before
    these slots is seen by all."""


def branches_of(parents: Parents, root: int) -> Branches:
    """Where the rows of a tree stand, its root first.

    root: position of the root.
    """
    return Branches([root, *(root + depth for depth in depths(parents))], seen_by(parents))


class Span(NamedTuple):
    """Consecutive positions of one sequence to compute; or nodes of a tree behind it."""

    tokens: Sequence[int]
    start: int
    """Slot of the first token within the sequence: KV positions that are there already."""
    table: BlockTable
    num_outputs: int
    """How many of the last rows are asked for."""
    branches: Branches | None = None
    """None: each row stands behind the one before."""


class Read(NamedTuple):
    """What the rows of one span attend to."""

    first_row: int
    num_rows: int
    slots: slice | Tensor
    """Where its keys and values lie: a slice of the store, or [positions] slot numbers."""
    mask: Tensor | None
    """[rows or group × rows, positions] zero where a row may look and minus infinity where not; None: everywhere."""
    seen: Tensor | None = None
    """Of a tree: Branches.seen."""


@dataclass(slots=True)
class Batch:
    """Ragged rows of several sequences; verifying sequences first, prompts behind them."""

    token_ids: Tensor
    """[rows]"""
    positions: Tensor
    """[rows]"""
    slots: Tensor
    """[rows] where each row's key and value go."""
    output_rows: Tensor | None
    """[outputs] rows that are asked for; None: all."""
    reads: list[Read]
    num_decoding: int
    """Spans at the front that are verifying sequences, not prompts."""
    clock: Callable[[], float] = perf_counter
    """What attention is timed with."""
    attention_s: list[float] = field(default_factory=lambda: [0.0, 0.0])
    """Seconds of attention so far: of verifying sequences, and of prompts. Only a CPU can tell them apart."""


def make_batch(
    spans: Sequence[Span],
    *,
    block_tokens: int,
    group: int,
    dtype: torch.dtype,
    device: torch.device,
    num_decoding: int | None = None,
) -> Batch:
    """Lay spans end to end.

    group: query heads per KV head.
    num_decoding: how many spans at the front are verifying sequences; None: all.
    """
    tokens: list[int] = []
    positions: list[int] = []
    slots: list[int] = []
    outputs: list[int] = []
    reads: list[Read] = []
    for span in spans:
        first, count = len(tokens), len(span.tokens)
        tokens.extend(span.tokens)
        in_order = range(span.start, span.start + count)
        positions.extend(in_order if span.branches is None else span.branches.positions)
        slots.extend(slots_at(span.table, in_order, block_tokens))
        outputs.extend(range(first + count - span.num_outputs, first + count))
        reads.append(_read(span, first, block_tokens, group, dtype, device))
    rows = torch.tensor((tokens, positions, slots), device=device)
    wanted = None if len(outputs) == len(tokens) else torch.tensor(outputs, dtype=torch.int64, device=device)
    return Batch(rows[0], rows[1], rows[2], wanted, reads, len(spans) if num_decoding is None else num_decoding)


def slots_at(table: BlockTable, places: range, block_tokens: int) -> Sequence[int]:
    """Slot numbers of consecutive places of a sequence."""
    if table.contiguous:
        base = table.blocks[0] * block_tokens
        return range(base + places.start, base + places.stop)
    blocks = table.blocks
    return [blocks[p // block_tokens] * block_tokens + p % block_tokens for p in places]


def slots_of(table: BlockTable, length: int, block_tokens: int) -> Tensor:
    """Slot numbers of the first positions of a sequence: [length]."""
    blocks = torch.tensor(table.blocks[: -(-length // block_tokens)]) * block_tokens
    return (blocks[:, None] + torch.arange(block_tokens)).flatten()[:length]


def _read(span: Span, first_row: int, block_tokens: int, group: int, dtype: torch.dtype, device: torch.device) -> Read:
    rows = len(span.tokens)
    length = span.start + rows
    slots: slice | Tensor
    if span.table.contiguous:
        base = span.table.blocks[0] * block_tokens
        slots = slice(base, base + length)
    else:
        slots = slots_of(span.table, length, block_tokens).to(device)
    if rows == 1 and span.branches is None:
        return Read(first_row, rows, slots, None)
    if span.branches is None:
        seen = torch.ones(rows, rows, dtype=torch.bool, device=device).tril_()
    else:
        seen = span.branches.seen.to(device)
    mask = torch.zeros(rows, length, dtype=dtype, device=device)
    mask[:, length - seen.shape[1] :].masked_fill_(~seen, -torch.inf)
    mask = mask.repeat(group, 1) if rows <= FOLDED_ROWS else mask
    return Read(first_row, rows, slots, mask, None if span.branches is None else seen)
