"""`vllm serve`: flags of a deployment.

Names and rules: vLLM `vllm/engine/arg_utils.py`, `vllm/config/speculative.py` (@002e77c1).
"""

import json
from collections.abc import Iterator
from math import ceil
from typing import Any

from app.export.command import EngineCommand
from app.export.formats import format_flags, kv_name, quantised_on_loading
from app.export.left_out import told_of
from app.export.served import DRAFT, MODEL, PORT, Served
from simulator.catalog.load import load_engine, load_gpu
from simulator.spec.draft import Draft
from simulator.spec.draft_policy import ByBatch
from simulator.spec.speculation import DraftSpeculation

METHODS = {"eagle": "eagle", "eagle3": "eagle3", "mtp": "mtp", "parallel": "eagle3"}
"""How a head is called; a parallel one also says `parallel_drafting`."""


def command(served: Served, *, synthetic: bool = False) -> EngineCommand:
    """How vLLM is started to serve one replica.

    synthetic: drafts are accepted at the deployment's own rates, whatever they say.
    """
    words = ["vllm", "serve", MODEL, "--port", PORT, *_split(served), *arguments(served, synthetic=synthetic)]
    return EngineCommand(tuple(words))


def arguments(served: Served, *, synthetic: bool = False) -> list[str]:
    """The flags without the model, its port and its split, which a chart sets itself."""
    words = [*format_flags(served), *_engine(served)]
    config = speculative_config(served, synthetic=synthetic)
    return words if config is None else [*words, "--speculative-config", json.dumps(config)]


def _split(served: Served) -> Iterator[str]:
    target = served.spec.target
    yield from ("--tensor-parallel-size", str(target.tensor_parallel))
    if target.data_parallel > 1:
        yield from ("--data-parallel-size", str(target.data_parallel))


def _engine(served: Served) -> Iterator[str]:
    engine, limits = served.spec.engine, served.limits
    defaults, ranks = load_engine("vllm").scheduler, served.spec.target.data_parallel
    yield from ("--max-model-len", str(limits.max_model_len))
    yield from ("--max-num-seqs", str(ceil(limits.max_num_seqs / ranks)))
    yield from ("--max-num-batched-tokens", str(ceil(limits.max_num_batched_tokens / ranks)))
    yield from ("--block-size", str(limits.block_tokens))
    yield from ("--gpu-memory-utilization", f"{memory_share(served):.4g}")
    caches = defaults.prefix_cache if engine.prefix_cache is None else engine.prefix_cache
    yield "--enable-prefix-caching" if caches else "--no-enable-prefix-caching"
    if engine.scheduler == "priority":
        yield from ("--scheduling-policy", "priority")
    if served.spec.target.expert_parallel > 1:
        yield "--enable-expert-parallel"
    if engine.cuda_graph_max_tokens == 0:
        yield "--enforce-eager"
    elif engine.cuda_graph_max_tokens is not None:
        graphs = {"max_cudagraph_capture_size": engine.cuda_graph_max_tokens}
        yield from ("--compilation-config", json.dumps(graphs))


def memory_share(served: Served) -> float:
    """Share of the CUDA-visible memory that the engine may use, the deployment's budget in it [0 to 1]."""
    engine, visible = served.spec.engine, load_gpu(served.spec.gpu).memory.visible_bytes
    share = load_engine("vllm").memory.memory_fraction if engine.memory_fraction is None else engine.memory_fraction
    return share if engine.hbm_budget_gb is None else min(share, engine.hbm_budget_gb * 1e9 / visible)


def speculative_config(served: Served, *, synthetic: bool) -> dict[str, Any] | None:
    """`--speculative-config`; None without drafts that vLLM can be told of."""
    told = told_of(served)
    if told is None:
        return None
    speculation, draft = told
    config = _method(served, draft) | {"num_speculative_tokens": served.draft_tokens} | _by_batch(speculation)
    if synthetic and draft.ngram is None:
        rates = [round(rate, 4) for rate in served.rates]
        config |= {"rejection_sample_method": "synthetic", "synthetic_acceptance_rates": rates}
    return config


def _method(served: Served, draft: Draft) -> dict[str, Any]:
    if draft.ngram is not None:
        return {"method": "ngram"}
    if draft.head is not None and draft.head.method == "mtp":
        return {"method": "mtp"}
    found: dict[str, Any] = {"method": METHODS[draft.head.method] if draft.head else "draft_model", "model": DRAFT}
    if draft.head is not None and draft.head.method == "parallel":
        found["parallel_drafting"] = True
    if served.spec.target.tensor_parallel > 1:
        found["draft_tensor_parallel_size"] = draft.tensor_parallel
    quantised = quantised_on_loading("vllm", draft.weights)
    if quantised is not None:
        found["quantization"] = quantised
    if draft.kv != served.spec.target.kv:
        found["kv_cache_dtype"] = kv_name("vllm", draft.kv)
    return found


def _by_batch(speculation: DraftSpeculation) -> dict[str, Any]:
    """The deployment's own schedule, where it has one."""
    policy = speculation.policy
    if not isinstance(policy, ByBatch):
        return {}
    return {"num_speculative_tokens_per_batch_size": [list(band) for band in policy.schedule]}
