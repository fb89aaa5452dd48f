"""Heads on the target's hidden states (EAGLE, MTP, parallel drafts) as models of their own: priced and stored like any.

It does not know what a pass costs, nor how many modules stand in a row.
"""

from math import ceil

from simulator.physics.matrices import shared_intermediate
from simulator.spec.draft import Head
from simulator.spec.model import CompressedKv, Model

INPUT_STATES = {"eagle": 2, "mtp": 2, "eagle3": 3, "parallel": 3}
"""Vectors of the hidden size that a head's input projection reads. eagle: the embedding and the last hidden state; mtp:
the same, normed; eagle3 and the parallel drafts that are built on it: hidden states of three layers.

SafeAILab/EAGLE `cnets1.py`, `cnets.py` (`fc`); DeepSeek-V3, arXiv:2412.19437, equation 21; P-EAGLE in vLLM PR 32628.
"""
_WIDE_ATTENTION = ("eagle3", "parallel")
"""Methods whose first layer's attention reads the embedding beside the projected state."""


def head_model(target: Model, head: Head) -> Model:
    """One module of a head: decoder layers of the target's shape, input projection, output head over its vocabulary.

    `tie_word_embeddings` says that the output head is the target's: it takes time and no bytes. The embedding is always
    the target's. Layers attend to the whole context, also where the target's slide or are linear.

    EAGLE, arXiv:2401.15077, and EAGLE-3, arXiv:2503.01840, section 3; DeepSeek-V3, arXiv:2412.19437, section 2.2.
    """
    moe = None if head.dense or target.moe is None else target.moe.model_copy(update={"first_dense_layers": 0})
    changed: dict[str, object] = {
        "name": f"{target.name}-{head.method}-head",
        "num_layers": head.layers,
        "moe": moe,
        "intermediate_size": _intermediate_size(target, head) if moe is None else 0,
        "vocab_size": head.vocab_size or target.vocab_size,
        "tie_word_embeddings": head.vocab_size is None,
        "norm_params": (2 * head.layers + 2) * target.hidden_size,
        "other_params": input_projection_params(target, head) + _wide_attention_params(target, head),
        "attention_extra_params": 0,
        "sliding": None,
        "num_full_attention_layers": 0,
        "recurrent_state_bytes": 0,
        "published": None,
    }
    return target.model_copy(update=changed | _attention(target, head.layers))


def after_the_first_pass(model: Model, target: Model, head: Head) -> Model:
    """The head in passes on its own states: what joins the target's hidden states is not run again."""
    if head.method not in _WIDE_ATTENTION:
        return model
    return model.model_copy(update={"other_params": model.other_params - input_projection_params(target, head)})


def input_projection_params(target: Model, head: Head) -> int:
    """The projection of the input states to the hidden size [parameters].

    N = s·h², with s input states and the hidden size h.
    """
    return INPUT_STATES[head.method] * target.hidden_size**2


def _wide_attention_params(target: Model, head: Head) -> int:
    """Queries, keys and values of the first layer, as far as they read a second vector [parameters]."""
    if head.method not in _WIDE_ATTENTION:
        return 0
    if target.mla is not None:
        mla = target.mla
        return target.hidden_size * (mla.q_lora_rank + mla.kv_lora_rank + mla.qk_rope_head_dim)
    return target.hidden_size * target.head_dim * (target.num_attention_heads + 2 * target.num_kv_heads)


def _intermediate_size(target: Model, head: Head) -> int:
    """Of a dense MLP: as given, the target's dense one, or that of the experts that a token uses."""
    if head.intermediate_size is not None or target.intermediate_size or target.moe is None:
        return head.intermediate_size or target.intermediate_size
    return target.moe.top_k * target.moe.expert_intermediate + shared_intermediate(target)


def _attention(target: Model, layers: int) -> dict[str, object]:
    """Attention of a target whose parameters are given for all layers: an even share, or plain heads where KV is."""
    if target.compressed_kv is None:
        return {"attention": "mla" if target.mla is not None else "gqa", "attention_params": 0}
    share = layers / target.num_layers
    kv = target.compressed_kv
    cache = CompressedKv(
        fixed_bytes_per_sequence=share * kv.fixed_bytes_per_sequence, bytes_per_token=share * kv.bytes_per_token
    )
    return {"attention_params": ceil(share * target.attention_params), "compressed_kv": cache}
