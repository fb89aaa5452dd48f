"""Attention from a measured profile: the same heads where they were measured, else the nearest, scaled."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import NamedTuple, TypeVar

from simulator.physics.attention import attention_flops
from simulator.physics.kv import full_and_sliding_layers
from simulator.physics.linear import interpolate
from simulator.spec.draft import KvDtype
from simulator.spec.hardware import measured_kv
from simulator.spec.model import Model
from simulator.spec.profile import DecodeTable, Heads, PrefillTable, Profile

MLA_LATENT = 576
"""Elements of the latent vector of the MLA kernels that were measured."""
_T = TypeVar("_T", bound=Heads)


class Wanted(NamedTuple):
    """The heads of one kind of layer on one GPU."""

    kind: str
    kv: str
    heads: float
    kv_heads: float
    head_dim: int
    window: int


class LayerGroup(NamedTuple):
    """Layers of one kind: seconds of all of them."""

    batch: tuple[float, ...]
    floor_s: tuple[float, ...]
    per_token_s: tuple[float, ...]
    tokens: tuple[float, ...]
    base_s: tuple[float, ...]
    pair_s: float
    """Per pair of a prompt token and a position that it attends to."""


@dataclass(frozen=True, slots=True)
class ProfiledAttention:
    """Seconds of one model's attention on one GPU, from tables."""

    layers: int
    groups: tuple[LayerGroup, ...]
    query_position_s: float
    """Arithmetic of one query token and one context position, over all full layers."""
    derived: tuple[str, ...]
    """What was taken from other heads than the model's."""
    max_batch: int
    max_context: int

    def decode_s(self, sequences: int, queries: int) -> tuple[float, float]:
        """Seconds of `sequences` with `queries` tokens each: a constant, and per position of their context.

        A position takes as long as its KV takes to be read at this batch, or its arithmetic where that is longer.
        """
        if sequences <= 0:
            return 0.0, 0.0
        n = float(sequences)
        constant = sum(interpolate(max(n, g.batch[0]), g.batch, g.floor_s) for g in self.groups)
        read = sum(interpolate(max(n, g.batch[0]), g.batch, g.per_token_s) for g in self.groups) / n
        return constant, max(read, queries * self.query_position_s)

    def bound_by_flops(self, queries: int) -> bool:
        """Whether a position of context takes longer to multiply than to read, at the largest batch measured."""
        read = sum(g.per_token_s[-1] / g.batch[-1] for g in self.groups)
        return queries * self.query_position_s > read

    def prefill_s(self, tokens: int) -> float:
        """Seconds of prompt attention that do not grow with the positions attended to."""
        if tokens <= 0:
            return 0.0
        return sum(interpolate(max(float(tokens), g.tokens[0]), g.tokens, g.base_s) for g in self.groups)

    @property
    def prefill_context_s(self) -> float:
        """Seconds per pair of a prompt token and a position that it attends to, over all layers."""
        return sum(g.pair_s for g in self.groups)


def profiled_attention(profile: Profile, model: Model, kv: KvDtype, tensor_parallel: int) -> ProfiledAttention | None:
    """Attention of a model split over tensor_parallel GPUs; None where no measured kernel is like it."""
    if model.compressed_kv is not None or model.attention_params:
        return None
    groups: list[LayerGroup] = []
    derived: list[str] = []
    tables: list[DecodeTable] = []
    known = measured_kv(kv)
    if kv != known:
        derived.append(f"attention on {kv} KV: as on {known}")
    for layers, wanted in _layers(model, known, tensor_parallel):
        decode = nearest(profile.decode_attention, wanted)
        prefill = nearest(profile.prefill_attention, wanted)
        if decode is None or prefill is None:
            return None
        groups.append(_group(layers, wanted, decode, prefill))
        tables.append(decode)
        derived += [_said(wanted, table) for table in dict.fromkeys((decode,)) if not _same(table, wanted)]
    return ProfiledAttention(
        layers=model.num_layers,
        groups=tuple(groups),
        query_position_s=_query_position_s(model, tensor_parallel, groups[0]),
        derived=tuple(dict.fromkeys(derived)),
        max_batch=min(table.batch[-1] for table in tables),
        max_context=min(table.max_context for table in tables),
    )


def nearest(tables: Sequence[_T], wanted: Wanted) -> _T | None:
    """The table of these heads, or of the most similar ones with the same kind, KV dtype and windowing.

    KV heads matter most (they are what is read), then the head dimension, then query heads, then the window's length.
    """
    alike = [t for t in tables if t.kind == wanted.kind and t.kv == wanted.kv and bool(t.window) == bool(wanted.window)]

    def distance(table: _T) -> float:
        return (
            4.0 * abs(log(table.kv_heads / wanted.kv_heads))
            + 2.0 * abs(log(table.head_dim / wanted.head_dim))
            + abs(log(table.heads / wanted.heads))
            + (abs(log(table.window / wanted.window)) if wanted.window else 0.0)
        )

    return min(alike, key=distance, default=None)


def _layers(model: Model, kv: KvDtype, tensor_parallel: int) -> list[tuple[int, Wanted]]:
    """(layers, heads on one GPU) of the full layers, then of those with a window."""
    heads = model.num_attention_heads / tensor_parallel
    full, sliding = full_and_sliding_layers(model)
    if model.mla is not None:
        return [(full, Wanted("mla", kv, heads, 1, MLA_LATENT, 0))]
    kv_heads = max(model.num_kv_heads / tensor_parallel, 1.0)
    out = [(full, Wanted("gqa", kv, heads, kv_heads, model.head_dim, 0))]
    if sliding and model.sliding is not None:
        out.append((sliding, Wanted("gqa", kv, heads, kv_heads, model.head_dim, model.sliding.window_tokens)))
    return [(layers, wanted) for layers, wanted in out if layers]


def _group(layers: int, wanted: Wanted, decode: DecodeTable, prefill: PrefillTable) -> LayerGroup:
    """Tables scaled to the wanted heads: what is read by KV bytes, arithmetic by heads, windows by their length."""
    kv_ratio = wanted.kv_heads * wanted.head_dim / (decode.kv_heads * decode.head_dim)
    window_ratio = wanted.window / decode.window if wanted.window else 1.0
    heads_ratio = wanted.heads * wanted.head_dim / (prefill.heads * prefill.head_dim)
    return LayerGroup(
        batch=tuple(map(float, decode.batch)),
        floor_s=tuple(1e-6 * layers * max(us * window_ratio, decode.floor_us[0]) for us in decode.floor_us),
        per_token_s=tuple(1e-6 * layers * us * kv_ratio for us in decode.per_token_us),
        tokens=tuple(map(float, prefill.tokens)),
        base_s=tuple(1e-6 * layers * us * max(heads_ratio, 1.0) for us in prefill.base_us),
        pair_s=1e-12 * layers * prefill.per_million_pairs_us * heads_ratio,
    )


def _query_position_s(model: Model, tensor_parallel: int, full: LayerGroup) -> float:
    """Arithmetic of one query token and one position of context, at the rate that prompts reach.

    The same products as in a prompt, except MLA, which decodes on the latent vector: (2 r_kv + d_rope) against
    (d_nope + d_rope + d_v) per head.
    """
    if model.mla is None:
        return full.pair_s
    mla = model.mla
    heads = model.num_attention_heads / tensor_parallel
    latent = attention_flops(heads, mla.kv_lora_rank + mla.qk_rope_head_dim, mla.kv_lora_rank)
    prompt = attention_flops(heads, mla.qk_nope_head_dim + mla.qk_rope_head_dim, mla.v_head_dim)
    return full.pair_s * latent / prompt


def _same(table: Heads, wanted: Wanted) -> bool:
    measured = Wanted(table.kind, table.kv, table.heads, table.kv_heads, table.head_dim, table.window)
    return measured == wanted


def _said(wanted: Wanted, table: Heads) -> str:
    window = f", window {wanted.window}" if wanted.window else ""
    mine = f"{wanted.heads:g} heads over {wanted.kv_heads:g} KV heads of {wanted.head_dim}{window}"
    return f"attention of {mine}: scaled from {table.heads} over {table.kv_heads} of {table.head_dim}"
