"""What an engine may use of a GPU, what its passes need beside weights and KV, and what it leaves to KV."""

from math import floor

from simulator.spec.policy import MemoryRule


def usable_memory_bytes(visible_bytes: int, memory_fraction: float, budget_bytes: float | None = None) -> int:
    """Memory that an engine may use on a GPU: a fraction of what CUDA shows, and no more than the budget [bytes].

    >>> usable_memory_bytes(1000, 0.9)
    900
    >>> usable_memory_bytes(1000, 0.9, budget_bytes=800)
    800

    vLLM `gpu_worker.py` (gpu_memory_utilization × total memory).
    """
    share = visible_bytes * memory_fraction
    return floor(share if budget_bytes is None else min(share, budget_bytes))


def activation_peak_bytes(rule: MemoryRule, vocab_size: int, hidden_size: int, batched_tokens: int) -> int:
    """Peak beside weights and KV, by the engine's rule: the sampler's logits plus the layers' buffers [bytes].

    A = a·V + c·T·h with vocabulary V, step budget T [tokens] and hidden size h; a and c [bytes] are the rule's. Logits
    are gathered, so tensor parallelism does not split them.
    """
    logits = rule.activation_bytes_per_vocab_entry * vocab_size
    layers = rule.activation_bytes_per_batched_token_per_hidden * batched_tokens * hidden_size
    return round(logits + layers)


def kv_room_bytes(rule: MemoryRule, usable_bytes: int, used_bytes: int, memory_fraction: float) -> int:
    """Room for KV under the two rules of engines; below 0 when the rest does not fit [bytes].

    fraction_of_visible: usable − used. fraction_of_free: fraction × (usable − used), usable being all that CUDA shows.

    vLLM `gpu_worker.py`; TensorRT-LLM `free_gpu_memory_fraction`.
    """
    free = usable_bytes - used_bytes
    if rule.kind == "fraction_of_free" and free > 0:
        return floor(memory_fraction * free)
    return free
