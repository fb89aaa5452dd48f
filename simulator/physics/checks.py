"""What no hardware can do, however much memory there is: splits that do not divide, formats without a kernel."""

from simulator.catalog.load import load_gpu, load_links, load_model, load_quantisation
from simulator.errors import CatalogError
from simulator.physics.formats import compute_dtype, peak_flop_per_s
from simulator.physics.kv import full_and_sliding_layers
from simulator.spec.deployment import Deployment, Target
from simulator.spec.draft import Draft, Head, KvDtype, MoeSubset
from simulator.spec.model import Model


def check_deployment(name: str, deployment: Deployment) -> list[str]:
    """Physical impossibilities of a deployment called `name`, each with its place and the way out; empty if none."""
    target, model = deployment.target, load_model(deployment.target.model)
    problems = [
        *_split_problems(f"{name}.target.tensor_parallel", model, target.tensor_parallel),
        *_expert_problems(name, target, model),
        *_format_problems(f"{name}.target.weights", target.weights, deployment.gpu),
        *_host_problems(name, deployment),
        *_kv_problems(f"{name}.target.kv", target.kv, model),
        *_draft_problems(name, deployment),
        *_pool_problems(name, deployment),
    ]
    length = deployment.engine.max_model_len
    if length is not None and length > model.max_position:
        problems.append(
            f"{name}.engine.max_model_len: {length:,} is above the {model.max_position:,} positions of {model.name}"
        )
    return problems


def _split_problems(place: str, model: Model, tensor_parallel: int) -> list[str]:
    heads, kv_heads = model.num_attention_heads, model.num_kv_heads
    if heads % tensor_parallel:
        possible = ", ".join(str(n) for n in (1, 2, 4, 8, 16, 32) if heads % n == 0 and _kv_heads_split(kv_heads, n))
        return [
            f"{place}: {tensor_parallel} does not divide the {heads} attention heads of {model.name}; try {possible}"
        ]
    if model.mla is None and not _kv_heads_split(kv_heads, tensor_parallel):
        return [
            f"{place}: {tensor_parallel} neither divides nor is a multiple of the {kv_heads} KV heads of {model.name}"
        ]
    return []


def _kv_heads_split(num_kv_heads: int, tensor_parallel: int) -> bool:
    return num_kv_heads % tensor_parallel == 0 or tensor_parallel % num_kv_heads == 0


def _expert_problems(name: str, target: Target, model: Model) -> list[str]:
    groups = target.expert_parallel
    if groups == 1:
        return []
    if model.moe is None:
        return [f"{name}.target.expert_parallel: {model.name} is dense; leave it at 1"]
    if groups > model.moe.num_experts:
        return [
            f"{name}.target.expert_parallel: {groups} groups for the {model.moe.num_experts} experts of {model.name}"
        ]
    if target.num_gpus % groups:
        return [f"{name}.target.expert_parallel: {groups} does not divide the replica's {target.num_gpus} GPUs"]
    return []


def _format_problems(place: str, weights: str, gpu: str) -> list[str]:
    try:
        on = load_gpu(gpu)
        peak_flop_per_s(on, compute_dtype(on, load_quantisation(weights)))
    except CatalogError as error:
        return [f"{place}: {error}"]
    return []


def _host_problems(name: str, deployment: Deployment) -> list[str]:
    """Memory of a host that a GPU cannot reach, or that is its own."""
    engine, gpu = deployment.engine, load_gpu(deployment.gpu)
    if engine.kv_host_gb is None:
        return []
    if gpu.architecture == "cpu":
        return [f"{name}.engine.kv_host_gb: {gpu.name} is the host: its KV lies there already; leave it out"]
    links, wanted = list(load_links(gpu.links).point_to_point), engine.kv_host_link or "pcie"
    if wanted not in links:
        return [f"{name}.engine.kv_host_link: {gpu.name} has no figures of {wanted}, only of {', '.join(links)}"]
    return []


def _kv_problems(place: str, kv: KvDtype, model: Model) -> list[str]:
    """Formats that a model's cache is not stored in."""
    if kv == "int8" and model.compressed_kv is not None:
        return [f"{place}: the compressed cache of {model.name} is stored in fp8 or bf16, not in int8"]
    return []


def _draft_problems(name: str, deployment: Deployment) -> list[str]:
    target = load_model(deployment.target.model)
    problems: list[str] = []
    for key, draft in deployment.speculation.drafts.items():
        place = f"{name}.speculation.drafts.{key}"
        if draft.model is not None:
            model = load_model(draft.model)
            problems += _own_pass_problems(place, model, draft, deployment)
            problems += _kv_problems(f"{place}.kv", draft.kv, model)
            problems += _sharing_problems(place, model, draft, deployment)
            problems += _window_problems(f"{place}.window", model, draft)
        if draft.head is not None:
            problems += _kv_problems(f"{place}.kv", draft.kv, target)
            problems += _own_pass_problems(place, target, draft, deployment)
            problems += _head_problems(f"{place}.head", draft.head, target)
        if draft.moe_subset is not None:
            problems += _subset_problems(f"{place}.moe_subset", draft.moe_subset, target)
            problems += _window_problems(f"{place}.window", target, draft)
    return problems


def _sharing_problems(place: str, model: Model, draft: Draft, deployment: Deployment) -> list[str]:
    """A model that is to read the KV of a target for which it was not trained."""
    target = deployment.target.model
    if not draft.shares_target_kv or target in model.shares_kv_of:
        return []
    return [
        f"{place}.shares_target_kv: {model.name} has weights of its own, so its keys and values are not those of "
        f"{target}, also for the same prompt; a draft shares the target's KV only where it was trained to read it "
        "(its catalog file says shares_kv_of; a head: head.shares_kv) or is a part of the target "
        "(moe_subset.shares_kv): leave it out, and the draft keeps KV of its own"
    ]


def _window_problems(place: str, model: Model, draft: Draft) -> list[str]:
    """A second window on layers that have one."""
    if draft.window is None or not full_and_sliding_layers(model)[1]:
        return []
    return [
        f"{place}: {full_and_sliding_layers(model)[1]} of the {model.num_layers} layers of {model.name} keep a window "
        "of their own, and two windows in one cache are not modelled: leave it out, or take a draft without"
    ]


def _own_pass_problems(place: str, model: Model, draft: Draft, deployment: Deployment) -> list[str]:
    """What keeps a draft's own split or weights from its GPUs; model: whose heads are split."""
    problems = _split_problems(f"{place}.tensor_parallel", model, draft.tensor_parallel)
    pool, most = deployment.draft_pool, deployment.target.tensor_parallel
    if pool is None and draft.tensor_parallel > most:
        problems.append(f"{place}.tensor_parallel: {draft.tensor_parallel} is above the target's {most}")
    return problems + _format_problems(f"{place}.weights", draft.weights, deployment.draft_gpu)


def _pool_problems(name: str, deployment: Deployment) -> list[str]:
    """A link that one of its ends does not have."""
    if (pool := deployment.draft_pool) is None:
        return []
    place = f"{name}.speculation.placement.link"
    known = {
        gpu: list(load_links(load_gpu(gpu).links).point_to_point) for gpu in (deployment.gpu, deployment.draft_gpu)
    }
    return [
        f"{place}: {gpu} has no figures of {pool.link}, only of {', '.join(links)}"
        for gpu, links in known.items()
        if pool.link not in links
    ]


def _head_problems(place: str, head: Head, target: Model) -> list[str]:
    """Shapes that this target cannot give a head."""
    problems = []
    if not head.dense and target.moe is None:
        problems.append(f"{place}.dense: {target.name} has no experts for the head to have; leave it at true")
    if not head.dense and head.intermediate_size is not None:
        problems.append(f"{place}.intermediate_size: with dense: false the head has the target's experts; leave it out")
    if head.vocab_size is not None and head.vocab_size > target.vocab_size:
        problems.append(
            f"{place}.vocab_size: {head.vocab_size:,} is above the {target.vocab_size:,} words of {target.name}; "
            "leave it out to share the target's output head"
        )
    return problems


def _subset_problems(place: str, subset: MoeSubset, target: Model) -> list[str]:
    """Experts that this target does not have."""
    if target.moe is None:
        return [f"{place}: {target.name} is dense: it has no experts to take a part of"]
    has, uses = target.moe.num_experts, target.moe.top_k
    problems = []
    if subset.resident_experts > has:
        problems.append(f"{place}.resident_experts: {subset.resident_experts}, but {target.name} has {has} a layer")
    if subset.active_experts > uses:
        problems.append(
            f"{place}.active_experts: {subset.active_experts}, but {target.name} itself uses {uses} a token"
        )
    return problems
