"""How a deployment speculates, in a few words for a table: which drafts, how they are combined, what they propose."""

from simulator.catalog.load import model_title
from simulator.spec.draft import Draft
from simulator.spec.placement import Placement
from simulator.spec.speculation import DraftSpeculation, Proposed, Speculation

_COMBINED = {"single": "", "routed": ", routed", "union": ", together"}


def speculation_words(speculation: Speculation) -> str | None:
    """Drafts and what they propose; None without speculation.

    >>> from simulator.spec.speculation import NoSpeculation
    >>> speculation_words(NoSpeculation(kind="none"))
    """
    if not isinstance(speculation, DraftSpeculation):
        return None
    drafts = speculation.drafts
    said = draft_words(speculation.draft) if len(drafts) == 1 else " + ".join(drafts)
    where = placement_words(speculation.placement)
    return f"{said}{_COMBINED[speculation.combine.kind]}{where}, {proposed_words(speculation.propose)}"


def placement_words(placement: Placement) -> str:
    """Where drafts run, if not on the target's GPUs.

    >>> from simulator.spec.placement import Dedicated
    >>> placement_words(Dedicated(kind="dedicated", gpus=2, link="pcie", shared_by=4))
    ' on 2 GPUs of their own for 4 replicas'
    """
    if placement.kind == "colocated":
        return ""
    gpus = "1 GPU" if placement.gpus == 1 else f"{placement.gpus} GPUs"
    whose = f" for {placement.shared_by} replicas" if placement.shared_by > 1 else ""
    ahead = ", ahead of the target" if placement.overlap.kind == "draft_ahead" else ""
    return f" on {gpus} of their own{whose}{ahead}"


def draft_words(draft: Draft) -> str:
    """What a draft is."""
    if draft.head is not None:
        return f"{draft.head.method} head"
    if draft.moe_subset is not None:
        return f"{draft.moe_subset.active_experts} of {draft.moe_subset.resident_experts} own experts"
    if draft.model is not None:
        return model_title(draft.model)
    return draft.measured or ("n-gram" if draft.ngram is not None else "a draft by its ratios")


def proposed_words(propose: Proposed) -> str:
    """What is proposed in a step."""
    if propose.shape == "chain":
        return f"chain of {propose.draft_tokens}"
    if propose.shape == "best_tree":
        return f"best tree of at most {propose.max_nodes}"
    return f"tree of {propose.draft_tokens}, depth {propose.depth}"
