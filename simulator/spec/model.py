"""A model's architecture, from which parameters, weight bytes and KV bytes are derived."""

from typing import Annotated, Literal

from pydantic import Field

from simulator.spec.base import Count, CountOrZero, Flag, Name, NotNegative, Positive, Spec, Text
from simulator.spec.sources import Sources

Params = Annotated[int, Field(strict=True, ge=0, le=10**13)]
"""A number of parameters."""


class Mla(Spec):
    """Multi-head latent attention: one compressed KV vector per token and layer."""

    q_lora_rank: Count
    kv_lora_rank: Count
    qk_rope_head_dim: Count
    qk_nope_head_dim: Count
    v_head_dim: Count


class Moe(Spec):
    """Routed experts of the MoE layers."""

    num_experts: Count
    top_k: Count
    num_shared: CountOrZero = 0
    expert_intermediate: Count
    shared_intermediate: CountOrZero = 0
    """Intermediate size of a shared expert; 0: that of a routed one."""
    first_dense_layers: CountOrZero = 0
    """Layers at the start that have a dense MLP instead."""
    expert_bias_params: CountOrZero = 0
    """Bias parameters of each expert."""
    router_bias_params: CountOrZero = 0
    """Bias parameters of each router."""
    extra_params_per_layer: CountOrZero = 0


class SlidingWindow(Spec):
    """Layers that attend to the last tokens only."""

    window_tokens: Count
    num_layers: Count
    """Layers that slide; the rest attend to everything."""


class CompressedKv(Spec):
    """KV of a model whose cache is a fixed part plus a slope, as its engine stores it."""

    fixed_bytes_per_sequence: NotNegative
    bytes_per_token: Positive


class PublishedParams(Spec):
    """Published counts that the derived ones are checked against."""

    total_b: Positive
    """Published parameters [10^9]."""
    source: str


class Model(Spec):
    """One architecture of the catalog."""

    name: Name
    hf_id: Text
    num_layers: Count
    hidden_size: Count
    intermediate_size: CountOrZero = 0
    """Of dense MLP layers; 0 when all layers are MoE."""
    num_attention_heads: Count
    num_kv_heads: Count
    head_dim: Count
    vocab_size: Count
    tie_word_embeddings: Flag
    max_position: Count
    mlp_matrices: Annotated[int, Field(ge=2, le=3)] = 3
    """3 for gated MLPs (gate, up, down), 2 for plain ones."""
    attention: Literal["gqa", "mla", "hybrid"]
    """hybrid: attention parameters and KV are given, because they do not follow from the dimensions."""
    mla: Mla | None = None
    moe: Moe | None = None
    sliding: SlidingWindow | None = None
    num_full_attention_layers: CountOrZero = 0
    """Layers with full attention where others are linear or compressed; 0: all of them."""
    attention_params: Params = 0
    """Attention parameters of all layers where they do not follow from the dimensions."""
    attention_extra_params: Params = 0
    """Attention biases, norms of queries and keys, sinks: all layers together, beyond the matrices."""
    norm_params: Params = 0
    other_params: Params = 0
    """Parameters outside embeddings, attention, MLPs, routers and norms (such as sparse-attention indexers)."""
    recurrent_state_bytes: CountOrZero = 0
    """State of linear-attention layers per sequence, whatever its length [bytes]."""
    compressed_kv: CompressedKv | None = None
    shares_kv_of: tuple[Name, ...] = ()
    """Models whose KV this one was trained to read as a draft, layer by layer, in place of its own."""
    published: PublishedParams | None = None
    source: str
    notes: Text = ""
    sources: Sources
