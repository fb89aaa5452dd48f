"""A head as a function that gradients flow through: all positions of a text, and every pass of a chain behind each.

Pass 1 takes the target's states, pass s the states of pass s − 1, as the head itself does when it drafts: each row
looks at the rows that are computed from the target's states, and at those of its own chain.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from engine.heads import HeadWeights
from engine.rope import rotate, rotation_tables


def unrolled(head: HeadWeights, hidden: Tensor, embedded: Tensor, passes: int) -> list[Tensor]:
    """States that each pass puts out: passes of [texts, rows, hidden].

    hidden: [texts, rows, hidden] the target's state of each position.
    embedded: [texts, rows, hidden] embedding of the token behind each position.
    """
    states, outputs = hidden, list[Tensor]()
    keys, values = list[Tensor](), list[Tensor]()
    turn = rotation_tables(head.architecture, hidden.shape[1], hidden.dtype)
    for _ in range(passes):
        rows = torch.cat((_norm(head, states, head.hidden_norm), _norm(head, embedded, head.embedding_norm)), -1)
        rows = rows @ head.fuse.T
        query, key, value = _heads(head, _norm(head, rows, head.layer.attention_norm), turn)
        keys.append(key)
        values.append(value)
        rows = rows + _attention(query, keys, values).flatten(-2) @ head.layer.out.T
        gate, up = (_norm(head, rows, head.layer.mlp_norm) @ head.layer.gate_up.T).chunk(2, -1)
        rows = rows + (functional.silu(gate) * up) @ head.layer.down.T
        outputs.append(rows)
        states = _later(rows, 1)
    return outputs


def logits(head: HeadWeights, states: Tensor, output: Tensor) -> Tensor:
    """[…, hidden] -> […, vocabulary of the output]"""
    return _norm(head, states, head.final_norm) @ output.T


def _norm(head: HeadWeights, states: Tensor, weight: Tensor) -> Tensor:
    return functional.rms_norm(states, (states.shape[-1],), weight, head.architecture.norm_eps)


def _heads(head: HeadWeights, rows: Tensor, turn: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values, keys and values once for each query head: three of [texts, rows, heads, head dim]."""
    a, layer = head.architecture, head.layer
    qkv = rows @ layer.qkv.T + (0.0 if layer.qkv_bias is None else layer.qkv_bias)
    shape = (*rows.shape[:2], -1, a.head_dim)
    query, key, value = torch.split(qkv.view(shape), [a.num_heads, a.num_kv_heads, a.num_kv_heads], 2)
    if layer.query_norm is not None and layer.key_norm is not None:
        query, key = _norm(head, query, layer.query_norm), _norm(head, key, layer.key_norm)
    group = a.num_heads // a.num_kv_heads
    return rotate(query, *turn), rotate(key, *turn).repeat_interleave(group, 2), value.repeat_interleave(group, 2)


def _attention(query: Tensor, keys: Sequence[Tensor], values: Sequence[Tensor]) -> Tensor:
    """Of the last pass: over pass 1 up to the start of a row's chain, and over the rows of its chain.

    Row i of pass s + 1 began at row i − s; its chain is row i − s + m of pass m + 1, for m from 1 to s.
    """
    last, rows = len(keys) - 1, query.shape[1]
    scale = query.shape[-1] ** -0.5
    begun = torch.einsum("bihd,bjhd->bhij", query, keys[0]) * scale
    hidden = torch.ones(rows, rows, dtype=torch.bool).triu(1 - last)
    scores = [begun.masked_fill(hidden, -torch.inf)]
    chain = range(1, last + 1)
    scores += [((query * _later(keys[m], last - m)).sum(-1) * scale).transpose(1, 2).unsqueeze(-1) for m in chain]
    weights = torch.cat(scores, -1).softmax(-1)
    result = torch.einsum("bhij,bjhd->bihd", weights[..., :rows], values[0])
    for m in chain:
        result = result + weights[..., rows + m - 1].transpose(1, 2).unsqueeze(-1) * _later(values[m], last - m)
    return result


def _later(rows: Tensor, by: int) -> Tensor:
    """Row i holds what row i − by held: [texts, rows, …]."""
    return torch.cat((torch.zeros_like(rows[:, :by]), rows[:, : rows.shape[1] - by]), 1) if by else rows
