"""Prompt look-up: what followed the last time that the sequence ended like this (Saxena 2023, vLLM's `ngram`)."""

from collections.abc import Sequence

from engine.drafters.interface import Draft, DraftSetup
from engine.errors import DraftError
from engine.kv_cache import KvStore
from engine.model import Model
from engine.sequence import Chunk, SequenceState


class _Index:
    """Where each n-gram of a sequence last ended, its own end not counted."""

    def __init__(self, longest: int) -> None:
        self.longest = longest
        self.indexed = 0
        """Positions whose n-grams are known: those that a token follows."""
        self.followers: dict[tuple[int, ...], int] = {}
        """N-gram -> position behind its latest place."""

    def update(self, tokens: Sequence[int]) -> None:
        """Take in the n-grams that a token follows by now."""
        for end in range(self.indexed + 1, len(tokens)):
            for length in range(1, min(self.longest, end) + 1):
                self.followers[tuple(tokens[end - length : end])] = end
        self.indexed = max(len(tokens) - 1, 0)

    def continuation(self, tokens: Sequence[int], count: int) -> list[int]:
        """What followed the longest known suffix; where that runs into the end, it goes on with itself."""
        for length in range(min(self.longest, len(tokens) - 1), 0, -1):
            behind = self.followers.get(tuple(tokens[-length:]))
            if behind is not None:
                period = len(tokens) - behind
                return [tokens[behind + i % period] for i in range(count)]
        return []


class PromptLookup:
    """A drafter without a model; it proposes nothing where nothing repeats."""

    def __init__(self, longest_ngram: int) -> None:
        if longest_ngram < 1:
            raise DraftError(f"lookup: the longest n-gram must be 1 or more, not {longest_ngram}")
        self._longest = longest_ngram
        self._indexes: dict[int, _Index] = {}

    def attach(self, target: Model, store: KvStore) -> None:
        """A look-up needs neither."""

    def prefill(self, chunks: Sequence[Chunk]) -> None:
        """Index prompts; none is looked into before it is complete."""
        for chunk in chunks:
            if chunk.final:
                self._index(chunk.sequence)

    def propose(self, sequences: Sequence[SequenceState], counts: Sequence[int]) -> list[Draft]:
        """See Drafter."""
        pairs = zip(sequences, counts, strict=True)
        return [Draft(self._index(s).continuation(s.tokens, count)) for s, count in pairs]

    def release(self, sequence: SequenceState) -> None:
        """See Drafter."""
        self._indexes.pop(sequence.number, None)

    def _index(self, sequence: SequenceState) -> _Index:
        index = self._indexes.get(sequence.number)
        if index is None:
            index = self._indexes[sequence.number] = _Index(self._longest)
        index.update(sequence.tokens)
        return index


def prompt_lookup(setup: DraftSetup) -> PromptLookup:
    """Build a prompt look-up."""
    if setup.shape is not None:
        raise DraftError("lookup proposes a chain, not a tree; for a tree use: model, ngram, noisy_target, or a union")
    return PromptLookup(setup.longest_ngram)
