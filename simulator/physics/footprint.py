"""Parameters, FLOPs and weight bytes of a model, derived from its architecture.

Knows nothing of GPUs and engines; KV bytes are in `kv`.
"""

from dataclasses import dataclass
from math import ceil

from simulator.spec.deployment import UnquantisedPart
from simulator.spec.model import Mla, Model, Moe
from simulator.spec.policy import Quantisation

BF16_BYTES = 2
MXFP4_HIDDEN_MULTIPLE = 256
"""MXFP4 experts are stored with the hidden size rounded up to this (vLLM `Mxfp4MoEMethod.create_weights`). Without it
gpt-oss-20b and -120b would load 12.8 and 60.7 GiB on an H100, with it 13.4 and 64.5; measured: 13.47 and 64.38."""
MXFP4_INTERMEDIATE_MULTIPLE = 64
"""The same for the intermediate size of a GPU's share (the Marlin kernel rounds it to 128: 2 % more weights)."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters of a model by part [count]."""

    embedding: int
    lm_head: int
    """0 when the head is tied to the embedding."""
    attention: int
    dense_mlp: int
    routed_experts: int
    shared_experts: int
    router: int
    """Routers and, where there is one, the gate of the shared expert."""
    norms: int
    other: int
    active_per_token: int
    """Parameters that one token's pass multiplies with: all, less the idle experts and the input embedding."""

    @property
    def total(self) -> int:
        """Parameters of the checkpoint, each counted once."""
        dense = self.embedding + self.lm_head + self.attention + self.dense_mlp + self.norms + self.other
        return dense + self.routed_experts + self.shared_experts + self.router


@dataclass(frozen=True, slots=True)
class WeightBytes:
    """Bytes of a model's weights."""

    total_bytes: int
    """The checkpoint: each weight once, without padding."""
    per_gpu_bytes: int
    """On the fullest GPU of a replica, with what the split replicates and the kernels pad."""


@dataclass(frozen=True, slots=True)
class _Part:
    params: int
    bytes_per_param: float
    gpu_share: float


def gqa_attention_params(hidden_size: int, num_heads: int, num_kv_heads: int, head_dim: int) -> int:
    """Matrices of one grouped-query attention layer: Q and O of all heads, K and V of the KV heads [parameters].

    N = 2·h·d·n + 2·h·d·n_kv, with hidden_size h, num_heads n, num_kv_heads n_kv [count] and head_dim d.

    >>> gqa_attention_params(hidden_size=4096, num_heads=32, num_kv_heads=8, head_dim=128)
    41943040

    Ainslie et al., 2023, arXiv:2305.13245 (grouped queries), counted from the matrices' shapes.
    """
    return 2 * hidden_size * head_dim * (num_heads + num_kv_heads)


def mla_attention_params(hidden_size: int, num_heads: int, mla: Mla) -> int:
    """Matrices of one latent attention layer: both down and both up projections, and the output [parameters].

    N = h·(r_q + r_kv + d_rope) + r_q·n·(d_nope + d_rope) + r_kv·n·(d_nope + d_v) + n·d_v·h.

    >>> v3 = Mla(q_lora_rank=1536, kv_lora_rank=512, qk_rope_head_dim=64, qk_nope_head_dim=128, v_head_dim=128)
    >>> mla_attention_params(hidden_size=7168, num_heads=128, mla=v3)
    187105280

    DeepSeek-AI, 2024, arXiv:2405.04434, section 2.1, counted from the matrices' shapes.
    """
    queries = mla.q_lora_rank * num_heads * (mla.qk_nope_head_dim + mla.qk_rope_head_dim)
    keys_and_values = mla.kv_lora_rank * num_heads * (mla.qk_nope_head_dim + mla.v_head_dim)
    output = num_heads * mla.v_head_dim * hidden_size
    return _mla_down_params(hidden_size, mla) + queries + keys_and_values + output


def _mla_down_params(hidden_size: int, mla: Mla) -> int:
    return hidden_size * (mla.q_lora_rank + mla.kv_lora_rank + mla.qk_rope_head_dim)


def attention_params(model: Model) -> int:
    """Attention parameters of all layers, biases and norms of queries and keys included [parameters]."""
    if model.attention_params:
        return model.attention_params + model.attention_extra_params
    if model.mla is not None:
        per_layer = mla_attention_params(model.hidden_size, model.num_attention_heads, model.mla)
    else:
        heads = (model.num_attention_heads, model.num_kv_heads, model.head_dim)
        per_layer = gqa_attention_params(model.hidden_size, *heads)
    return model.num_layers * per_layer + model.attention_extra_params


def num_moe_layers(model: Model) -> int:
    """Layers with routed experts [count]."""
    return 0 if model.moe is None else model.num_layers - model.moe.first_dense_layers


def expert_params(model: Model) -> int:
    """Parameters of one routed expert of one layer, its biases included; 0 for a dense model [parameters]."""
    if model.moe is None:
        return 0
    return model.mlp_matrices * model.hidden_size * model.moe.expert_intermediate + model.moe.expert_bias_params


def shared_expert_params(model: Model) -> int:
    """Parameters of all shared experts of one layer [parameters]."""
    if model.moe is None:
        return 0
    intermediate = model.moe.shared_intermediate or model.moe.expert_intermediate
    return model.mlp_matrices * model.hidden_size * intermediate * model.moe.num_shared


def _router_params(model: Model, moe: Moe) -> int:
    per_layer = model.hidden_size * moe.num_experts + moe.router_bias_params + moe.extra_params_per_layer
    return num_moe_layers(model) * per_layer


def _dense_layer_params(model: Model) -> int:
    return model.mlp_matrices * model.hidden_size * model.intermediate_size


def parameters(model: Model) -> Parameters:
    """Parameters of a model by part [count]; multi-token-prediction layers are not part of it.

    Counted from the dimensions; the catalog's published totals are the check (tests/published).
    """
    layers = num_moe_layers(model)
    vocabulary = model.vocab_size * model.hidden_size
    experts = layers * expert_params(model) * (model.moe.num_experts if model.moe else 0)
    active_experts = layers * expert_params(model) * (model.moe.top_k if model.moe else 0)
    always = {
        "attention": attention_params(model),
        "dense_mlp": (model.num_layers - layers) * _dense_layer_params(model),
        "shared_experts": layers * shared_expert_params(model),
        "router": _router_params(model, model.moe) if model.moe else 0,
        "norms": model.norm_params,
        "other": model.other_params,
    }
    return Parameters(
        embedding=vocabulary,
        lm_head=0 if model.tie_word_embeddings else vocabulary,
        routed_experts=experts,
        active_per_token=sum(always.values()) + active_experts + vocabulary,
        **always,
    )


def flops_per_token(model: Model, with_head: bool = True) -> int:
    """Linear work of one token's pass: a multiply and an add per active parameter [FLOP]; attention scores excluded.

    with_head: whether the output head runs, as it does for every decoded token but only for a prompt's last.

    Kaplan et al., 2020, arXiv:2001.08361, section 2.1 (2·N per token, forward).
    """
    head = 0 if with_head else model.vocab_size * model.hidden_size
    return 2 * (parameters(model).active_per_token - head)


def padded_share(size: int, split: int, multiple: int) -> float:
    """Stored ÷ real size of a dimension that is split over GPUs and rounded up on each [ratio].

    >>> padded_share(2880, split=1, multiple=256)
    1.0666666666666667
    >>> padded_share(2048, split=1, multiple=256)
    1.0
    """
    share = size / split
    return ceil(share / multiple) * multiple / share


def _expert_share(model: Model, quantisation: Quantisation, num_gpus: int, expert_parallel: int) -> float:
    moe = model.moe
    if moe is None:
        return 0.0
    split = num_gpus // expert_parallel
    share = ceil(moe.num_experts / expert_parallel) / moe.num_experts / split
    if quantisation.name == "mxfp4":
        share *= padded_share(model.hidden_size, 1, MXFP4_HIDDEN_MULTIPLE)
        share *= padded_share(moe.expert_intermediate, split, MXFP4_INTERMEDIATE_MULTIPLE)
    return share


def _attention_parts(model: Model, bytes_per_param: float, tensor_parallel: int) -> list[_Part]:
    total = attention_params(model)
    if model.attention_params:
        kept, kept_split = 0, 1
    elif model.mla is not None:
        kept, kept_split = model.num_layers * _mla_down_params(model.hidden_size, model.mla), 1
    else:
        kept = model.num_layers * 2 * model.hidden_size * model.num_kv_heads * model.head_dim
        kept_split = min(tensor_parallel, model.num_kv_heads)
    parts = [_Part(kept, bytes_per_param, 1 / kept_split)]
    return [*parts, _Part(total - kept, bytes_per_param, 1 / tensor_parallel)]


def _edge_mlps(model: Model) -> tuple[int, int, int]:
    """Dense, routed and shared parameters of the first and of the last layer's MLP together."""
    moe = model.moe
    if moe is None:
        return 2 * _dense_layer_params(model), 0, 0
    num = 1 if moe.first_dense_layers else 2
    dense = (2 - num) * _dense_layer_params(model)
    return dense, num * moe.num_experts * expert_params(model), num * shared_expert_params(model)


def weight_bytes(
    model: Model,
    quantisation: Quantisation,
    unquantised: tuple[UnquantisedPart, ...] = (),
    *,
    tensor_parallel: int = 1,
    data_parallel: int = 1,
    expert_parallel: int = 1,
    embedding: bool = True,
) -> WeightBytes:
    """Weight bytes of a checkpoint and of a replica's fullest GPU, of tensor_parallel × data_parallel [bytes].

    Embeddings, head, norms and routers stay in bf16 (in fp32 where the format is wider); everything else has the
    format's bits, scales included, unless the format is `experts_only` (then, in a MoE model, only routed experts) or
    the part is listed in `unquantised`. Tensor parallelism splits K and V projections down to one KV head; latent down
    projections, routers, norms and indexers are on every GPU. Data parallelism repeats all but the routed experts,
    which all GPUs of the replica share: whole ones over expert_parallel groups, slices of them within a group.

    embedding: whether its embedding is its own, not another model's.

    vLLM and SGLang layer classes (column, row, replicated); facts/quant_runtime.yaml for what stays in bf16.
    """
    p = parameters(model)
    low = quantisation.bits_per_weight / 8
    plain = max(float(BF16_BYTES), low)
    rest = plain if quantisation.experts_only and model.moe else low
    attention = plain if "attention" in unquantised else rest
    edges = _edge_mlps(model) if "first_and_last_mlp" in unquantised else (0, 0, 0)
    split = 1 / tensor_parallel
    experts = _expert_share(model, quantisation, tensor_parallel * data_parallel, expert_parallel)
    parts = [
        _Part(p.embedding * embedding + p.lm_head, plain, split),
        _Part(p.norms + p.router, plain, 1.0),
        _Part(p.other, rest, 1.0),
        *_attention_parts(model, attention, tensor_parallel),
        _Part(edges[0] + edges[2], plain, split),
        _Part(p.dense_mlp + p.shared_experts - edges[0] - edges[2], rest, split),
        _Part(edges[1], plain, experts),
        _Part(p.routed_experts - edges[1], low, experts),
    ]
    total = sum(part.params * part.bytes_per_param for part in parts)
    per_gpu = sum(part.params * part.bytes_per_param * part.gpu_share for part in parts)
    return WeightBytes(total_bytes=ceil(total), per_gpu_bytes=ceil(per_gpu))
