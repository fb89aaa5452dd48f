"""Attention of a batch of rows over the paged cache.

`sliced` goes through the sequences one by one and reads contiguous blocks in place: right for a CPU and for ragged
batches. `padded` gathers all sequences into one product of a fixed shape: right for a GPU and its graphs.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from engine.batch import FOLDED_ROWS, Batch, Read
from engine.kv_cache import Room
from engine.quantised import Plane

Attend = Callable[[Tensor, Plane, Plane], Tensor]
"""Queries [rows, heads, head dim], keys and values [slots, kv heads, head dim] -> [rows, heads × head dim]."""


def sliced(batch: Batch, room: Room) -> Attend:
    """Attention of each span on its own; the seconds are added up in the batch.

    room: where what lies scattered is gathered.
    """
    decoding, prompts = batch.reads[: batch.num_decoding], batch.reads[batch.num_decoding :]
    seconds, clock = batch.attention_s, batch.clock

    def attend(queries: Tensor, keys: Plane, values: Plane) -> Tensor:
        started = clock()
        outputs = [_attend_span(queries, keys, values, read, room) for read in decoding]
        between = clock()
        outputs += [_attend_span(queries, keys, values, read, room) for read in prompts]
        result = outputs[0] if len(outputs) == 1 else torch.cat(outputs)
        seconds[0] += between - started
        seconds[1] += clock() - between
        return result

    return attend


def _attend_span(queries: Tensor, keys: Plane, values: Plane, read: Read, room: Room) -> Tensor:
    """[rows of the span, heads × head dim]"""
    rows, heads, dim = read.num_rows, queries.shape[1], queries.shape[2]
    mine = queries[read.first_row : read.first_row + rows]
    if isinstance(read.slots, slice):
        seen_keys, seen_values = keys[read.slots], values[read.slots]
    else:
        seen_keys, seen_values = room.gathered(keys, values, read.slots)
    key, value = seen_keys.transpose(0, 1).unsqueeze(0), seen_values.transpose(0, 1).unsqueeze(0)
    kv_heads = key.shape[1]
    if rows > FOLDED_ROWS:
        query = mine.transpose(0, 1).unsqueeze(0)
        apart = scaled_dot_product_attention(query, key, value, attn_mask=read.mask, enable_gqa=kv_heads != heads)
        return apart[0].transpose(0, 1).reshape(rows, heads * dim)
    if rows == 1 and read.mask is None:
        query = mine.view(1, kv_heads, heads // kv_heads, dim)
        return scaled_dot_product_attention(query, key, value).reshape(1, heads * dim)
    query = fold(mine.unsqueeze(0), kv_heads)
    return unfold(scaled_dot_product_attention(query, key, value, attn_mask=read.mask), rows)[0]


def visible(starts: Tensor, seen: Tensor, longest: int) -> Tensor:
    """What each row may look at: [sequences, rows, longest].

    starts: [sequences] slot of the first row, within its sequence; all before it is seen.
    seen: [sequences, rows, rows] which of the rows each one looks at.
    """
    behind = torch.arange(longest, device=seen.device) - starts[:, None]
    among_rows = behind.clamp(0, seen.shape[2] - 1)[:, None, :].expand(-1, seen.shape[1], -1)
    looked_at = seen.gather(2, among_rows) & (behind < seen.shape[2])[:, None, :]
    return looked_at | (behind < 0)[:, None, :]


def padded(may_look: Tensor, read_slots: Tensor) -> Attend:
    """Attention of sequences with equally many rows.

    may_look: [sequences, rows, longest] what each row looks at.
    read_slots: [sequences, longest] where each sequence's keys lie.
    """
    num_sequences, rows, _ = may_look.shape
    flat_slots = read_slots.flatten()

    def attend(queries: Tensor, keys: Plane, values: Plane) -> Tensor:
        kv_heads, dim = keys.shape[1], keys.shape[2]
        group = queries.shape[1] // kv_heads
        shape = (num_sequences, -1, kv_heads, dim)
        key = keys.index_select(0, flat_slots).view(shape).transpose(1, 2)
        value = values.index_select(0, flat_slots).view(shape).transpose(1, 2)
        query = fold(queries.view(num_sequences, rows, -1, dim), kv_heads)
        mask = may_look.repeat(1, group, 1).unsqueeze(1)
        return unfold(scaled_dot_product_attention(query, key, value, attn_mask=mask), rows).flatten(0, 1)

    return attend


def fold(queries: Tensor, kv_heads: int) -> Tensor:
    """[sequences, rows, heads, head dim] -> [sequences, kv heads, group × rows, head dim]"""
    sequences, rows, heads, dim = queries.shape
    grouped = queries.view(sequences, rows, kv_heads, heads // kv_heads, dim)
    return grouped.permute(0, 2, 3, 1, 4).reshape(sequences, kv_heads, -1, dim)


def unfold(outputs: Tensor, rows: int) -> Tensor:
    """[sequences, kv heads, group × rows, head dim] -> [sequences, rows, heads × head dim]"""
    sequences, kv_heads, _, dim = outputs.shape
    grouped = outputs.view(sequences, kv_heads, -1, rows, dim)
    return grouped.permute(0, 3, 1, 2, 4).reshape(sequences, rows, -1)
