"""The target itself with few of its experts: weights shared, and its cache too where that is asked for.

With the target's cache, the draft reads what the target computed, and writes its own tokens behind; the target's pass
computes those positions again, so nothing of the draft stays.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from engine.batch import Span
from engine.drafters.interface import Draft, DraftSetup
from engine.drafters.model_draft import ModelDraft
from engine.drafters.tree_draft import TreeDraft, in_shape
from engine.errors import DraftError
from engine.experts import Experts
from engine.kv_cache import BlockPool, BlockTable, KvStore
from engine.model import Model
from engine.sequence import Chunk, SequenceState

USAGE_TOKENS = 512
"""Tokens of a text, at most, that expert usage is counted on: one pass."""


class SubsetDraft:
    """A drafter made of the target when the two meet."""

    def __init__(self, setup: DraftSetup) -> None:
        self._setup = setup
        self._draft: ModelDraft | TreeDraft | None = None

    def attach(self, target: Model, store: KvStore) -> None:
        """Choose the experts, and build the draft from the target's own layers."""
        setup, mixture = self._setup, target.architecture.mixture
        if mixture is None:
            raise DraftError("draft 'moe_subset': the target has no experts; it needs a mixture of experts")
        resident, active = setup.resident_experts, setup.active_experts
        if not 1 <= active <= resident <= mixture.num_experts:
            raise DraftError(
                f"draft 'moe_subset': {active} active of {resident} resident experts; 1 or more are active, at most as"
                f" many as are resident, and the target has {mixture.num_experts}"
            )
        subset = subset_of(target, resident, active, setup.usage_tokens)
        own = None if setup.shares_kv else subset.new_store(setup.num_blocks, setup.block_tokens, setup.kv)
        decoder = ModelDraft(subset, own or store, window=setup.window, shares_kv=own is None)
        self._draft = in_shape(lambda _: decoder)(setup)

    @property
    def draft(self) -> ModelDraft | TreeDraft:
        """What drafts; there once the target is."""
        assert self._draft is not None
        return self._draft

    def prefill(self, chunks: Sequence[Chunk]) -> None:
        """See Drafter."""
        self.draft.prefill(chunks)

    def propose(self, sequences: Sequence[SequenceState], counts: Sequence[int]) -> list[Draft]:
        """See Drafter."""
        return self.draft.propose(sequences, counts)

    def release(self, sequence: SequenceState) -> None:
        """See Drafter."""
        self.draft.release(sequence)

    def assume(self, sequence: SequenceState) -> None:
        """See ModelDraft."""
        self.draft.assume(sequence)


def subset_of(target: Model, resident: int, active: int, usage_tokens: Sequence[int] = ()) -> Model:
    """The target with so many experts a layer: the most used on a text, or without one the first."""
    usage = expert_usage(target, usage_tokens[: min(USAGE_TOKENS, target.max_position)]) if usage_tokens else {}

    def fewer(layer: int, experts: Experts) -> Experts:
        counts = usage.get(layer)
        order = torch.arange(len(experts.experts)) if counts is None else counts.argsort(descending=True, stable=True)
        return experts.only(order[:resident].to(target.device), active)

    return target.with_experts(fewer)


def expert_usage(target: Model, tokens: Sequence[int]) -> dict[int, Tensor]:
    """By layer, how many rows of a text each expert computes: [experts]."""
    counts: dict[int, Tensor] = {}

    def counted(layer: int, experts: Experts) -> Experts:
        counts[layer] = torch.zeros(len(experts.experts), dtype=torch.int64, device=target.device)
        return replace(experts, used=counts[layer])

    model, pool, table = target.with_experts(counted), BlockPool(-(-len(tokens) // 16), 16), BlockTable()
    pool.extend(table, len(tokens))
    store = model.new_store(pool.num_blocks, 16)
    model.forward(model.batch([Span(tokens, 0, table, 0)], store), store)
    return counts


def moe_subset(setup: DraftSetup) -> SubsetDraft:
    """Build a drafter that is a part of the target."""
    return SubsetDraft(setup)
