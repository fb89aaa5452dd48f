"""What every drafter offers the engine, and what it is built from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from engine.kv_cache import KvStore
from engine.model import Model
from engine.sequence import Chunk, SequenceState
from engine.weights import Weights


class Draft(NamedTuple):
    """Draft tokens of one sequence for one step."""

    tokens: list[int]
    probs: Tensor | None = None
    """[draft tokens, vocabulary] that they were drawn from; None: the drafter was certain (one-hot)."""


class Drafter(Protocol):
    """Proposes what may come next."""

    def attach(self, target: Model, store: KvStore) -> None:
        """Meet the target and its cache, once, before the first step."""

    def prefill(self, chunks: Sequence[Chunk]) -> None:
        """See the prompt chunks that the target computes in this step."""

    def propose(self, sequences: Sequence[SequenceState], counts: Sequence[int]) -> list[Draft]:
        """At most so many draft tokens behind each sequence's last token; the blocks for them are held."""

    def release(self, sequence: SequenceState) -> None:
        """Forget a sequence that has finished or given up its blocks."""


@dataclass(frozen=True, slots=True)
class DraftSetup:
    """What a drafter can be built from; each takes what it needs."""

    target: Weights | None = None
    draft: Weights | None = None
    num_blocks: int = 0
    """Blocks of the target's cache; a draft model holds the same positions in as many blocks of its own."""
    block_tokens: int = 16
    max_model_len: int | None = None
    backend: str | None = None
    epsilon: float = 0.0
    """Noise on the target's weights, in their standard deviations."""
    longest_ngram: int = 3
    """Longest suffix that prompt look-up searches for [tokens]."""
    generator: torch.Generator | None = None
    """Where noise comes from."""
