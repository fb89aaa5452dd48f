"""Time of attention: KV read by decoding sequences, arithmetic of prompts, both affine in the context."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from simulator.physics.kv import full_and_sliding_layers, kv_law
from simulator.spec.draft import KvDtype
from simulator.spec.hardware import AttentionEfficiency
from simulator.spec.model import Model


class AffineRate(NamedTuple):
    """A time that is a floor plus bytes at a rate."""

    floor_s: float
    bytes_per_s: float


def fit_affine_rate(points: Sequence[tuple[float, float]]) -> AffineRate:
    r"""Floor and rate of measured (bytes, seconds), by least squares on relative errors.

    .. math:: \min_{a, b} \sum_i ((a + b x_i - t_i) / t_i)^2

    points: bytes x and seconds t of each measurement. [bytes, s]; one point, or a fit with a negative floor: no floor.

    >>> rate = fit_affine_rate([(1e6, 11e-6), (2e6, 12e-6)])
    >>> round(rate.floor_s * 1e6, 6), round(rate.bytes_per_s / 1e12, 6)
    (10.0, 1.0)

    Ordinary weighted least squares (normal equations).
    """
    weights = [1.0 / (t * t) for _, t in points]
    total = sum(weights)
    mean_x = sum(w * x for w, (x, _) in zip(weights, points, strict=True)) / total
    mean_t = sum(w * t for w, (_, t) in zip(weights, points, strict=True)) / total
    spread = sum(w * (x - mean_x) ** 2 for w, (x, _) in zip(weights, points, strict=True))
    if spread <= 0.0:
        return AffineRate(0.0, mean_x / mean_t)
    slope = sum(w * (x - mean_x) * (t - mean_t) for w, (x, t) in zip(weights, points, strict=True)) / spread
    floor = mean_t - slope * mean_x
    return AffineRate(floor, 1.0 / slope) if floor > 0.0 < slope else AffineRate(0.0, mean_x / mean_t)


def measured_rate(efficiency: AttentionEfficiency, engine: str, kv: KvDtype) -> AffineRate:
    """Floor and rate of one layer's decode attention, from the catalog's points (batch, context, TB/s)."""
    per_token = efficiency.layer_kv_bytes_for(kv)
    sizes = [(batch * context * per_token, rate) for batch, context, rate in efficiency.points_for(engine, kv)]
    return fit_affine_rate([(size, size / (rate * 1e12)) for size, rate in sizes])


def attention_flops(num_heads: float, key_dim: int, value_dim: int) -> float:
    """FLOPs of one query token and one KV position: 2 h (d_k + d_v), scores and weighted sum over all heads.

    num_heads: query heads h on one GPU. [heads]
    key_dim, value_dim: length d_k of a key, d_v of a value, as the kernel sees them. [elements]

    >>> attention_flops(64, 128, 128)
    32768
    >>> round(attention_flops(128, 576, 512) / (576 * 2), 1)  # MLA: FLOP per byte of bf16 latent
    241.8

    Dao et al., FlashAttention, arXiv:2205.14135, section 3; MLA absorbed: DeepSeek-V2, arXiv:2405.04434, section 2.1.
    """
    return 2 * num_heads * (key_dim + value_dim)


def context_slope_s(kv_bytes: float, bytes_per_s: float, queries: int, flops: float, flop_per_s: float) -> float:
    """Seconds that one KV position adds to a layer: the slower of reading it and of multiplying it.

    kv_bytes: KV of the position on one GPU. [bytes]
    bytes_per_s: measured rate of KV reading. [bytes/s]
    queries: query tokens per sequence, draft tokens + 1. [tokens]
    flops: of one query token and one position. [FLOP]
    flop_per_s: rate that attention reaches. [FLOP/s]

    >>> context_slope_s(1152, 4e12, 1, 278528, 600e12) < context_slope_s(1152, 4e12, 4, 278528, 600e12)
    True

    Roofline per position; MLA verification is bound by the second term (242 FLOP/B × queries).
    """
    return max(kv_bytes / bytes_per_s, queries * flops / flop_per_s)


class AttentionShape(NamedTuple):
    """What attention reads and multiplies on one GPU, over all layers."""

    layers: int
    """Layers that launch an attention kernel."""
    context_bytes: float
    """KV bytes per token of context."""
    context_flops: float
    """FLOPs of one query token and one context position."""
    sequence_bytes: float
    """KV and state bytes per sequence, whatever its length."""
    sequence_flops: float
    """FLOPs of one query token on what does not grow with the context: full windows."""
    prompt_flops: float
    """FLOPs of one prompt token and one position that it attends to."""


def attention_shape(model: Model, kv: KvDtype, tensor_parallel: int) -> AttentionShape:
    """Per-GPU attention work of a model.

    Sliding layers are taken to hold a full window for every sequence (an upper bound that is reached once the context
    exceeds the window), so the time stays affine in the context.
    """
    law = kv_law(model, kv, tensor_parallel)
    heads = model.num_attention_heads / tensor_parallel
    layers, windows = _attending_layers(model)
    context = prompt = attention_flops(heads, model.head_dim, model.head_dim)
    if model.mla is not None:
        mla = model.mla
        context = attention_flops(heads, mla.kv_lora_rank + mla.qk_rope_head_dim, mla.kv_lora_rank)
        prompt = attention_flops(heads, mla.qk_nope_head_dim + mla.qk_rope_head_dim, mla.v_head_dim)
    return AttentionShape(
        layers=model.num_layers,
        context_bytes=law.bytes_per_token,
        context_flops=layers * context,
        sequence_bytes=law.fixed_bytes + law.window_tokens * law.sliding_bytes_per_token,
        sequence_flops=windows * context,
        prompt_flops=layers * prompt,
    )


def _attending_layers(model: Model) -> tuple[float, float]:
    """Layers whose work grows with the context, and positions of all sliding windows together.

    A compressed cache counts as so many layers as its FP8 bytes are keys of full layers.
    """
    if model.compressed_kv is not None:
        return model.compressed_kv.bytes_per_token / (model.num_kv_heads * model.head_dim), 0.0
    full, sliding = full_and_sliding_layers(model)
    return full, sliding * (model.sliding.window_tokens if model.sliding is not None else 0)


@dataclass(frozen=True, slots=True)
class AttentionCurve:
    """Seconds of one model's attention on one GPU."""

    shape: AttentionShape
    rate: AffineRate
    flop_per_s: float
    """Rate that attention's arithmetic reaches [FLOP/s]."""

    @property
    def layers(self) -> int:
        """Layers that launch an attention kernel."""
        return self.shape.layers

    def decode_s(self, sequences: int, queries: int) -> tuple[float, float]:
        """Seconds of `sequences` with `queries` tokens each: a constant, and per position of their context."""
        if sequences <= 0:
            return 0.0, self.context_s(queries)
        s = self.shape
        window = context_slope_s(s.sequence_bytes, self.rate.bytes_per_s, queries, s.sequence_flops, self.flop_per_s)
        return s.layers * self.rate.floor_s + sequences * window, self.context_s(queries)

    def context_s(self, queries: int) -> float:
        """Seconds that one position of context adds, over all layers."""
        s = self.shape
        return context_slope_s(s.context_bytes, self.rate.bytes_per_s, queries, s.context_flops, self.flop_per_s)

    def bound_by_flops(self, queries: int) -> bool:
        """Whether a position of context takes longer to multiply than to read."""
        return queries * self.shape.context_flops / self.flop_per_s > self.shape.context_bytes / self.rate.bytes_per_s

    def prefill_s(self, tokens: int) -> float:
        """Seconds of prompt attention that do not grow with the positions attended to: launches and windows."""
        if tokens <= 0:
            return 0.0
        return self.shape.layers * self.rate.floor_s + tokens * self.shape.sequence_flops / self.flop_per_s

    @property
    def prefill_context_s(self) -> float:
        """Seconds per pair of a prompt token and a position that it attends to, over all layers."""
        return self.shape.prompt_flops / self.flop_per_s


def attention_curve(
    model: Model,
    kv: KvDtype,
    tensor_parallel: int,
    efficiency: AttentionEfficiency,
    engine: str,
    peak_flop_per_s: float,
) -> AttentionCurve:
    """The curve of a model split over tensor_parallel GPUs whose bf16 dense peak is given [FLOP/s]."""
    rate = measured_rate(efficiency, engine, kv)
    flop_per_s = peak_flop_per_s * efficiency.prefill_compute_fraction
    return AttentionCurve(attention_shape(model, kv, tensor_parallel), rate, flop_per_s)
