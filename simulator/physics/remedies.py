"""Which single change would make a deployment fit; each is tried on the ledger itself, none is guessed."""

from collections.abc import Callable, Iterator

from simulator.catalog.load import load_gpu, load_quantisation, names
from simulator.physics.checks import check_deployment
from simulator.spec.deployment import Deployment
from simulator.spec.draft import Draft, WeightDtype
from simulator.spec.speculation import NoSpeculation

TENSOR_PARALLEL = (2, 4, 8, 16)
"""Wider splits that are tried [GPUs]."""
WEIGHTS: tuple[WeightDtype, ...] = ("fp8", "nvfp4", "mxfp4", "awq_int4")
"""Smaller weights that are tried, the largest first."""
MOST_BITS_KEPT = 0.9
"""Share of the present bits above which a format is no change worth naming."""

Changes = Iterator[tuple[str, Deployment]]
DraftChanges = Iterator[tuple[str, Draft]]


def ways_to_fit(deployment: Deployment, longest_tokens: int, fits: Callable[[Deployment], bool]) -> tuple[str, ...]:
    """Single changes after which the longest sequence fits: the least of each kind, in the order of their harm.

    longest_tokens: longest sequence that the deployment holds as it is; 0 if none [tokens].
    fits: the ledger's verdict on a changed deployment.
    """
    kinds = (
        _wider_splits(deployment),
        _fp8_kv(deployment),
        _shorter(deployment, longest_tokens),
        _lighter_weights(deployment),
        _smaller_drafts(deployment),
        _fewer_drafts(deployment),
        _no_draft(deployment),
        _larger_gpus(deployment),
        _larger_pools(deployment),
        _pools_of_fewer(deployment),
    )
    return tuple(label for kind in kinds if (label := _first_that_fits(kind, fits)))


def _first_that_fits(changes: Changes, fits: Callable[[Deployment], bool]) -> str:
    return next((label for label, changed in changes if not check_deployment("", changed) and fits(changed)), "")


def _wider_splits(deployment: Deployment) -> Changes:
    for gpus in TENSOR_PARALLEL:
        if gpus > deployment.target.tensor_parallel:
            target = deployment.target.model_copy(update={"tensor_parallel": gpus})
            yield f"target.tensor_parallel {gpus}", deployment.model_copy(update={"target": target})


def _fp8_kv(deployment: Deployment) -> Changes:
    if deployment.target.kv != "fp8":
        target = deployment.target.model_copy(update={"kv": "fp8"})
        yield "target.kv fp8", deployment.model_copy(update={"target": target})


def _shorter(deployment: Deployment, longest_tokens: int) -> Changes:
    if longest_tokens:
        engine = deployment.engine.model_copy(update={"max_model_len": longest_tokens})
        yield f"engine.max_model_len {longest_tokens}", deployment.model_copy(update={"engine": engine})


def _lighter_weights(deployment: Deployment) -> Changes:
    now = load_quantisation(deployment.target.weights).bits_per_weight
    for weights in WEIGHTS:
        if load_quantisation(weights).bits_per_weight < now * MOST_BITS_KEPT:
            target = deployment.target.model_copy(update={"weights": weights})
            yield f"target.weights {weights}", deployment.model_copy(update={"target": target})


def _smaller_drafts(deployment: Deployment) -> Changes:
    for key, draft in deployment.speculation.drafts.items():
        changes = [*_lighter_checkpoint(draft, deployment), *_narrower_head(draft), *_shared_subset(draft)]
        for place, changed in changes:
            yield f"speculation.drafts.{key}.{place}", _with_drafts(deployment, {key: changed})


def _lighter_checkpoint(draft: Draft, deployment: Deployment) -> DraftChanges:
    """A draft with weights and KV of its own in fewer bits, or over more GPUs."""
    if draft.model is None and draft.head is None:
        return
    pool = deployment.draft_pool
    split = deployment.target.tensor_parallel if pool is None else pool.gpus
    if draft.kv != "fp8":
        yield "kv fp8", draft.model_copy(update={"kv": "fp8"})
    if draft.weights == "bf16":
        yield "weights fp8", draft.model_copy(update={"weights": "fp8"})
    if draft.tensor_parallel < split:
        yield f"tensor_parallel {split}", draft.model_copy(update={"tensor_parallel": split})


def _narrower_head(draft: Draft) -> DraftChanges:
    """A head with a dense MLP, or of one module or layer."""
    if (head := draft.head) is None:
        return
    narrower = (("dense", "true", True), ("modules", "1", 1), ("layers", "1", 1))
    for field, said, value in narrower:
        if getattr(head, field) != value:
            yield f"head.{field} {said}", draft.model_copy(update={"head": head.model_copy(update={field: value})})


def _shared_subset(draft: Draft) -> DraftChanges:
    """A part of the target that uses the target's own bytes."""
    if (subset := draft.moe_subset) is None:
        return
    for field in ("shares_weights", "shares_kv"):
        if not getattr(subset, field):
            shared = subset.model_copy(update={field: True})
            yield f"moe_subset.{field} true", draft.model_copy(update={"moe_subset": shared})


def _with_drafts(deployment: Deployment, changed: dict[str, Draft]) -> Deployment:
    speculation = deployment.speculation
    drafts = speculation.drafts | changed
    return deployment.model_copy(update={"speculation": speculation.model_copy(update={"drafts": drafts})})


def _fewer_drafts(deployment: Deployment) -> Changes:
    """One draft less, of several; what was routed to it goes to the fallback."""
    speculation = deployment.speculation
    if speculation.kind == "none" or len(speculation.drafts) == 1:
        return
    combine = speculation.combine
    for gone in speculation.drafts:
        kept = {name: draft for name, draft in speculation.drafts.items() if name != gone}
        if combine.kind == "routed" and gone != combine.fallback:
            routes = {name: combine.fallback if to == gone else to for name, to in combine.routes.items()}
            changed = {"drafts": kept, "combine": combine.model_copy(update={"routes": routes})}
        elif combine.kind == "union":
            changed = {"drafts": kept}
        else:
            continue
        yield (
            f"without draft {gone}",
            deployment.model_copy(update={"speculation": speculation.model_copy(update=changed)}),
        )


def _no_draft(deployment: Deployment) -> Changes:
    if deployment.speculation.kind != "none":
        yield "no draft", deployment.model_copy(update={"speculation": NoSpeculation(kind="none")})


def _larger_gpus(deployment: Deployment) -> Changes:
    gpu = load_gpu(deployment.gpu)
    now, cpu = gpu.memory.visible_bytes, gpu.architecture == "cpu"
    alike = [other for name in names("gpus") if ((other := load_gpu(name)).architecture == "cpu") == cpu]
    sizes = sorted((other.memory.visible_bytes, other.name) for other in alike)
    for size, name in sizes:
        if size > now:
            yield f"gpu {name}", deployment.model_copy(update={"gpu": name})


def _larger_pools(deployment: Deployment) -> Changes:
    if (pool := deployment.draft_pool) is not None:
        for times in (2, 4, 8):
            yield f"placement.gpus {times * pool.gpus}", _with_pool(deployment, {"gpus": times * pool.gpus})


def _pools_of_fewer(deployment: Deployment) -> Changes:
    if (pool := deployment.draft_pool) is not None:
        for shared_by in range(pool.shared_by - 1, 0, -1):
            yield f"placement.shared_by {shared_by}", _with_pool(deployment, {"shared_by": shared_by})


def _with_pool(deployment: Deployment, changed: dict[str, int]) -> Deployment:
    assert deployment.draft_pool is not None
    placement = deployment.draft_pool.model_copy(update=changed)
    speculation = deployment.speculation.model_copy(update={"placement": placement})
    return deployment.model_copy(update={"speculation": speculation})
