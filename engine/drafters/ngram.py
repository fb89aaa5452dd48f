"""Tokens from a table of n-grams: the likeliest ones, as a chain or a tree; nothing is drawn, and nothing computed."""

from collections.abc import Sequence

from engine.drafters.interface import Draft, DraftSetup
from engine.errors import DraftError
from engine.growth import Choice, new_growth, tokens_to
from engine.kv_cache import KvStore
from engine.model import Model
from engine.ngrams import NgramTable
from engine.sequence import Chunk, SequenceState
from engine.trees import FixedTree, Shape, chain_of


class NgramDraft:
    """A drafter that is a table."""

    def __init__(self, table: NgramTable, shape: Shape | None) -> None:
        """shape: None: chains."""
        self.table, self._shape = table, shape

    def attach(self, target: Model, store: KvStore) -> None:
        """A table needs neither."""

    def prefill(self, chunks: Sequence[Chunk]) -> None:
        """A table does not learn from prompts."""

    def propose(self, sequences: Sequence[SequenceState], counts: Sequence[int]) -> list[Draft]:
        """See Drafter."""
        return [self._grown(s.tokens, count) for s, count in zip(sequences, counts, strict=True)]

    def release(self, sequence: SequenceState) -> None:
        """There is nothing to forget."""

    def _grown(self, tokens: Sequence[int], count: int) -> Draft:
        growth = new_growth(FixedTree(tuple(chain_of(count))) if self._shape is None else self._shape, count)
        ending = list(tokens[-self.table.order :])
        while nodes := growth.frontier():
            for node in nodes:
                context = ending + tokens_to(growth, node)
                found = self.table.candidates(context, growth.wanted(node))
                growth.add(node, [Choice(token, share) for token, share in found])
        draft = growth.draft()
        return Draft(draft.tokens) if self._shape is None else draft


def ngram_table(setup: DraftSetup) -> NgramDraft:
    """Build a drafter from a table."""
    if setup.table is None:
        raise DraftError("draft 'ngram': no table was given; name a domain, a text or a table: --ngram code")
    return NgramDraft(setup.table, setup.shape)
