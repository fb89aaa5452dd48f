"""The layers of a checkpoint by its config.json: which slide, which are dense, what attention and experts hold."""

from collections.abc import Sequence

from simulator.catalog.hub.families import Family
from simulator.catalog.hub.keys import Keys
from simulator.spec.model import Mla, Moe, SlidingWindow

STATE_BYTES = 4
"""Bytes of an element of a recurrent state: engines keep it in 32 bits."""
SLIDING, FULL, LINEAR = "sliding_attention", "full_attention", "linear_attention"
KINDS = {"gqa": (FULL, SLIDING), "mla": (FULL,), "gated_delta": (FULL, LINEAR)}
"""Kind of attention → what its layers may be."""


def attention_head_dim(keys: Keys) -> int:
    """Size of a head, as stated or as the hidden size shares out."""
    stated = keys.optional("head_dim")
    if stated:
        return stated
    hidden, heads = keys.positive("hidden_size"), keys.positive("num_attention_heads")
    if hidden % heads:
        raise keys.wrong("num_attention_heads", f"no head_dim, and it does not divide the hidden_size {hidden}")
    return hidden // heads


def latent_attention(keys: Keys) -> Mla:
    """Ranks and sizes of multi-head latent attention."""
    if keys.optional("q_lora_rank") is None:
        raise keys.wrong("q_lora_rank", "latent attention with whole query matrices is not modelled")
    names = ("q_lora_rank", "kv_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim")
    return Mla(**{name: keys.positive(name) for name in names})


def extra_params(keys: Keys, family: Family, heads: tuple[int, int, int]) -> int:
    """Biases, norms of queries and keys, and sinks of one layer of grouped-query attention [parameters].

    heads: query heads, KV heads, and the size of a head.
    """
    num_heads, num_kv_heads, head_dim = heads
    qkv = (num_heads + 2 * num_kv_heads) * head_dim
    has_qkv, has_output = _biases(keys, family)
    normed = keys.flag("use_qk_norm") if keys.get("use_qk_norm") is not None else family.qk_norm
    biases = has_qkv * qkv + has_output * keys.positive("hidden_size")
    return biases + normed * 2 * head_dim + family.sinks * num_heads


def _biases(keys: Keys, family: Family) -> tuple[bool, bool]:
    """Whether Q, K and V have biases, and whether the output has; a file that contradicts its type is refused."""
    for name, always in (("attention_bias", family.biases == "all"), ("qkv_bias", family.biases == "qkv")):
        if keys.get(name) is not None and not family.biases.startswith("stated") and keys.flag(name) != always:
            raise keys.wrong(name, "models of this type are not known with it")
    stated = keys.flag("attention_bias") and family.biases.startswith("stated")
    return family.biases in ("qkv", "all") or stated, family.biases == "all" or (stated and family.biases == "stated")


def indexer_params(keys: Keys, mla: Mla) -> int:
    """Matrices of one layer's indexer: queries, one key, weights of its heads; its norm is left out [parameters].

    DeepSeek-AI, DeepSeek-V3.2-Exp, 2025, inference code (class Indexer).
    """
    heads, head_dim, hidden = (
        keys.positive("index_n_heads"),
        keys.positive("index_head_dim"),
        keys.positive("hidden_size"),
    )
    return mla.q_lora_rank * heads * head_dim + hidden * head_dim + hidden * heads


def gated_delta_params(keys: Keys) -> int:
    """Parameters of one layer of gated linear attention: projections, convolution, gates, norm.

    transformers, class Qwen3NextGatedDeltaNet.
    """
    hidden, value_heads = keys.positive("hidden_size"), keys.positive("linear_num_value_heads")
    key_size = keys.positive("linear_num_key_heads") * keys.positive("linear_key_head_dim")
    value_size = value_heads * keys.positive("linear_value_head_dim")
    projections = hidden * (2 * key_size + 2 * value_size + 2 * value_heads) + value_size * hidden
    convolution = (2 * key_size + value_size) * keys.positive("linear_conv_kernel_dim")
    return projections + convolution + 2 * value_heads + keys.positive("linear_value_head_dim")


def gated_attention_params(keys: Keys, heads: tuple[int, int, int]) -> int:
    """Parameters of one layer of grouped-query attention whose query matrix brings a gate, norms included."""
    num_heads, num_kv_heads, head_dim = heads
    return keys.positive("hidden_size") * head_dim * (3 * num_heads + 2 * num_kv_heads) + 2 * head_dim


def recurrent_bytes(keys: Keys) -> int:
    """State of one layer of gated linear attention of a sequence [bytes]; that of its convolution is left out."""
    size = keys.positive("linear_key_head_dim") * keys.positive("linear_value_head_dim")
    return keys.positive("linear_num_value_heads") * size * STATE_BYTES


def layer_kinds(keys: Keys, family: Family, num_layers: int) -> Sequence[str]:
    """What each layer attends to: everything, a window, or a recurrent state."""
    stated = keys.texts("layer_types")
    if not stated:
        return _by_rule(keys, family, num_layers)
    if len(stated) != num_layers:
        raise keys.wrong("layer_types", f"{len(stated)} layers, where num_hidden_layers is {num_layers}")
    allowed = KINDS[family.attention]
    for kind in stated:
        if kind not in allowed:
            raise keys.wrong("layer_types", f"{kind} is not modelled here; known: {', '.join(allowed)}")
    return stated


def _by_rule(keys: Keys, family: Family, num_layers: int) -> Sequence[str]:
    """The kinds that the class gives to layers where the file names none."""
    if family.attention == "gated_delta":
        period = keys.positive("full_attention_interval")
        return [LINEAR if (layer + 1) % period else FULL for layer in range(num_layers)]
    if family.windows == "pattern":
        period = keys.positive("sliding_window_pattern")
        return [SLIDING if (layer + 1) % period else FULL for layer in range(num_layers)]
    if family.windows == "alternate":
        return [FULL if layer % 2 else SLIDING for layer in range(num_layers)]
    num = _num_sliding(keys, family, num_layers)
    return [SLIDING] * num + [FULL] * (num_layers - num)


def _num_sliding(keys: Keys, family: Family, num_layers: int) -> int:
    """How many layers slide, where it is all of them or those from some layer on; which ones makes no difference."""
    if family.windows == "all":
        return num_layers if keys.optional("sliding_window") else 0
    if family.windows == "none" and keys.optional("sliding_window"):
        raise keys.wrong("sliding_window", "models of this type are not known with it")
    if not keys.flag("use_sliding_window"):
        return 0
    if family.windows == "refused":
        raise keys.wrong("use_sliding_window", "which layers slide is not said: layer_types is needed")
    return max(num_layers - keys.count("max_window_layers"), 0)


def sliding(keys: Keys, kinds: Sequence[str]) -> SlidingWindow | None:
    """The window, and how many layers have it; None where none has."""
    num = kinds.count(SLIDING)
    return SlidingWindow(window_tokens=keys.positive("sliding_window"), num_layers=num) if num else None


def routed_experts(keys: Keys, family: Family, num_layers: int) -> Moe:
    """Experts of the layers that have them."""
    names = ("n_routed_experts", "num_experts", "num_local_experts")
    width = keys.positive("moe_intermediate_size", "intermediate_size")
    num_experts = keys.positive(*names)
    shared_width = keys.optional("shared_expert_intermediate_size") or 0
    top_k = keys.positive("num_experts_per_tok", "experts_per_token")
    if top_k > num_experts:
        raise keys.wrong("num_experts_per_tok", f"there are {num_experts} experts to choose from")
    return Moe(
        num_experts=num_experts,
        top_k=top_k,
        num_shared=1 if shared_width else keys.optional("n_shared_experts") or 0,
        expert_intermediate=width,
        shared_intermediate=shared_width,
        first_dense_layers=_dense_at_the_start(keys, num_layers),
        expert_bias_params=(2 * width + keys.positive("hidden_size")) if family.biased_experts else 0,
        router_bias_params=num_experts if family.router_bias else 0,
        extra_params_per_layer=keys.positive("hidden_size") if shared_width else 0,
    )


def _dense_at_the_start(keys: Keys, num_layers: int) -> int:
    """Layers without experts; those that are not all at the start are refused."""
    for name in ("moe_layer_freq", "decoder_sparse_step"):
        if keys.get(name) not in (None, 1):
            raise keys.wrong(name, "layers with and without experts in turn are not modelled")
    stated = keys.optional("first_k_dense_replace") or 0
    if kinds := keys.texts("mlp_layer_types"):
        stated = kinds.count("dense")
        if list(kinds) != ["dense"] * stated + ["sparse"] * (num_layers - stated):
            raise keys.wrong("mlp_layer_types", "dense layers that are not the first ones are not modelled")
    only = keys.get("mlp_only_layers") or []
    if not isinstance(only, list) or only != list(range(len(only))):
        raise keys.wrong("mlp_only_layers", "dense layers that are not the first ones are not modelled")
    dense = max(stated, len(only))
    if dense >= num_layers:
        raise keys.wrong("first_k_dense_replace", f"of {num_layers} layers none is left for experts")
    return dense
