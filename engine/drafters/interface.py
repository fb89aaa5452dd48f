"""What every drafter offers the engine, and what it is built from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from engine.drafters.away import Away
from engine.heads import HeadWeights
from engine.kv_cache import KvStore
from engine.model import Model
from engine.ngrams import NgramTable
from engine.sequence import Chunk, SequenceState
from engine.trees import Shape, chain_of
from engine.weights import Weights
from engine.window import Window


class Draft(NamedTuple):
    """Draft tokens of one sequence for one step: a chain, or a tree."""

    tokens: list[int]
    probs: Tensor | None = None
    """[trials, vocabulary] that they were drawn from; None: the drafter was certain (one-hot)."""
    parents: Sequence[int] | None = None
    """Of each token, the one before it (engine.trees); None: a chain."""
    trials: Sequence[int] | None = None
    """Tokens in the order in which they are tried; one that was drawn twice stands twice. None: each once, in order."""

    @property
    def tree(self) -> Sequence[int]:
        """Parents of the tokens, those of a chain too."""
        return chain_of(len(self.tokens)) if self.parents is None else self.parents


class Drafter(Protocol):
    """Proposes what may come next."""

    def attach(self, target: Model, store: KvStore) -> None:
        """Meet the target and its cache, once, before the first step."""

    def prefill(self, chunks: Sequence[Chunk]) -> None:
        """See the prompt chunks that the target computes in this step."""

    def propose(self, sequences: Sequence[SequenceState], counts: Sequence[int]) -> list[Draft]:
        """At most so many draft tokens behind each sequence's last token; the slots for them are held."""

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
    max_num_seqs: int = 16
    """Sequences of a step, at most."""
    draft_tokens: int = 16
    """Draft tokens per sequence and step, at most."""
    kv: str = "same"
    """Elements of a draft model's cache: `same` as the model's, `int8` or `fp8`."""
    window: Window | None = None
    """What a draft model looks at; None: all before it."""
    away: Away | None = None
    """A process of its own for a draft model; None: it runs here, between the target's passes."""
    head: HeadWeights | None = None
    """A head on the target's hidden states."""
    resident_experts: int = 0
    """Experts of each layer that a subset of the target may use."""
    active_experts: int = 0
    """Experts of them that a token uses."""
    usage_tokens: tuple[int, ...] = ()
    """Text whose most used experts are resident; none: the first ones are."""
    shares_kv: bool = True
    """Whether a subset of the target reads and writes the target's cache."""
    backend: str | None = None
    epsilon: float = 0.0
    """Noise on the target's weights, in their standard deviations."""
    longest_ngram: int = 3
    """Longest suffix that prompt look-up searches for [tokens]."""
    generator: torch.Generator | None = None
    """Where noise comes from."""
    shape: Shape | None = None
    """What a draft model or a table proposes; None: a chain of as many tokens as the engine asks for."""
    replacement: bool = False
    """Whether the children of a node are drawn with replacement, where they are drawn."""
    table: NgramTable | None = None
