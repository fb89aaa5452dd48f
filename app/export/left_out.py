"""What of a deployment no engine can be told, or this one cannot: by name, with the reason."""

from collections.abc import Callable, Iterator

from app.export.served import Served
from simulator.spec.draft import Draft
from simulator.spec.speculation import DraftSpeculation

NO_CHECKPOINT = {
    "abstract": "is given by its costs: there is no checkpoint to load",
    "measured": "is given by what was measured of it: there is no checkpoint to load",
    "moe_subset": "is the target with a part of its experts, which engines do not draft with",
}
"""Ways to give a draft that no engine can serve → why."""


def drafts_left_out(served: Served) -> Iterator[str]:
    """Why the engine cannot speculate as the deployment does; nothing where it can, or has no drafts."""
    speculation = served.spec.speculation
    if speculation.kind == "none" or not speculation.draft_tokens:
        return
    if speculation.combine.kind == "routed":
        names = ", ".join(speculation.drafts)
        yield f"combine routed ({names}): engines serve one draft, they do not route among several"
        return
    if speculation.combine.kind == "union":
        yield f"combine union ({', '.join(speculation.drafts)}): engines verify the proposals of one draft"
        return
    if speculation.placement.kind == "dedicated":
        yield "placement dedicated: engines run the draft on the target's GPUs"
    name, draft = next(iter(speculation.drafts.items()))
    yield from (f"drafts.{name} {why}" for why in _of_draft(draft))
    yield from _OF_ENGINE[served.engine](served, speculation, draft)


def told_of(served: Served) -> tuple[DraftSpeculation, Draft] | None:
    """What the engine is told to speculate with; None without drafts, and where it cannot speculate so."""
    speculation, draft = served.spec.speculation, served.draft
    if speculation.kind == "none" or draft is None or not served.draft_tokens or any(drafts_left_out(served)):
        return None
    return speculation, draft


def _of_draft(draft: Draft) -> Iterator[str]:
    if draft.way in NO_CHECKPOINT:
        yield NO_CHECKPOINT[draft.way]
    if draft.window is not None:
        yield "keeps a window of its KV, which engines do not"


def _vllm_drafts(served: Served, speculation: DraftSpeculation, draft: Draft) -> Iterator[str]:
    if speculation.propose.shape != "chain":
        yield f"propose {speculation.propose.shape}: vLLM verifies chains"
    if draft.tensor_parallel not in (1, served.spec.target.tensor_parallel):
        yield f"draft tensor_parallel {draft.tensor_parallel}: vLLM splits a draft as its target, or not at all"
    if speculation.policy.kind in ("per_request", "goodput"):
        yield f"policy {speculation.policy.kind}: vLLM changes draft tokens by batch only"
    if speculation.policy.kind == "by_batch" and served.spec.target.data_parallel > 1:
        yield "policy by_batch: vLLM switches its schedule off with data parallelism"


def _sglang_drafts(served: Served, speculation: DraftSpeculation, draft: Draft) -> Iterator[str]:
    shape, policy = speculation.propose.shape, speculation.policy.kind
    heads = draft.head is not None and draft.head.method != "parallel"
    if shape != "chain" and not (shape == "dynamic_tree" and heads):
        yield f"propose {shape}: SGLang verifies chains, and dynamic trees of EAGLE heads"
    if draft.head is not None and draft.head.method == "parallel":
        yield "head parallel: SGLang takes DFLASH or DSPARK by their checkpoints, with sizes that a scenario lacks"
    if policy == "goodput":
        yield "policy goodput: SGLang changes draft tokens by what was accepted, or by batch"
    if policy in ("by_batch", "per_request") and (not heads or served.spec.target.data_parallel > 1):
        yield f"policy {policy}: SGLang changes draft tokens of EAGLE heads only, without data-parallel attention"
    yield from _split_as_target(served, draft, "SGLang")


def _trtllm_drafts(served: Served, speculation: DraftSpeculation, draft: Draft) -> Iterator[str]:
    shape, policy = speculation.propose.shape, speculation.policy
    if draft.head is not None and draft.head.method not in ("eagle3", "mtp"):
        yield f"head {draft.head.method}: TensorRT-LLM's PyTorch backend serves EAGLE-3 and MTP heads"
    if shape != "chain" and not (shape == "dynamic_tree" and draft.head and draft.head.method == "eagle3"):
        yield f"propose {shape}: TensorRT-LLM verifies chains, and dynamic trees of EAGLE-3 heads"
    if policy.kind in ("per_request", "goodput"):
        yield f"policy {policy.kind}: TensorRT-LLM changes draft tokens by batch only"
    if policy.kind == "by_batch" and policy.schedule[0][2] != policy.most:
        yield "policy by_batch: TensorRT-LLM's draft_len_schedule has most draft tokens in its first band"
    yield from _split_as_target(served, draft, "TensorRT-LLM")


def _split_as_target(served: Served, draft: Draft, engine: str) -> Iterator[str]:
    tensor_parallel = served.spec.target.tensor_parallel
    if draft.way in ("model", "head") and draft.tensor_parallel != tensor_parallel:
        yield (
            f"draft tensor_parallel {draft.tensor_parallel}: {engine} splits a draft as its target "
            f"({tensor_parallel}): say so in the scenario"
        )


_OF_ENGINE: dict[str, Callable[[Served, DraftSpeculation, Draft], Iterator[str]]] = {
    "vllm": _vllm_drafts,
    "sglang": _sglang_drafts,
    "trtllm": _trtllm_drafts,
}


def settings_left_out(served: Served) -> Iterator[str]:
    """Settings beside the drafts that the engine cannot be told, each with the reason."""
    spec, engine = served.spec, served.spec.engine
    if engine.kv_host_gb is not None:
        yield "engine.kv_host_gb: engines move idle KV to the host, they do not read a part of it from there"
    if spec.target.kv in ("fp32", "int8"):
        yield f"target.kv {spec.target.kv}: engines keep KV in bf16 or fp8"
    yield from _SETTINGS_OF_ENGINE[served.engine](served)


def _vllm_settings(served: Served) -> Iterator[str]:
    target = served.spec.target
    yield from _admits_at_once(served, "vLLM")
    if target.expert_parallel not in (1, target.num_gpus):
        yield f"target.expert_parallel {target.expert_parallel}: vLLM spreads experts over all {target.num_gpus} GPUs"


def _sglang_settings(served: Served) -> Iterator[str]:
    yield from _admits_at_once(served, "SGLang")


def _admits_at_once(served: Served, engine: str) -> Iterator[str]:
    """What an engine lacks that takes KV as it is needed, and computes again what it took too much for."""
    asked = served.spec.engine
    if asked.scheduler == "shortest_prompt":
        yield f"engine.scheduler shortest_prompt: {engine} has fcfs and priority"
    if asked.preemption == "swap":
        yield f"engine.preemption swap: {engine} computes a preempted request again"
    if asked.admission == "no_eviction":
        yield f"engine.admission no_eviction: {engine} takes KV as it is needed"
    if asked.batch_wait is not None:
        yield f"engine.batch_wait: {engine} lets prompts in at once"


def _trtllm_settings(served: Served) -> Iterator[str]:
    target, engine = served.spec.target, served.spec.engine
    if engine.scheduler != "fcfs":
        yield f"engine.scheduler {engine.scheduler}: TensorRT-LLM serves in order of arrival"
    if engine.preemption == "swap":
        yield "engine.preemption swap: TensorRT-LLM computes a paused request again"
    if engine.hbm_budget_gb is not None:
        yield "engine.hbm_budget_gb: TensorRT-LLM takes a share of the memory that weights leave free"
    if target.data_parallel > 1 and target.tensor_parallel > 1:
        yield "target.data_parallel with tensor_parallel: TensorRT-LLM copies attention to all GPUs, or splits it"


_SETTINGS_OF_ENGINE: dict[str, Callable[[Served], Iterator[str]]] = {
    "vllm": _vllm_settings,
    "sglang": _sglang_settings,
    "trtllm": _trtllm_settings,
}
