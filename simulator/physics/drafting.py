"""From a deployment's drafts to what they cost: one function for each way in which a draft is given."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from simulator.catalog.load import load_model, load_quantisation
from simulator.physics.build import build_forward
from simulator.physics.draft import (
    Affine,
    DraftCost,
    abstract_draft,
    dealt_out,
    head_draft,
    modelled_draft,
    ngram_draft,
)
from simulator.physics.forward import Checkpoint, Forward, Machine, Split
from simulator.physics.heads import after_the_first_pass, head_model
from simulator.physics.kv import kv_law
from simulator.physics.measured import MeasuredForward, measured_draft, surface_of, unknown_draft
from simulator.physics.several import combined
from simulator.physics.subset import subset_model
from simulator.physics.windows import windowed
from simulator.spec.draft import Draft, KvDtype, WeightDtype
from simulator.spec.policy import Quantisation
from simulator.spec.speculation import DraftSpeculation, DynamicTree, Proposed


class Served(NamedTuple):
    """The target beside which drafts work, and what they propose."""

    checkpoint: Checkpoint
    machine: Machine
    target: Forward | MeasuredForward
    plain_step: Callable[[int, int], Affine]
    """Sequences, rows of each → seconds of the target's step without a draft, affine in its context."""
    propose: Proposed
    copies: int | None = None
    """Copies of a draft on GPUs of its own, among which sequences are dealt out; None: it is on the target's."""


def drafting_cost(speculation: DraftSpeculation, served: Served, shares: Mapping[str, float] | None) -> DraftCost:
    """What all drafts of a deployment add to a step.

    shares: of the sequences that each routed draft works for; None: equal, where no workload is known. [0 to 1]
    """
    costs = {name: draft_cost(draft, served) for name, draft in speculation.drafts.items()}
    return replace(combined(costs, speculation, shares), step_s=speculative_step_s(speculation, served))


def draft_cost(draft: Draft, served: Served) -> DraftCost:
    """What a draft costs, its window included."""
    cost = COST_OF[draft.way](draft, served)
    return cost if draft.window is None else windowed(cost, draft.window.tokens)


def speculative_step_s(speculation: DraftSpeculation, served: Served) -> float:
    """Time that speculation adds to a step once: the host's, a tree's attention; copied text adds none to its look-ups.

    SpecDecode-Bench (arXiv:2601.11580), figure 1: at batch 1 n-gram steps take as long as plain ones within 2 %.
    """
    drafts, overhead = speculation.drafts.values(), served.machine.policy.overhead
    if all(draft.way == "ngram" for draft in drafts):
        return 0.0
    together = speculation.combine.kind == "union" and len(drafts) > 1 and speculation.draft_tokens > 0
    tree = together or _branches(speculation.propose)
    layers = served.checkpoint.model.num_layers if tree else 0
    return overhead.speculative_step_s + layers * overhead.tree_layer_us * 1e-6


def _branches(propose: Proposed) -> bool:
    """Whether a tree is built: a tree of width one is a chain, a dynamic one may end as one and is built all the same.

    >>> from simulator.spec.speculation import Tree
    >>> _branches(Tree(shape="tree", widths=(1, 1))), _branches(Tree(shape="tree", widths=(2, 1)))
    (False, True)
    """
    if isinstance(propose, DynamicTree):
        return propose.top_k > 1
    return propose.draft_tokens > propose.depth


def forward_of(checkpoint: Checkpoint, machine: Machine, split: Split) -> Forward | MeasuredForward:
    """From whole steps where the profile has them of this checkpoint, else from the curves of its parts."""
    surface = surface_of(checkpoint, machine, split)
    if surface is None:
        return build_forward(checkpoint, machine, split)
    return MeasuredForward(checkpoint.model, machine, split, surface)


def quantisation_of(weights: WeightDtype) -> Quantisation | None:
    """A weight format of the catalog; None: bf16."""
    return None if weights == "bf16" else load_quantisation(weights)


def _model(draft: Draft, served: Served) -> DraftCost:
    model = load_model(str(draft.model))
    chain = served.propose.shape == "chain"
    if chain and served.copies is None and isinstance(served.target, MeasuredForward):
        measured = measured_draft(draft, served.target, model)
        if measured is not None:
            return measured
    checkpoint = Checkpoint(model, quantisation_of(draft.weights), _kv_of(draft, served))
    passes = _with_shared_kv(forward_of(checkpoint, served.machine, _split(draft, served)), draft, served)
    return modelled_draft(passes, served.target, served.propose, draft.shares_kv)


def _kv_of(draft: Draft, served: Served) -> KvDtype:
    """Dtype of the KV that a draft's passes read: its own, or the target's where it shares that."""
    return served.checkpoint.kv if draft.shares_kv else draft.kv


def _with_shared_kv(passes: Forward | MeasuredForward, draft: Draft, served: Served) -> Forward | MeasuredForward:
    """Passes that read the target's KV read a part of it on the host, where the target's own passes do."""
    target = served.target
    if not draft.shares_kv or not isinstance(passes, Forward) or not isinstance(target, Forward):
        return passes
    read, held = (kv_law(model, served.checkpoint.kv).bytes_per_token for model in (passes.model, target.model))
    share = read / held if held else 0.0
    return replace(passes, host=target.host._replace(position_s=share * target.host.position_s))


def _abstract(draft: Draft, served: Served) -> DraftCost:
    assert draft.abstract is not None
    cost = abstract_draft(draft.abstract, served.target, served.plain_step, served.propose)
    return cost if served.copies is None else dealt_out(cost, served.copies)


def _measured(draft: Draft, served: Served) -> DraftCost:
    target = served.target
    found = measured_draft(draft, target, None) if isinstance(target, MeasuredForward) else None
    if found is None:
        surface = target.surface if isinstance(target, MeasuredForward) else None
        raise unknown_draft(str(draft.measured), target.model.name, served.machine, surface)
    return found


def _head(draft: Draft, served: Served) -> DraftCost:
    head, target, machine = draft.head, served.checkpoint.model, served.machine
    assert head is not None
    split, weights = _split(draft, served), quantisation_of(draft.weights)
    model = head_model(target, head)
    first, later = (
        _with_shared_kv(build_forward(Checkpoint(one, weights, _kv_of(draft, served)), machine, split), draft, served)
        for one in (model, after_the_first_pass(model, target, head))
    )
    return head_draft(head, first, later, served.target, served.propose)


def _ngram(draft: Draft, served: Served) -> DraftCost:
    assert draft.ngram is not None
    return ngram_draft(draft.ngram)


def _moe_subset(draft: Draft, served: Served) -> DraftCost:
    """Passes of the target, on its GPUs, with the experts that the draft has."""
    subset = draft.moe_subset
    assert subset is not None
    checkpoint = served.checkpoint._replace(model=subset_model(served.checkpoint.model, subset))
    passes = _with_shared_kv(build_forward(checkpoint, served.machine, served.target.split), draft, served)
    return modelled_draft(passes, served.target, served.propose, draft.shares_kv)


def _split(draft: Draft, served: Served) -> Split:
    """A draft is repeated on every data-parallel rank of its target, or in its pool; whole experts are not spread."""
    return Split(draft.tensor_parallel, served.copies or served.target.split.data_parallel)


COST_OF: dict[str, Callable[[Draft, Served], DraftCost]] = {
    "model": _model,
    "abstract": _abstract,
    "measured": _measured,
    "head": _head,
    "ngram": _ngram,
    "moe_subset": _moe_subset,
}
"""Way in which a draft is given → what it costs."""
