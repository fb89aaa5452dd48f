"""What a draft holds on a GPU beside the target, weights and KV, by the way it is given.

All drafts of a deployment are resident, and each has KV for every token of the target: an engine sizes one pool for
each, whichever a request is routed to. Knows nothing of what else fills the GPU; that is in `ledger`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil

from simulator.catalog.load import load_model, load_quantisation
from simulator.physics.footprint import BF16_BYTES, weight_bytes
from simulator.physics.heads import head_model
from simulator.physics.kv import KvLaw, kv_law
from simulator.physics.subset import subset_model
from simulator.spec.deployment import Target
from simulator.spec.draft import Draft
from simulator.spec.model import Model
from simulator.spec.speculation import Speculation

NO_KV = KvLaw()
SHARED_HEAD = {"tie_word_embeddings": True}
"""Says of a model without an embedding of its own that the output head is another's too."""


@dataclass(frozen=True, slots=True)
class DraftMemory:
    """Memory of one draft on the fullest GPU of a replica."""

    weights_bytes: int = 0
    """What the target does not hold already."""
    law: KvLaw = NO_KV
    """Its own KV, of the same tokens as the target's."""
    model: Model | None = None
    """A model whose passes need logits and buffers of their own; the other ways need no more than the target."""


def draft_memory(draft: Draft, target: Target) -> DraftMemory:
    """What a draft adds on the fullest GPU of a replica of the target."""
    held = MEMORY_OF[draft.way](draft, target)
    return held if draft.window is None else replace(held, law=held.law.capped(draft.window.tokens))


def split_as_target_bytes(model: Model, target: Target, *, embedding: bool = True) -> int:
    """Weights of a model on the fullest GPU of a replica, in the target's format and split as it is [bytes]."""
    return weight_bytes(
        model,
        load_quantisation(target.weights),
        target.unquantised,
        tensor_parallel=target.tensor_parallel,
        data_parallel=target.data_parallel,
        expert_parallel=target.expert_parallel,
        embedding=embedding,
    ).per_gpu_bytes


def router_bytes(speculation: Speculation) -> int:
    """Weights of the model that routes requests to drafts, whole on each GPU [bytes]; 0 without one."""
    if speculation.kind == "none" or speculation.combine.kind != "routed":
        return 0
    return ceil(speculation.combine.router.parameters * BF16_BYTES)


def _model(draft: Draft, target: Target) -> DraftMemory:
    model = load_model(str(draft.model))
    law = NO_KV if draft.shares_kv else kv_law(model, draft.kv, draft.tensor_parallel)
    return DraftMemory(_own_checkpoint(model, draft, target), law, model)


def _own_checkpoint(model: Model, draft: Draft, target: Target, embedding: bool = True) -> int:
    """Weights in the draft's own format and split; experts are spread over the replica's ranks, as its passes are."""
    return weight_bytes(
        model,
        load_quantisation(draft.weights),
        tensor_parallel=draft.tensor_parallel,
        data_parallel=target.data_parallel,
        embedding=embedding,
    ).per_gpu_bytes


def _abstract(draft: Draft, target: Target) -> DraftMemory:
    assert draft.abstract is not None
    weights = round(draft.abstract.weights_gb * 1e9 / target.num_gpus)
    return DraftMemory(weights, KvLaw(bytes_per_token=ceil(draft.abstract.kv_bytes_per_token / target.tensor_parallel)))


def _head(draft: Draft, target: Target) -> DraftMemory:
    """Layers and input projection of each module; embedding and output head are the target's.

    A reduced vocabulary has an output head of its own, one for all modules. Each layer of each module caches K and V,
    unless it reads the target's.
    """
    assert draft.head is not None
    module = head_model(load_model(target.model), draft.head)
    further = module.model_copy(update=SHARED_HEAD)
    weights = _own_checkpoint(module, draft, target, embedding=False)
    weights += (draft.head.modules - 1) * _own_checkpoint(further, draft, target, embedding=False)
    law = kv_law(module, draft.kv, draft.tensor_parallel).repeated(draft.head.modules)
    return DraftMemory(weights, NO_KV if draft.shares_kv else law)


def _moe_subset(draft: Draft, target: Target) -> DraftMemory:
    """A copy of all layers with the resident experts only, split as the target is; the vocabulary is shared.

    Nothing where the bytes are the target's own; no KV where it uses the target's, else the target's once more.
    """
    assert draft.moe_subset is not None
    served = load_model(target.model)
    copied = subset_model(served, draft.moe_subset).model_copy(update=SHARED_HEAD)
    weights = split_as_target_bytes(copied, target, embedding=False)
    law = NO_KV if draft.shares_kv else kv_law(served, target.kv, target.tensor_parallel)
    return DraftMemory(0 if draft.moe_subset.shares_weights else weights, law)


def _nothing(draft: Draft, target: Target) -> DraftMemory:
    return DraftMemory()


MEMORY_OF: dict[str, Callable[[Draft, Target], DraftMemory]] = {
    "model": _model,
    "abstract": _abstract,
    "measured": _nothing,
    "head": _head,
    "ngram": _nothing,
    "moe_subset": _moe_subset,
}
"""Way in which a draft is given → what it holds."""
