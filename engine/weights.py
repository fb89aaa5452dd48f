"""Weights of a decoder as plain tensors: put together from named tensors, drawn at random, or disturbed.

Query, key and value projections are joined into one matrix, and so are gate and up: fewer, larger products.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from engine.architecture import Architecture, Mixture
from engine.errors import ModelFileError
from engine.experts import MixtureWeights, assemble_mixture, changed, mixture_tensors

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
    """Of the MLP; beside a mixture, of the expert that every token uses, of no width where there is none."""
    down: Tensor
    mixture: MixtureWeights | None = None


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
        layers=tuple(_layer(a, index, take) for index in range(a.num_layers)),
        final_norm=take("model.norm.weight", a.hidden_size),
        head=embedding if tied else take("lm_head.weight", a.vocab_size, a.hidden_size),
    )


def _layer(a: Architecture, index: int, take: Callable[..., Tensor]) -> LayerWeights:
    prefix, mixture = f"model.layers.{index}.", a.mixture_of(index)
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
        **_mlp(a, mlp if mixture is None else mlp + "shared_expert.", mixture, take),
        mixture=None if mixture is None else assemble_mixture(mixture, a.hidden_size, mlp, take),
    )


def _mlp(a: Architecture, prefix: str, mixture: Mixture | None, take: Callable[..., Tensor]) -> dict[str, Tensor]:
    """The MLP, or the expert that every token uses; without one, matrices of no width."""
    size, hidden = a.intermediate_size if mixture is None else mixture.shared_size, a.hidden_size
    if not size:
        empty = take("model.norm.weight", hidden).new_empty(0, hidden)
        return {"gate_up": empty, "down": empty.T}
    gate_up = torch.cat([take(f"{prefix}{name}.weight", size, hidden) for name in ("gate_proj", "up_proj")])
    return {"gate_up": gate_up, "down": take(prefix + "down_proj.weight", hidden, size)}


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
    part, size = name.split(".")[-2], _mlp_size(a, name)
    rows = {
        "embed_tokens": a.vocab_size, "lm_head": a.vocab_size, "q_proj": a.num_heads * a.head_dim,
        "k_proj": a.num_kv_heads * a.head_dim, "v_proj": a.num_kv_heads * a.head_dim, "o_proj": a.hidden_size,
        "gate_proj": size, "up_proj": size, "down_proj": a.hidden_size, "q_norm": a.head_dim, "k_norm": a.head_dim,
        "gate": 0 if a.mixture is None else a.mixture.num_experts, "shared_expert_gate": 1,
    }.get(part, a.hidden_size)  # fmt: skip
    if part.endswith("norm") or name.endswith(".bias"):
        return (rows,)
    columns = {"o_proj": a.num_heads * a.head_dim, "down_proj": size}.get(part, a.hidden_size)
    return (rows, columns)


def _mlp_size(a: Architecture, name: str) -> int:
    """Width of the MLP that the tensor with this name belongs to, if it belongs to one."""
    if a.mixture is not None and ".experts." in name:
        return a.mixture.intermediate_size
    return a.mixture.shared_size if a.mixture is not None and ".shared_expert." in name else a.intermediate_size


def with_noise(weights: Weights, epsilon: float, generator: torch.Generator) -> Weights:
    """The same decoder with Gaussian noise on every matrix, of epsilon times that matrix's standard deviation."""

    def disturb(tensor: Tensor) -> Tensor:
        if not tensor.numel():
            return tensor
        noise = torch.randn(tensor.shape, generator=generator, dtype=torch.float32, device=generator.device)
        return tensor + noise.to(tensor) * (epsilon * tensor.std())

    layers = tuple(
        replace(
            layer,
            **{name: disturb(getattr(layer, name)) for name in ("qkv", "out", "gate_up", "down")},
            mixture=None if layer.mixture is None else changed(layer.mixture, disturb),
        )
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
        values = {f.name: getattr(layer, f.name) for f in fields(layer)}
        tensors = {name: move(value) for name, value in values.items() if isinstance(value, Tensor)}
        return replace(layer, **tensors, mixture=None if layer.mixture is None else changed(layer.mixture, move))

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
        named |= {"self_attn.o_proj": layer.out}
        qkv = torch.split(layer.qkv, [width, kv_width, kv_width])
        named |= dict(zip(("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"), qkv, strict=True))
        if layer.gate_up.numel():
            mlp = "mlp." if layer.mixture is None else "mlp.shared_expert."
            gate, up = layer.gate_up.chunk(2)
            named |= {mlp + "gate_proj": gate, mlp + "up_proj": up, mlp + "down_proj": layer.down}
        if layer.mixture is not None:
            tensors |= mixture_tensors(layer.mixture, prefix + "mlp.")
        tensors |= {f"{prefix}{name}.weight": tensor for name, tensor in named.items()}
        if layer.qkv_bias is not None:
            for letter, bias in zip("qkv", torch.split(layer.qkv_bias, [width, kv_width, kv_width]), strict=True):
                tensors[f"{prefix}self_attn.{letter}_proj.bias"] = bias
        if layer.query_norm is not None and layer.key_norm is not None:
            tensors[f"{prefix}self_attn.q_norm.weight"] = layer.query_norm
            tensors[f"{prefix}self_attn.k_norm.weight"] = layer.key_norm
    return tensors
