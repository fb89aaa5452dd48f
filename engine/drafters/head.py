"""A head that drafts from the target's hidden states, which the target's pass leaves in its cache, slot by slot.

The head's position i holds the target's state of position i and the token behind it; so it is one position behind the
target's cache. What it computed for draft tokens, from states of its own, is computed anew from the target's states
once tokens are committed (draft extend). A prompt is computed with the first proposal behind it.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from engine.attention import sliced
from engine.batch import Span, slots_at
from engine.drafters.interface import Draft, DraftSetup
from engine.drafters.model_draft import chains
from engine.errors import DraftError
from engine.heads import HeadModel, HeadWeights
from engine.kv_cache import BlockTable, KvStore
from engine.model import Model
from engine.sequence import Chunk, SequenceState


class HeadDraft:
    """A drafter that is a head; its passes go through the ordinary attention on every device."""

    def __init__(self, weights: HeadWeights, num_blocks: int, block_tokens: int, kv: str = "same") -> None:
        self._weights, self._sizes = weights, (num_blocks, block_tokens, kv)
        self._known: dict[BlockTable, int] = {}
        """Positions that were computed from the target's states."""

    def attach(self, target: Model, store: KvStore) -> None:
        """Ask the target for its hidden states, and share its embedding."""
        self._head = HeadModel(self._weights, target)
        store.keep_hidden(target.architecture.hidden_size)
        self._target = store
        self._store = self._head.decoder.new_store(*self._sizes)
        self._store.keep_hidden(target.architecture.hidden_size)

    def prefill(self, chunks: Sequence[Chunk]) -> None:
        """The target's states of a prompt are there after its pass only."""

    def propose(self, sequences: Sequence[SequenceState], counts: Sequence[int]) -> list[Draft]:
        """See Drafter."""
        return chains(self, sequences, counts)

    def release(self, sequence: SequenceState) -> None:
        """See Drafter."""
        self._known.pop(sequence.table, None)

    def assume(self, sequence: SequenceState) -> None:
        """See Decoder."""
        self._known[sequence.table] = len(sequence.tokens) - 2

    def catch_up(self, sequence: SequenceState) -> Span:
        """See Decoder; positions as in the target's cache."""
        start = min(self._known.get(sequence.table, 0), len(sequence.tokens) - 2)
        self._known[sequence.table] = len(sequence.tokens) - 1
        return Span(sequence.tokens[start + 1 :], start + 1, sequence.table, 1)

    @torch.inference_mode()
    def compute(self, spans: Sequence[Span]) -> Tensor:
        """See Decoder."""
        mine = [_one_before(span) for span in spans]
        batch = self._head.decoder.batch(mine, self._store)
        before = torch.cat([self._states_before(span) for span in mine])
        states = self._head.joined(before, batch.token_ids)
        attend = sliced(batch, self._store.room)
        hidden = self._head.decoder.trunk(states, batch.positions, batch.slots, attend, self._store)
        return self._head.logits(hidden if batch.output_rows is None else hidden.index_select(0, batch.output_rows))

    def _states_before(self, span: Span) -> Tensor:
        """The state that goes into each row: the target's of its own position, or the head's of the token before."""
        assert self._target.hidden is not None
        assert self._store.hidden is not None
        stop = span.start + len(span.tokens)
        slots = slots_at(span.table, range(stop), self._store.block_tokens)
        drafted = span.start >= self._known[span.table]
        states = self._store.hidden if drafted else self._target.hidden
        places = _places_before(span) if drafted else range(span.start, stop)
        return states.index_select(0, torch.tensor([slots[place] for place in places], device=states.device))


def _one_before(span: Span) -> Span:
    """The span at the head's own positions."""
    branches = span.branches
    if branches is not None:
        branches = branches._replace(positions=[position - 1 for position in branches.positions])
    return span._replace(start=span.start - 1, branches=branches)


def _places_before(span: Span) -> Sequence[int]:
    """Of each row, the place in the sequence of the token before: of a node, its parent or the root."""
    stop = span.start + len(span.tokens)
    if span.branches is None:
        return range(span.start - 1, stop - 1)
    seen = span.branches.seen.clone()
    rows, last = seen.shape
    seen[:, last - rows :] &= ~torch.eye(rows, dtype=torch.bool)
    parents = [max(row.nonzero().flatten().tolist(), default=-1) for row in seen]
    return [stop - last + parent for parent in parents]


def head_draft(setup: DraftSetup) -> HeadDraft:
    """Build a drafter from a trained head."""
    if setup.head is None:
        raise DraftError("draft 'head': no head was given; train one: python -m engine.training.head --out FILE")
    if setup.window is not None:
        raise DraftError("draft 'head': it has no window; windows are for draft models")
    return HeadDraft(setup.head, setup.num_blocks, setup.block_tokens, setup.kv)
