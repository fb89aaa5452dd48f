"""`trtllm-serve`: flags and the YAML of a deployment.

Names and rules: TensorRT-LLM `tensorrt_llm/llmapi/llm_args.py`, `_torch/speculative/interface.py` (1.2 and newer: older
releases read the batch sizes of `draft_len_schedule` as first ones, not as last ones).
"""

from math import ceil
from typing import Any

import yaml

from app.export.command import EngineCommand
from app.export.formats import kv_name
from app.export.left_out import told_of
from app.export.served import DRAFT, MODEL, PORT, Served
from simulator.catalog.load import load_engine
from simulator.spec.draft import Draft
from simulator.spec.draft_policy import ByBatch
from simulator.spec.speculation import DraftSpeculation, DynamicTree

CONFIG_FILE = "trtllm.yaml"
TYPES = {"eagle3": "Eagle3", "mtp": "MTP"}
"""Method of a head → decoding type."""


def command(served: Served, *, synthetic: bool = False) -> EngineCommand:
    """How TensorRT-LLM is started to serve one replica.

    synthetic: every step accepts as many draft tokens as the deployment's do in the mean, whatever the draft says.
    """
    target, limits = served.spec.target, served.limits
    ranks = target.data_parallel
    words = ["trtllm-serve", MODEL, "--port", PORT, "--backend", "pytorch", "--tp_size", str(target.num_gpus)]
    if target.expert_parallel > 1:
        words += ["--ep_size", str(target.expert_parallel)]
    words += ["--max_seq_len", str(limits.max_model_len)]
    words += ["--max_batch_size", str(ceil(limits.max_num_seqs / ranks))]
    words += ["--max_num_tokens", str(ceil(limits.max_num_batched_tokens / ranks))]
    words += ["--extra_llm_api_options", CONFIG_FILE]
    text = yaml.safe_dump(config(served), sort_keys=False)
    return EngineCommand(tuple(words), _synthetic(served) if synthetic else {}, {CONFIG_FILE: text})


def config(served: Served) -> dict[str, Any]:
    """What no flag says."""
    engine, limits = served.spec.engine, served.limits
    policy = load_engine("trtllm")
    share = policy.memory.memory_fraction if engine.memory_fraction is None else engine.memory_fraction
    caches = policy.scheduler.prefix_cache if engine.prefix_cache is None else engine.prefix_cache
    evicts = limits.reserve_output_tokens is None
    found: dict[str, Any] = {
        "kv_cache_config": {
            "dtype": kv_name("trtllm", served.spec.target.kv),
            "free_gpu_memory_fraction": share,
            "enable_block_reuse": caches,
            "tokens_per_block": limits.block_tokens,
        },
        "scheduler_config": {"capacity_scheduler_policy": "MAX_UTILIZATION" if evicts else "GUARANTEED_NO_EVICT"},
        "enable_chunked_prefill": limits.chunked_prefill,
    }
    if served.spec.target.data_parallel > 1:
        found["enable_attention_dp"] = True
    if engine.cuda_graph_max_tokens is not None:
        most = engine.cuda_graph_max_tokens // (served.draft_tokens + 1)
        found["cuda_graph_config"] = {"max_batch_size": most, "enable_padding": True} if most else None
    if engine.batch_wait is not None:
        found["batch_wait_timeout_iters"] = engine.batch_wait.steps
        found["batch_wait_max_tokens_ratio"] = engine.batch_wait.budget_share
    told = told_of(served)
    if told is not None:
        found["speculative_config"] = speculative_config(served, *told)
    return found


def speculative_config(served: Served, speculation: DraftSpeculation, draft: Draft) -> dict[str, Any]:
    """`speculative_config` of the YAML."""
    propose, policy = speculation.propose, speculation.policy
    found = _decoding(draft) | {"max_draft_len": propose.depth}
    if isinstance(propose, DynamicTree):
        tree = {"use_dynamic_tree": True, "dynamic_tree_max_topK": propose.top_k}
        found |= tree | {"max_total_draft_tokens": propose.nodes}
    if isinstance(policy, ByBatch):
        found["draft_len_schedule"] = by_batch_schedule(policy.schedule, served.limits.max_num_seqs)
    return found


def by_batch_schedule(bands: tuple[tuple[int, int, int], ...], most_sequences: int) -> dict[int, int]:
    """Draft tokens up to each band's last batch size, the last of them for all beyond.

    >>> by_batch_schedule(((1, 8, 3), (9, 64, 1)), most_sequences=256)
    {8: 3, 256: 1}
    """
    ends = [*(last for _, last, _ in bands[:-1]), max(bands[-1][1], most_sequences)]
    return {end: draft_tokens for end, (_, _, draft_tokens) in zip(ends, bands, strict=True)}


def _decoding(draft: Draft) -> dict[str, Any]:
    if draft.ngram is not None:
        return {"decoding_type": "NGram"}
    if draft.head is not None and draft.head.method == "mtp":
        return {"decoding_type": "MTP"}
    return {"decoding_type": TYPES[draft.head.method] if draft.head else "Draft_Target", "speculative_model": DRAFT}


def _synthetic(served: Served) -> dict[str, str]:
    """Accepted draft tokens, the bonus token not counted."""
    told = told_of(served)
    if told is None or told[1].ngram is not None:
        return {}
    return {"TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS": f"{served.tokens_per_step - 1.0:.4g}"}
