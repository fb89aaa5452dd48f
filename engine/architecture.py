"""Dimensions of a Llama-family decoder, and how they are read from the files that people have.

Knows nothing of weights or devices.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.errors import ModelFileError


@dataclass(frozen=True, slots=True)
class RopeScaling:
    """How positions are stretched beyond the length that a model was first trained for."""

    kind: str
    """`linear` (all frequencies divided by the factor) or `llama3` (only the slow ones)."""
    factor: float
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    original_max_position: int = 8192
    """Length [tokens] of the first training."""


@dataclass(frozen=True, slots=True)
class Mixture:
    """Experts in the place of one MLP."""

    num_experts: int
    top_k: int
    """Experts that a token uses."""
    intermediate_size: int
    """Width of one expert."""
    shared_size: int = 0
    """Width of the expert that every token uses; 0: there is none."""
    shared_gate: bool = False
    """Whether the shared expert is weighed by a gate of its own (Qwen 2)."""
    normalised: bool = True
    """Whether the chances of the chosen experts are scaled to sum to one."""
    first_dense_layers: int = 0
    """Layers at the front that have one MLP."""

    @property
    def num_weights(self) -> int:
        """Elements of one layer for each of hidden size."""
        gates = self.num_experts + int(self.shared_gate)
        return gates + 3 * (self.num_experts * self.intermediate_size + self.shared_size)


@dataclass(frozen=True, slots=True)
class Architecture:
    """A decoder with RMSNorm, RoPE, grouped-query attention and SwiGLU."""

    num_layers: int
    hidden_size: int
    intermediate_size: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    vocab_size: int
    norm_eps: float = 1e-5
    rope_theta: float = 10000.0
    max_position: int = 8192
    """Longest sequence [tokens] that attention is exact for."""
    tie_word_embeddings: bool = False
    qkv_bias: bool = False
    """Biases on the query, key and value projections (Qwen 2)."""
    qk_norm: bool = False
    """RMSNorm of each query and key head (Qwen 3)."""
    rope_scaling: RopeScaling | None = None
    mixture: Mixture | None = None
    """None: every layer has one MLP."""

    def mixture_of(self, layer: int) -> Mixture | None:
        """Experts of a layer; None: it has one MLP."""
        return self.mixture if self.mixture is not None and layer >= self.mixture.first_dense_layers else None

    @property
    def num_weights(self) -> int:
        """Elements of all matrices, the embedding counted once more when the head is not tied to it."""
        heads = (2 * self.num_heads + 2 * self.num_kv_heads) * self.head_dim
        mixtures = [self.mixture_of(layer) for layer in range(self.num_layers)]
        mlps = sum(3 * self.intermediate_size if m is None else m.num_weights for m in mixtures)
        layers = self.hidden_size * (self.num_layers * heads + mlps)
        return layers + self.vocab_size * self.hidden_size * (1 if self.tie_word_embeddings else 2)

    def kv_bytes_per_token(self, element_bytes: int) -> int:
        """Bytes of keys and values that one position takes in all layers."""
        return 2 * self.num_layers * self.num_kv_heads * self.head_dim * element_bytes


FAMILIES = ("llama", "mistral", "qwen2", "qwen3", "mixtral", "qwen2_moe", "qwen3_moe")
"""`model_type` of the Hugging Face configurations that the engine runs."""


def from_hf(config: Mapping[str, Any], origin: str) -> Architecture:
    """Read a Hugging Face `config.json`.

    origin: where the mapping comes from, for messages.
    """
    family = config.get("model_type")
    if family not in FAMILIES:
        raise ModelFileError(f"{origin}: model_type {family!r} is not run here; known: {', '.join(FAMILIES)}")
    if config.get("hidden_act", "silu") != "silu":
        raise ModelFileError(f"{origin}: hidden_act {config['hidden_act']!r} is not run here; known: silu")
    try:
        heads, hidden = int(config["num_attention_heads"]), int(config["hidden_size"])
        rope = _rope_parameters(config)
        return Architecture(
            num_layers=int(config["num_hidden_layers"]),
            hidden_size=hidden,
            intermediate_size=int(config["intermediate_size"]),
            num_heads=heads,
            mixture=_mixture(config, str(family), origin),
            num_kv_heads=int(config.get("num_key_value_heads") or heads),
            head_dim=int(config.get("head_dim") or hidden // heads),
            vocab_size=int(config["vocab_size"]),
            norm_eps=float(config.get("rms_norm_eps", 1e-6)),
            rope_theta=float(rope.get("rope_theta", 10000.0)),
            max_position=_exact_length(config),
            tie_word_embeddings=bool(config.get("tie_word_embeddings", False)),
            qkv_bias=bool(config.get("attention_bias", str(family).startswith("qwen2"))),
            qk_norm=str(family).startswith("qwen3"),
            rope_scaling=_rope_scaling(rope, origin),
        )
    except KeyError as missing:
        raise ModelFileError(f"{origin}: key {missing} is missing") from None


def _mixture(config: Mapping[str, Any], family: str, origin: str) -> Mixture | None:
    if family == "mixtral":
        return Mixture(
            int(config["num_local_experts"]), int(config["num_experts_per_tok"]), int(config["intermediate_size"])
        )
    if not family.endswith("_moe"):
        return None
    if int(config.get("decoder_sparse_step", 1)) != 1:
        raise ModelFileError(f"{origin}: decoder_sparse_step {config['decoder_sparse_step']} is not run here; known: 1")
    dense = list(config.get("mlp_only_layers") or [])
    if dense != list(range(len(dense))):
        raise ModelFileError(f"{origin}: mlp_only_layers {dense} is not run here; known: the first so many, or none")
    return Mixture(
        num_experts=int(config["num_local_experts" if "num_local_experts" in config else "num_experts"]),
        top_k=int(config["num_experts_per_tok"]),
        intermediate_size=int(config["moe_intermediate_size"]),
        shared_size=int(config.get("shared_expert_intermediate_size", 0)) if family == "qwen2_moe" else 0,
        shared_gate=family == "qwen2_moe",
        normalised=bool(config.get("norm_topk_prob", False)),
        first_dense_layers=len(dense),
    )


def _rope_parameters(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Rotary parameters of both generations of the file: one mapping, or a scaling beside a top-level base."""
    parameters = dict(config.get("rope_scaling") or {})
    parameters.update(config.get("rope_parameters") or {})
    if "rope_theta" in config:
        parameters.setdefault("rope_theta", config["rope_theta"])
    return parameters


def _exact_length(config: Mapping[str, Any]) -> int:
    """Positions for which full attention is what the model computes: a sliding window bounds it."""
    longest = int(config.get("max_position_embeddings", 2048))
    window = config.get("sliding_window")
    slides = window is not None and config.get("use_sliding_window", True)
    return min(longest, int(window)) if window is not None and slides else longest


def _rope_scaling(rope: Mapping[str, Any], origin: str) -> RopeScaling | None:
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind == "default":
        return None
    if kind == "linear":
        return RopeScaling("linear", float(rope["factor"]))
    if kind == "llama3":
        return RopeScaling(
            "llama3",
            float(rope["factor"]),
            float(rope["low_freq_factor"]),
            float(rope["high_freq_factor"]),
            int(rope["original_max_position_embeddings"]),
        )
    raise ModelFileError(f"{origin}: rope scaling {kind!r} is not run here; known: default, linear, llama3")


def from_catalog(entry: Mapping[str, Any], origin: str) -> Architecture:
    """Read a model of the planner's catalog (a YAML mapping); for random weights, whose only use is timing."""
    moe = entry.get("moe")
    if entry.get("attention") != "gqa" or "sliding" in entry or not ("intermediate_size" in entry or moe):
        raise ModelFileError(
            f"{origin}: only decoders with plain grouped-query attention are run here"
            f" (attention {entry.get('attention')!r}, sliding {'yes' if 'sliding' in entry else 'no'})"
        )
    family = str(entry.get("hf_id", "")).lower()
    return Architecture(
        num_layers=int(entry["num_layers"]),
        hidden_size=int(entry["hidden_size"]),
        intermediate_size=int(entry.get("intermediate_size", 0)),
        mixture=None if moe is None else _catalog_mixture(moe),
        num_heads=int(entry["num_attention_heads"]),
        num_kv_heads=int(entry["num_kv_heads"]),
        head_dim=int(entry["head_dim"]),
        vocab_size=int(entry["vocab_size"]),
        max_position=int(entry.get("max_position", 8192)),
        tie_word_embeddings=bool(entry.get("tie_word_embeddings", False)),
        qkv_bias="qwen2" in family,
        qk_norm="qwen3" in family,
    )


def _catalog_mixture(moe: Mapping[str, Any]) -> Mixture:
    size = int(moe["expert_intermediate"])
    shared = int(moe.get("shared_intermediate") or size)
    return Mixture(
        int(moe["num_experts"]),
        int(moe["top_k"]),
        size,
        shared_size=shared * int(moe.get("num_shared", 0)),
        first_dense_layers=int(moe.get("first_dense_layers", 0)),
    )
