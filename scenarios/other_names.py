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
    **dict.fromkeys(("model_name", "model_id", "speculative_draft_model_path"), "model"),
    **dict.fromkeys(("topk", "eagle_topk"), "top_k"),
    **dict.fromkeys(("total_tokens", "num_nodes", "tree_nodes"), "nodes"),
    **dict.fromkeys(("tree", "choices", "medusa_choices", "speculative_token_tree"), "paths"),
    **dict.fromkeys(("num_layers", "num_hidden_layers", "num_nextn_predict_layers"), "layers"),
    **dict.fromkeys(("draft_vocab_size", "hot_vocab_size"), "vocab_size"),
    **dict.fromkeys(("num_experts", "experts"), "resident_experts"),
    **dict.fromkeys(("num_experts_per_tok", "moe_top_k"), "active_experts"),
    **dict.fromkeys(("draft_tensor_parallel_size", "speculative_draft_tensor_parallel_size"), "tensor_parallel"),
    "usd_per_hour": "usd_per_gpu_hour",
}
"""Their name → ours, where the place has ours."""

_HEADS = "write kind: heads, and in the draft head: {{method: {}}}"
_SGLANG = (
    "SGLang's chain (topk 1) is propose {shape: chain, draft_tokens: STEPS}; its tree is {shape: dynamic_tree, "
    "depth: STEPS, top_k: TOPK, nodes: DRAFT_TOKENS − 1}: SGLang counts the root"
)

OTHER_KINDS: dict[str, str] = {
    **dict.fromkeys(("eagle", "eagle1", "eagle2"), _HEADS.format("eagle")),
    "eagle3": _HEADS.format("eagle3"),
    **dict.fromkeys(("mtp", "nextn", "deepseek_mtp"), _HEADS.format("mtp")),
    **dict.fromkeys(("medusa", "p-eagle", "p_eagle", "dspark", "dflash"), _HEADS.format("parallel")),
    **dict.fromkeys(("draft_model", "draft", "standalone"), "write kind: drafts"),
    **dict.fromkeys(("lookup", "prompt_lookup", "suffix"), "write kind: ngram, and in the draft ngram: {}"),
    "router": "write kind: routed",
    **dict.fromkeys(("async", "asynchronous", "pearl", "parallel_drafting", "decoupled"), "write kind: draft_ahead"),
    **dict.fromkeys(("separate", "disaggregated_drafts", "draft_gpus", "draft_pool"), "write kind: dedicated"),
    **dict.fromkeys(("eagle_tree", "top_k", "topk"), "write shape: dynamic_tree, with depth, top_k and nodes"),
    "sequoia": "write shape: best_tree",
}
"""Unknown value of `kind` or `shape` → what to write instead."""

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
    **dict.fromkeys(("speculative_num_steps", "speculative_eagle_topk", "speculative_num_draft_tokens"), _SGLANG),
    **dict.fromkeys(
        ("speculative_config", "speculative_algorithm"),
        "stands in speculation: {kind, drafts, propose}; see `specfleet init`",
    ),
    **dict.fromkeys(
        ("prompt_lookup_max", "prompt_lookup_min"),
        "how often a look-up finds something is part of its acceptance (histogram and drafted)",
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
