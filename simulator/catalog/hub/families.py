"""What a config.json leaves to the code: how the layers of each `model_type` are built.

Read from the classes of transformers (`models/TYPE/configuration_TYPE.py`, `modeling_TYPE.py`), 2026-11-30. A type that
is not here is refused: biases, norms and windows cannot be told from the dimensions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Biases = Literal["none", "stated", "stated_qkv", "qkv", "all"]
"""Of the attention's matrices: none, all four where attention_bias says so, Q, K and V where it says so, Q, K and V
always, all four always."""
Windows = Literal["none", "all", "beyond", "refused", "pattern", "alternate"]
"""Layers that slide where layer_types does not say: none; all, if there is a window; those from max_window_layers on,
if use_sliding_window; refused, if use_sliding_window; all but every sliding_window_pattern-th; every other one."""


@dataclass(frozen=True, slots=True)
class Family:
    """How the models of one type are built."""

    attention: Literal["gqa", "mla", "gated_delta"] = "gqa"
    biases: Biases = "none"
    qk_norm: bool = False
    """Whether queries and keys are normed by head; where use_qk_norm is there, it says so."""
    norms: int = 2
    """Norms of a layer, each of the hidden size."""
    windows: Windows = "none"
    experts: bool = False
    """Whether its layers hold routed experts."""
    router_bias: bool = False
    """Whether the router has a bias by expert, such as e_score_correction_bias."""
    biased_experts: bool = False
    sinks: bool = False
    """Whether every head of every layer has a learned sink."""
    indexer: bool = False
    """Whether a sparse attention picks its keys by an indexer (DeepSeek sparse attention)."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """What the class takes for keys that published files leave out."""


_QWEN_MOE = {"decoder_sparse_step": 1}
_GATED_DELTA = {
    "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_num_key_heads": 16,
    "full_attention_interval": 4, "head_dim": 256,
}  # fmt: skip
_GEMMA_3 = {
    "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "max_position_embeddings": 131_072,
    "sliding_window_pattern": 6, "tie_word_embeddings": True, "vocab_size": 262_208,
}  # fmt: skip

FAMILIES: dict[str, Family] = {
    "llama": Family(biases="stated"),
    "mistral": Family(windows="all"),
    "mixtral": Family(windows="all", experts=True),
    "phi3": Family(windows="all"),
    "qwen2": Family(biases="qkv", windows="beyond", defaults={"max_window_layers": 28}),
    "qwen2_moe": Family(biases="qkv", windows="refused", experts=True, defaults=_QWEN_MOE),
    "qwen3": Family(biases="stated", qk_norm=True, windows="beyond", defaults={"head_dim": 128}),
    "qwen3_moe": Family(biases="stated", qk_norm=True, windows="refused", experts=True, defaults=_QWEN_MOE),
    "qwen3_next": Family(attention="gated_delta", qk_norm=True, experts=True, defaults=_QWEN_MOE | _GATED_DELTA),
    "qwen3_5_text": Family(attention="gated_delta", qk_norm=True, defaults=_GATED_DELTA),
    "qwen3_5_moe_text": Family(attention="gated_delta", qk_norm=True, experts=True, defaults=_GATED_DELTA),
    "gemma3_text": Family(biases="stated", qk_norm=True, norms=4, windows="pattern", defaults=_GEMMA_3),
    "gpt_oss": Family(
        biases="all", windows="alternate", experts=True, router_bias=True, biased_experts=True, sinks=True
    ),
    "glm4_moe": Family(biases="stated_qkv", experts=True, router_bias=True),
    "deepseek_v2": Family(attention="mla", experts=True),
    "deepseek_v3": Family(attention="mla", experts=True, router_bias=True),
    "kimi_k2": Family(attention="mla", experts=True, router_bias=True),
    "deepseek_v32": Family(attention="mla", experts=True, router_bias=True, indexer=True),
    "glm_moe_dsa": Family(attention="mla", experts=True, router_bias=True, indexer=True),
}
"""model_type → how its models are built."""

ELSEWHERE: dict[str, str] = {
    "deepseek_v4": "its compressed cache does not follow from the file; deepseek-v4-flash and -pro are in the catalog",
    "llama4_text": "attention in chunks is not modelled",
    "gemma3n_text": "layers that share KV and per-layer embeddings are not modelled",
    "nemotron-nas": "layers that differ from each other are not modelled",
}
"""model_type that people ask for → why it is refused."""

REFUSED: dict[str, str] = {
    "mlp_bias": "biases of the MLP are not modelled",
    "num_kv_shared_layers": "layers that share KV are not modelled",
    "quantization": "MLX's checkpoints are not known here",
    "attention_chunk_size": "attention in chunks is not modelled",
    "cross_attention_layers": "cross-attention is not modelled",
    "block_configs": "layers that differ from each other are not modelled",
}
"""Key that changes the architecture → why a file that sets it (not to null, false, 0 or an empty list) is refused."""
