"""Drafts filled up to the rows that a measured step is to have: trees of tables and unions often propose fewer."""

from collections.abc import Sequence

from calibration.wrapped import Wrapped
from engine.drafters import Draft, Drafter
from engine.drafters.head import HeadDraft
from engine.drafters.model_draft import ModelDraft
from engine.drafters.moe_subset import SubsetDraft
from engine.drafters.tree_draft import TreeDraft
from engine.drafters.union import Union
from engine.sequence import SequenceState
from engine.trees import ROOT


class Padded(Wrapped):
    """A drafter whose trees get children of the root until they are full; chains the engine fills up itself."""

    def propose(self, sequences: Sequence[SequenceState], counts: Sequence[int]) -> list[Draft]:
        """See Drafter."""
        drafts = super().propose(sequences, counts)
        return [_filled(draft, count) for draft, count in zip(drafts, counts, strict=True)]


def _filled(draft: Draft, count: int) -> Draft:
    missing = count - len(draft.tokens)
    if draft.parents is None or missing <= 0:
        return draft
    return Draft([*draft.tokens, *[0] * missing], None, [*draft.parents, *[ROOT] * missing])


def assume(drafter: Drafter | None, sequence: SequenceState) -> None:
    """Let a draft that computes take a sequence's context as computed; others have nothing to assume."""
    for one in drafter.drafters if isinstance(drafter, Union) else (drafter,):
        if isinstance(one, HeadDraft | ModelDraft | SubsetDraft | TreeDraft):
            one.assume(sequence)
