"""Names that people bring from engines, benchmarks and habit, and what a scenario calls the same thing."""

from collections.abc import Iterator
from typing import Any

from scenarios.shape import branches, entry_types, is_model
from simulator.spec.scenario import Scenario

OURS: dict[str, str] = {
    **dict.fromkeys(("tp", "tp_size", "tensor_parallel_size"), "tensor_parallel"),
    **dict.fromkeys(("dp", "dp_size", "data_parallel_size"), "data_parallel"),
    **dict.fromkeys(("ep", "ep_size", "expert_parallel_size"), "expert_parallel"),
    **dict.fromkeys(("rate", "qps", "rps", "request_rate", "requests_per_s"), "rate_per_s"),
    **dict.fromkeys(("clients", "users", "max_concurrency", "num_users"), "concurrency"),
    **dict.fromkeys(("k", "gamma", "num_speculative_tokens", "num_draft_tokens", "speculative_tokens"), "draft_tokens"),
    **dict.fromkeys(("dtype", "quantization", "quantisation", "precision"), "weights"),
    **dict.fromkeys(("kv_cache_dtype", "kv_dtype", "kv_cache"), "kv"),
    **dict.fromkeys(("gpu_memory_utilization", "mem_fraction_static"), "memory_fraction"),
    **dict.fromkeys(("block_size", "page_size"), "kv_block_tokens"),
    **dict.fromkeys(("input_tokens", "input_len", "isl", "prompt"), "prompt_tokens"),
    **dict.fromkeys(("output_len", "osl", "max_tokens", "output"), "output_tokens"),
    **dict.fromkeys(("acceptance_length", "mean_acceptance_length"), "tokens_per_step"),
    **dict.fromkeys(("context_length", "max_seq_len", "max_context"), "max_model_len"),
    **dict.fromkeys(("max_running_requests", "max_batch_size", "batch_size"), "max_num_seqs"),
    **dict.fromkeys(("num_requests", "num_prompts"), "requests"),
    **dict.fromkeys(("warmup", "num_warmups"), "warmup_requests"),
    **dict.fromkeys(("model_name", "model_id"), "model"),
    "usd_per_hour": "usd_per_gpu_hour",
}
"""Their name → ours, where the place has ours."""

INSTEAD: dict[str, str] = {
    **dict.fromkeys(
        ("gpus", "num_gpus", "gpu_count"),
        "the number of GPUs follows from replicas and the target's tensor_parallel",
    ),
    **dict.fromkeys(
        ("acceptance_rate", "alpha", "acceptance_prob"),
        "one rate does not say how acceptance falls with position; give survival: [S1, S2, …], or tokens_per_step "
        "with at",
    ),
    **dict.fromkeys(
        ("duration", "duration_s", "time_s"), "how much is simulated is said in requests: rate × seconds of them"
    ),
}
"""Unknown key → what to write instead."""


def homes(key: str) -> list[str]:
    """Places of a deployment or of the file that have a key of this name, `*` for a name of the user's own.

    >>> homes("tensor_parallel")
    ['deployments.*.target', 'deployments.*.speculation.drafts.*']
    """
    return list(dict.fromkeys(".".join(path) for path in _homes(Scenario, key, ())))


def _homes(annotation: Any, key: str, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for branch in branches(annotation):
        if is_model(branch):
            for name, inner in entry_types(branch).items():
                if name == key:
                    yield path
                yield from _homes(inner, key, (*path, name))
        elif (named := _values_of(branch)) is not None:
            yield from _homes(named, key, (*path, "*"))


def _values_of(annotation: Any) -> Any:
    """Type of the values of a mapping with names of the user's own."""
    from typing import get_args, get_origin

    arguments = get_args(annotation)
    return arguments[1] if get_origin(annotation) is dict and len(arguments) == 2 else None
