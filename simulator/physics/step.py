"""The seam of the house: what one engine step computes, and the seconds that it takes, by cause."""

from dataclasses import dataclass, fields
from typing import NamedTuple, Protocol


class StepShape(NamedTuple):
    """What one engine step computes, in a whole replica."""

    sequences: int
    """Decoding sequences."""
    verify_tokens: int
    """Rows that the target verifies: sequences × (draft tokens + 1)."""
    context_tokens: float
    """KV positions that the decoding sequences hold, summed over them."""
    prefill_sequences: int
    """Prompts of which a chunk is computed."""
    prefill_tokens: int
    """Prompt tokens computed in this step, over all prompts."""
    prefill_context_tokens: float
    """KV positions that the prompt tokens attend to, summed over those tokens."""
    draft_tokens: int
    """Draft tokens K proposed per sequence."""


@dataclass(frozen=True, slots=True)
class StepCost:
    """Seconds of one step, by cause; their sum is the step's duration."""

    linear_s: float = 0.0
    """Dense linear layers and the head of the target."""
    experts_s: float = 0.0
    """Routed and shared experts of the target."""
    attention_s: float = 0.0
    """Attention of decoding (verifying) sequences."""
    prefill_attention_s: float = 0.0
    """Attention of prompt tokens."""
    collectives_s: float = 0.0
    """All-reduce, all-gather, all-to-all of the target."""
    sampling_s: float = 0.0
    """Softmax, sampling and verification of tokens."""
    overhead_s: float = 0.0
    """Host time and launches that no kernel explains."""
    draft_s: float = 0.0
    """All passes of the draft, its prefill included."""

    @property
    def total_s(self) -> float:
        """Duration of the step [s]."""
        return (
            self.linear_s + self.experts_s + self.attention_s + self.prefill_attention_s
            + self.collectives_s + self.sampling_s + self.overhead_s + self.draft_s
        )  # fmt: skip


CAUSES = tuple(f.name for f in fields(StepCost))
"""Names of the causes, in the order of the dataclass."""


class StepModel(Protocol):
    """Prices steps of one deployment.

    For given sequences, prefill sequences and prefill tokens, both methods are affine in context_tokens and in
    prefill_context_tokens. They never fall when an input grows, or when a sequence comes with its context; the same
    context in more sequences may take less time, for it is read with more parallelism, and so may the same tokens in
    more prompts, which data-parallel ranks share. A measured surface may fall with rows where its device does (its
    table then says `falls`), and a step whose drafts are made ahead with sequences: the more there are, the likelier
    one has drafts.
    """

    def cost(self, shape: StepShape) -> StepCost:
        """Seconds of a step by cause."""

    def seconds(self, shape: StepShape) -> float:
        """`cost(shape).total_s`, fast: what does not depend on context is remembered between calls."""

    def decode_affine(self, sequences: int) -> tuple[float, float]:
        """Seconds of a step without prompts: first + second × context tokens."""
