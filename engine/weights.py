"""Weights of a decoder as plain tensors: put together from named tensors, drawn at random, or disturbed.

Query, key and value projections are joined into one matrix, and so are gate and up: fewer, larger products.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from engine.architecture import Architecture
from engine.errors import ModelFileError

Lookup = Callable[[str], Tensor]
"""Hugging Face name of a tensor -> the tensor; KeyError when there is none."""


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """One layer; matrices are [output, input]."""

    attention_norm: Tensor
    qkv: Tensor
    qkv_bias: Tensor | None
    query_norm: Tensor | None
    key_norm: Tensor | None
    out: Tensor
    mlp_norm: Tensor
    gate_up: Tensor
    down: Tensor


@dataclass(frozen=True, slots=True)
class Weights:
    """A whole decoder."""

    architecture: Architecture
    embedding: Tensor
    """[vocabulary, hidden]"""
    layers: tuple[LayerWeights, ...]
    final_norm: Tensor
    head: Tensor
    """[vocabulary, hidden]; the embedding itself when tied."""

    @property
    def dtype(self) -> torch.dtype:
        """Element type of the matrices."""
        return self.embedding.dtype


def assemble(architecture: Architecture, lookup: Lookup, origin: str) -> Weights:
    """Put a decoder together from tensors with Hugging Face names, checking every shape.

    origin: where the tensors come from, for messages.
    """
    a = architecture

    def take(name: str, *shape: int) -> Tensor:
        try:
            tensor = lookup(name)
        except KeyError:
            raise ModelFileError(f"{origin}: tensor {name!r} is missing") from None
        if tuple(tensor.shape) != shape:
            raise ModelFileError(f"{origin}: tensor {name!r} is {list(tensor.shape)}, expected {list(shape)}")
        return tensor

    embedding = take("model.embed_tokens.weight", a.vocab_size, a.hidden_size)
    tied = a.tie_word_embeddings
    return Weights(
        architecture=a,
        embedding=embedding,
        layers=tuple(_layer(a, f"model.layers.{index}.", take) for index in range(a.num_layers)),
        final_norm=take("model.norm.weight", a.hidden_size),
        head=embedding if tied else take("lm_head.weight", a.vocab_size, a.hidden_size),
    )


def _layer(a: Architecture, prefix: str, take: Callable[..., Tensor]) -> LayerWeights:
    width, kv_width = a.num_heads * a.head_dim, a.num_kv_heads * a.head_dim
    parts = (("q_proj", width), ("k_proj", kv_width), ("v_proj", kv_width))
    attention, mlp = prefix + "self_attn.", prefix + "mlp."
    return LayerWeights(
        attention_norm=take(prefix + "input_layernorm.weight", a.hidden_size),
        qkv=torch.cat([take(f"{attention}{name}.weight", rows, a.hidden_size) for name, rows in parts]),
        qkv_bias=torch.cat([take(f"{attention}{name}.bias", rows) for name, rows in parts]) if a.qkv_bias else None,
        query_norm=take(attention + "q_norm.weight", a.head_dim) if a.qk_norm else None,
        key_norm=take(attention + "k_norm.weight", a.head_dim) if a.qk_norm else None,
        out=take(attention + "o_proj.weight", a.hidden_size, width),
        mlp_norm=take(prefix + "post_attention_layernorm.weight", a.hidden_size),
        gate_up=torch.cat(
            [take(f"{mlp}{name}.weight", a.intermediate_size, a.hidden_size) for name in ("gate_proj", "up_proj")]
        ),
        down=take(mlp + "down_proj.weight", a.hidden_size, a.intermediate_size),
    )


def random_weights(
    architecture: Architecture,
    generator: torch.Generator,
    *,
    dtype: torch.dtype = torch.float32,
    device: str | torch.device = "cpu",
    sharpness: float = 1.0,
) -> Weights:
    """Gaussian weights, scaled so that activations stay near one.

    sharpness: factor on the logits, kept in the final norm; the larger, the lower the entropy of the next token.
    """
    a = architecture

    def lookup(name: str) -> Tensor:
        shape = _shape(a, name)
        if name.endswith("norm.weight"):
            return torch.ones(shape, dtype=dtype, device=device)
        fan_in = shape[-1] if len(shape) > 1 else a.hidden_size
        scale = 1.0 if name.startswith("model.embed") and not a.tie_word_embeddings else fan_in**-0.5
        drawn = torch.randn(shape, generator=generator, dtype=dtype, device=generator.device)
        return drawn.to(device).mul_(scale)

    weights = assemble(a, lookup, "random weights")
    return weights if sharpness == 1.0 else replace(weights, final_norm=weights.final_norm * sharpness)


def _shape(a: Architecture, name: str) -> tuple[int, ...]:
    """Shape of the tensor with this Hugging Face name."""
    part = name.split(".")[-2]
    rows = {
        "embed_tokens": a.vocab_size, "lm_head": a.vocab_size, "q_proj": a.num_heads * a.head_dim,
        "k_proj": a.num_kv_heads * a.head_dim, "v_proj": a.num_kv_heads * a.head_dim, "o_proj": a.hidden_size,
        "gate_proj": a.intermediate_size, "up_proj": a.intermediate_size, "down_proj": a.hidden_size,
        "q_norm": a.head_dim, "k_norm": a.head_dim,
    }.get(part, a.hidden_size)  # fmt: skip
    if part.endswith("norm") or name.endswith(".bias"):
        return (rows,)
    columns = {"o_proj": a.num_heads * a.head_dim, "down_proj": a.intermediate_size}.get(part, a.hidden_size)
    return (rows, columns)


def with_noise(weights: Weights, epsilon: float, generator: torch.Generator) -> Weights:
    """The same decoder with Gaussian noise on every matrix, of epsilon times that matrix's standard deviation."""

    def disturb(tensor: Tensor) -> Tensor:
        noise = torch.randn(tensor.shape, generator=generator, dtype=torch.float32, device=generator.device)
        return tensor + noise.to(tensor) * (epsilon * tensor.std())

    layers = tuple(
        replace(layer, **{name: disturb(getattr(layer, name)) for name in ("qkv", "out", "gate_up", "down")})
        for layer in weights.layers
    )
    embedding = disturb(weights.embedding)
    head = embedding if weights.head is weights.embedding else disturb(weights.head)
    return replace(weights, layers=layers, embedding=embedding, head=head)


def converted(weights: Weights, dtype: torch.dtype, device: str | torch.device) -> Weights:
    """The same decoder in another element type or on another device."""

    def move(tensor: Tensor) -> Tensor:
        return tensor.to(device=device, dtype=dtype)

    def moved(layer: LayerWeights) -> LayerWeights:
        present = {f.name: getattr(layer, f.name) for f in fields(layer) if getattr(layer, f.name) is not None}
        return replace(layer, **{name: move(tensor) for name, tensor in present.items()})

    layers = tuple(map(moved, weights.layers))
    embedding = move(weights.embedding)
    head = embedding if weights.head is weights.embedding else move(weights.head)
    return Weights(weights.architecture, embedding, layers, move(weights.final_norm), head)


def hf_tensors(weights: Weights) -> dict[str, Tensor]:
    """The decoder under Hugging Face names; the inverse of `assemble`."""
    a = weights.architecture
    width, kv_width = a.num_heads * a.head_dim, a.num_kv_heads * a.head_dim
    tensors = {"model.embed_tokens.weight": weights.embedding, "model.norm.weight": weights.final_norm}
    if weights.head is not weights.embedding:
        tensors["lm_head.weight"] = weights.head
    for index, layer in enumerate(weights.layers):
        prefix = f"model.layers.{index}."
        named = {"input_layernorm": layer.attention_norm, "post_attention_layernorm": layer.mlp_norm}
        named |= {"self_attn.o_proj": layer.out, "mlp.down_proj": layer.down}
        qkv = torch.split(layer.qkv, [width, kv_width, kv_width])
        named |= dict(zip(("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"), qkv, strict=True))
        named |= dict(zip(("mlp.gate_proj", "mlp.up_proj"), layer.gate_up.chunk(2), strict=True))
        tensors |= {f"{prefix}{name}.weight": tensor for name, tensor in named.items()}
        if layer.qkv_bias is not None:
            for letter, bias in zip("qkv", torch.split(layer.qkv_bias, [width, kv_width, kv_width]), strict=True):
                tensors[f"{prefix}self_attn.{letter}_proj.bias"] = bias
        if layer.query_norm is not None and layer.key_norm is not None:
            tensors[f"{prefix}self_attn.q_norm.weight"] = layer.query_norm
            tensors[f"{prefix}self_attn.k_norm.weight"] = layer.key_norm
    return tensors
