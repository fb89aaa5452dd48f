"""Bytes of a sequence's KV cache, as a law of its length, and the blocks that hold it."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from simulator.spec.draft import KvDtype
from simulator.spec.model import CompressedKv, Mla, Model

KV_BYTES: dict[KvDtype, int] = {"fp32": 4, "bf16": 2, "fp8": 1, "int8": 1}
"""Bytes of a KV element; the scales of FP8 and INT8 are left out (a few bytes a layer)."""
COMPRESSED_BF16_SLOPE_RATIO = 1.886
"""bf16 ÷ fp8 bytes per token of a compressed cache, whose indexer keys stay in 4 bits: 8,438 / 4,474 (DeepSeek-V4-Pro)
and 5,893 / 3,125 (Flash), facts/models.yaml."""


@dataclass(frozen=True, slots=True)
class KvLaw:
    """KV bytes of one sequence: fixed + slope × length + sliding slope × min(length, window)."""

    fixed_bytes: int = 0
    """Whatever the length: recurrent state, windows of a compressed cache [bytes]."""
    bytes_per_token: int = 0
    """Per token of context, without end [bytes]."""
    window_tokens: int = 0
    sliding_bytes_per_token: int = 0
    """Per token of context, of which sliding layers keep the last `window_tokens` [bytes]."""

    def bytes_at(self, length_tokens: int) -> int:
        """Bytes that a sequence of this length holds [bytes].

        >>> KvLaw(fixed_bytes=100, bytes_per_token=10, window_tokens=4, sliding_bytes_per_token=5).bytes_at(8)
        200
        """
        sliding = self.sliding_bytes_per_token * min(length_tokens, self.window_tokens)
        return self.fixed_bytes + self.bytes_per_token * length_tokens + sliding

    def repeated(self, times: int) -> "KvLaw":
        """The law of so many caches alike.

        >>> KvLaw(bytes_per_token=10).repeated(3).bytes_at(8)
        240
        """
        return KvLaw(
            times * self.fixed_bytes,
            times * self.bytes_per_token,
            self.window_tokens,
            times * self.sliding_bytes_per_token,
        )

    def capped(self, window_tokens: int) -> "KvLaw":
        """The law of a cache that keeps so many tokens of a sequence; one without sliding layers.

        >>> KvLaw(bytes_per_token=10).capped(4).bytes_at(8)
        40
        """
        assert not self.sliding_bytes_per_token, "two windows in one cache: refused by checks"
        return KvLaw(self.fixed_bytes, 0, window_tokens, self.bytes_per_token)


def gqa_kv_bytes_per_token(
    num_layers: int, num_kv_heads: int, head_dim: int, element_bytes: int, tensor_parallel: int = 1
) -> int:
    """K and V of one token on one GPU [bytes].

    b = 2·L·⌈h_kv / min(tp, h_kv)⌉·d·e: tensor parallelism beyond the KV heads repeats them.

    >>> gqa_kv_bytes_per_token(num_layers=32, num_kv_heads=8, head_dim=128, element_bytes=1)
    65536
    >>> gqa_kv_bytes_per_token(num_layers=62, num_kv_heads=8, head_dim=128, element_bytes=2, tensor_parallel=16)
    31744

    NVIDIA/TensorRT-LLM issue 6294 and vllm-project/recipes PR 12 (both exact).
    """
    return 2 * num_layers * ceil(num_kv_heads / min(tensor_parallel, num_kv_heads)) * head_dim * element_bytes


def mla_kv_bytes_per_token(num_layers: int, mla: Mla, element_bytes: int) -> int:
    """Latent and rotary key of one token, the same on every GPU of a tensor-parallel group [bytes].

    b = L·(r_kv + d_rope)·e.

    >>> v3 = Mla(q_lora_rank=1536, kv_lora_rank=512, qk_rope_head_dim=64, qk_nope_head_dim=128, v_head_dim=128)
    >>> mla_kv_bytes_per_token(61, v3, element_bytes=2)
    70272

    DeepSeek-AI, 2024, arXiv:2405.04434, table 1.
    """
    return num_layers * (mla.kv_lora_rank + mla.qk_rope_head_dim) * element_bytes


def kv_law(model: Model, kv_dtype: KvDtype, tensor_parallel: int = 1) -> KvLaw:
    """KV bytes of a sequence on one GPU of its tensor-parallel group; with tensor_parallel 1, in the whole group.

    Under data-parallel attention a sequence lives in one group only. Latent and compressed caches are repeated on every
    GPU of a group; the recurrent state is split.
    """
    element = KV_BYTES[kv_dtype]
    state = ceil(model.recurrent_state_bytes / tensor_parallel)
    if model.compressed_kv is not None:
        return _compressed_law(model.compressed_kv, kv_dtype, state)
    if model.mla is not None:
        return KvLaw(state, mla_kv_bytes_per_token(model.num_layers, model.mla, element))
    full, sliding = full_and_sliding_layers(model)
    full_bytes, sliding_bytes = (
        gqa_kv_bytes_per_token(layers, model.num_kv_heads, model.head_dim, element, tensor_parallel)
        for layers in (full, sliding)
    )
    window = model.sliding.window_tokens if model.sliding and sliding else 0
    return KvLaw(state, full_bytes, window, sliding_bytes)


def full_and_sliding_layers(model: Model) -> tuple[int, int]:
    """Layers that keep the whole context, and layers that keep a window [count].

    A window no shorter than the model's longest context is none.
    """
    full = model.num_full_attention_layers or model.num_layers
    if model.sliding is None or model.sliding.window_tokens >= model.max_position:
        return full, 0
    return model.num_layers - model.sliding.num_layers, model.sliding.num_layers


def _compressed_law(kv: CompressedKv, kv_dtype: KvDtype, state_bytes: int) -> KvLaw:
    fixed, slope = (1.0, 1.0) if KV_BYTES[kv_dtype] == 1 else (2.0, COMPRESSED_BF16_SLOPE_RATIO)
    return KvLaw(state_bytes + ceil(fixed * kv.fixed_bytes_per_sequence), ceil(slope * kv.bytes_per_token))


def block_bytes(laws: Sequence[KvLaw], block_tokens: int) -> int:
    """Bytes of one KV block on a GPU: its tokens in every cache, the target's and the draft's [bytes].

    Only what grows without end counts; a model whose layers all slide counts its windows.

    >>> block_bytes([KvLaw(bytes_per_token=100), KvLaw(bytes_per_token=20)], block_tokens=16)
    1920
    """
    growing = sum(law.bytes_per_token for law in laws)
    return block_tokens * (growing or sum(law.sliding_bytes_per_token for law in laws))


def sequence_blocks(laws: Sequence[KvLaw], block_tokens: int, length_tokens: int) -> int:
    """Blocks that a sequence of this length takes: its tokens', and what its other bytes are worth in blocks [count].

    >>> sequence_blocks([KvLaw(bytes_per_token=100)], block_tokens=16, length_tokens=17)
    2
    >>> sequence_blocks([KvLaw(fixed_bytes=1601, bytes_per_token=100)], block_tokens=16, length_tokens=17)
    4
    """
    stored = ceil(length_tokens / block_tokens) * block_tokens
    growing = sum(law.bytes_per_token for law in laws) * stored
    all_bytes = sum(law.bytes_at(stored) for law in laws)
    per_block = block_bytes(laws, block_tokens)
    return growing // per_block + ceil((all_bytes - growing) / per_block)


def longest_sequence(laws: Sequence[KvLaw], block_tokens: int, num_blocks: int, limit_tokens: int) -> int:
    """Longest sequence, up to a limit, that so many blocks hold; 0 if none [tokens].

    >>> longest_sequence([KvLaw(bytes_per_token=100)], block_tokens=16, num_blocks=3, limit_tokens=1000)
    48
    """
    low, high = 0, limit_tokens
    while low < high:
        middle = (low + high + 1) // 2
        if sequence_blocks(laws, block_tokens, middle) <= num_blocks:
            low = middle
        else:
            high = middle - 1
    return low
