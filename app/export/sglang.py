"""`python -m sglang.launch_server`: flags of a deployment.

Names and rules: SGLang `srt/server_args.py`, `srt/speculative/adaptive_spec_params.py` (@015c8726), `srt/environ.py`;
memory as `simulator/catalog/engines/sglang.yaml` says.
"""

import json
from collections.abc import Iterator
from math import floor
from typing import Any

from app.export.command import EngineCommand
from app.export.formats import format_flags, quantised_on_loading
from app.export.left_out import told_of
from app.export.served import DRAFT, MODEL, PORT, Served
from simulator.catalog.load import load_engine, load_gpu
from simulator.spec.draft import Draft
from simulator.spec.draft_policy import ByBatch, PerRequest
from simulator.spec.hardware import GIB
from simulator.spec.speculation import DraftSpeculation, DynamicTree

ALGORITHMS = {"eagle": "EAGLE", "eagle3": "EAGLE3", "mtp": "EAGLE"}
"""Method of a head → algorithm; an MTP module is drafted with as an EAGLE head that the checkpoint holds."""
ADAPTIVE_FILE = "adaptive.json"


def command(served: Served, *, synthetic: bool = False) -> EngineCommand:
    """How SGLang is started to serve one replica.

    synthetic: drafts are accepted as often as in the deployment, whatever they say.
    """
    words = ["python", "-m", "sglang.launch_server", "--model-path", MODEL, "--port", PORT]
    words += [*_parallel(served), *format_flags(served), *_engine(served)]
    told = told_of(served)
    if told is None:
        return EngineCommand(tuple(words))
    speculation, draft = told
    words += _speculation(speculation, draft)
    adaptive = adaptive_config(speculation)
    if adaptive is None:
        return EngineCommand(tuple(words), _synthetic(served) if synthetic else {})
    words += ["--speculative-adaptive", "--speculative-adaptive-config", ADAPTIVE_FILE]
    files = {ADAPTIVE_FILE: json.dumps(adaptive, indent=2) + "\n"}
    return EngineCommand(tuple(words), _synthetic(served) if synthetic else {}, files)


def _parallel(served: Served) -> Iterator[str]:
    target = served.spec.target
    yield from ("--tp-size", str(target.num_gpus))
    if target.data_parallel > 1:
        yield from ("--dp-size", str(target.data_parallel), "--enable-dp-attention")
    if target.expert_parallel > 1:
        yield from ("--ep-size", str(target.expert_parallel))


def _engine(served: Served) -> Iterator[str]:
    engine, limits = served.spec.engine, served.limits
    yield from ("--context-length", str(limits.max_model_len))
    yield from ("--max-running-requests", str(limits.max_num_seqs))
    yield from ("--chunked-prefill-size", str(limits.max_num_batched_tokens))
    yield from ("--page-size", str(limits.block_tokens))
    yield from ("--mem-fraction-static", f"{memory_share(served):.3f}")
    if engine.prefix_cache is False:
        yield "--disable-radix-cache"
    if engine.scheduler == "priority":
        yield from ("--enable-priority-scheduling", "--schedule-low-priority-values-first")
    if engine.cuda_graph_max_tokens == 0:
        yield "--disable-cuda-graph"
    elif engine.cuda_graph_max_tokens is not None:
        yield from ("--cuda-graph-max-bs", str(engine.cuda_graph_max_tokens // (served.draft_tokens + 1)))


def memory_share(served: Served) -> float:
    """`mem_fraction_static`: weights and KV ÷ CUDA-visible memory, what the engine reserves taken off [0 to 1]."""
    engine, rule = served.spec.engine, load_engine("sglang").memory
    visible = load_gpu(served.spec.gpu).memory.visible_bytes
    share = rule.memory_fraction if engine.memory_fraction is None else engine.memory_fraction
    usable = visible * share if engine.hbm_budget_gb is None else min(visible * share, engine.hbm_budget_gb * 1e9)
    outside = rule.non_torch_gib["several_gpus" if served.spec.target.num_gpus > 1 else "one_gpu"]
    return floor((usable - (rule.fixed_gib + outside) * GIB) / visible * 1000.0) / 1000.0


def _speculation(speculation: DraftSpeculation, draft: Draft) -> list[str]:
    propose = speculation.propose
    if draft.ngram is not None:
        one_chain = ["--speculative-ngram-max-bfs-breadth", "1"]
        rows = ["--speculative-num-draft-tokens", str(propose.draft_tokens + 1)]
        return ["--speculative-algorithm", "NGRAM", *rows, *one_chain]
    words = ["--speculative-algorithm", ALGORITHMS[draft.head.method] if draft.head is not None else "STANDALONE"]
    if draft.head is None or draft.head.method != "mtp":
        words += ["--speculative-draft-model-path", DRAFT]
    quantised = quantised_on_loading("sglang", draft.weights)
    if quantised is not None:
        words += ["--speculative-draft-model-quantization", quantised]
    top_k = propose.top_k if isinstance(propose, DynamicTree) else 1
    words += ["--speculative-num-steps", str(propose.depth), "--speculative-eagle-topk", str(top_k)]
    return [*words, "--speculative-num-draft-tokens", str(propose.draft_tokens + 1)]


def adaptive_config(speculation: DraftSpeculation) -> dict[str, Any] | None:
    """`--speculative-adaptive-config`: candidates from a batch size on; None where K is fixed."""
    policy = speculation.policy
    if isinstance(policy, ByBatch):
        return by_batch_config(policy.schedule)
    if not isinstance(policy, PerRequest):
        return None
    return {
        "ema_alpha": policy.ema,
        "update_interval": policy.every_steps,
        "warmup_batches": policy.warm_up_steps,
        "up_hysteresis": policy.up_margin,
        "down_hysteresis": policy.down_margin,
        "1": {"candidate_steps": list(policy.candidates)},
    }


def by_batch_config(bands: tuple[tuple[int, int, int], ...]) -> dict[str, Any]:
    """One candidate from each band's first batch size on.

    >>> by_batch_config(((1, 8, 3), (9, 64, 0)))
    {'1': {'candidate_steps': [3]}, '9': {'candidate_steps': [0]}}
    """
    return {str(first): {"candidate_steps": [draft_tokens]} for first, _, draft_tokens in bands}


def _synthetic(served: Served) -> dict[str, str]:
    """Acceptance that is simulated inside the engine; a look-up has nothing to accept in random text."""
    if served.draft is None or served.draft.ngram is not None:
        return {}
    return {
        "SGLANG_SIMULATE_ACC_LEN": f"{served.tokens_per_step:.4g}",
        "SGLANG_SIMULATE_ACC_METHOD": "match-expected",
        "SGLANG_SIMULATE_ACC_TOKEN_MODE": "real-draft-token",
    }
