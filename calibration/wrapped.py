"""A drafter that sees what another proposes: all else is passed on to that one as it is."""

from collections.abc import Sequence

from engine.drafters import Draft, Drafter
from engine.kv_cache import KvStore
from engine.model import Model
from engine.sequence import Chunk, SequenceState


class Wrapped:
    """A drafter around another."""

    def __init__(self, drafter: Drafter) -> None:
        self.drafter = drafter

    def attach(self, target: Model, store: KvStore) -> None:
        """See Drafter."""
        self.drafter.attach(target, store)

    def prefill(self, chunks: Sequence[Chunk]) -> None:
        """See Drafter."""
        self.drafter.prefill(chunks)

    def propose(self, sequences: Sequence[SequenceState], counts: Sequence[int]) -> list[Draft]:
        """See Drafter."""
        return self.drafter.propose(sequences, counts)

    def release(self, sequence: SequenceState) -> None:
        """See Drafter."""
        self.drafter.release(sequence)
