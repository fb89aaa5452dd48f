"""How many draft tokens the sequences of a step get: at most K, for which the scheduler reserves whatever is chosen."""

from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from simulator.spec.base import Count, CountOrZero, Fraction, Spec

Margin = Annotated[float, Field(strict=True, ge=-8, le=8)]
"""A shift of a threshold [draft tokens]."""

Band = Annotated[tuple[Count, Count, CountOrZero], Field(strict=False)]
"""From so many sequences, to so many, that many draft tokens."""


class FixedPolicy(Spec):
    """K never changes."""

    kind: Literal["fixed"] = "fixed"

    @property
    def most(self) -> int:
        """Most draft tokens that it names; 0: none by number."""
        return 0


class ByBatch(Spec):
    """Draft tokens by the number of decoding sequences (vLLM's num_speculative_tokens_per_batch_size)."""

    kind: Literal["by_batch"]
    schedule: Annotated[tuple[Band, ...], Field(strict=False, min_length=1)]
    """Bands [from, to, draft tokens] of decoding sequences, from 1 on and without a gap; 0 draft tokens: off."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.schedule[0][0] != 1:
            raise ValueError(f"the first band begins at {self.schedule[0][0]} sequences: begin at 1")
        for band in self.schedule:
            if band[1] < band[0]:
                raise ValueError(f"band {list(band)} ends before it begins")
        for before, after in pairwise(self.schedule):
            if after[0] != before[1] + 1:
                raise ValueError(f"band {list(after)} should begin at {before[1] + 1}, where {list(before)} ends")
        return self

    @property
    def most(self) -> int:
        """Most draft tokens that it names."""
        return max(draft_tokens for _, _, draft_tokens in self.schedule)

    def draft_tokens(self, sequences: int) -> int:
        """Draft tokens of each of so many decoding sequences; beyond the last band, as in it."""
        return next((k for _, last, k in self.schedule if sequences <= last), self.schedule[-1][2])


class PerRequest(Spec):
    """Each request by what was accepted of it lately, as SGLang's adaptive steps, which do it for a whole batch.

    sglang `speculative/adaptive_spec_params.py`: rules and defaults.
    """

    kind: Literal["per_request"]
    candidates: Annotated[tuple[CountOrZero, ...], Field(strict=False, min_length=2)]
    """Draft tokens among which it moves, rising; a request begins with the one in the middle."""
    ema: Annotated[Fraction, Field(gt=0)] = 0.2
    """Weight of the last step in the running mean of accepted draft tokens."""
    every_steps: Count = 5
    """Steps of the engine between two choices."""
    warm_up_steps: CountOrZero = 10
    """Steps of a request before its first choice."""
    up_margin: Margin = 0.0
    """It goes up where the mean is above its draft tokens − 0.5 + this."""
    down_margin: Margin = -0.25
    """It goes down where the mean is at most the candidate below − 0.5 + this (to 0 draft tokens: 0.5 + this)."""

    @model_validator(mode="after")
    def _rising(self) -> Self:
        if any(after <= before for before, after in pairwise(self.candidates)):
            raise ValueError(f"candidates rise, each once; got {list(self.candidates)}")
        return self

    @property
    def most(self) -> int:
        """Most draft tokens that it names."""
        return self.candidates[-1]


class Goodput(Spec):
    """Before each step, the draft tokens that commit most tokens per second by the step's own cost (TurboSpec, DSpark).

    It knows each request's survival: what an engine reads off its draft's confidence, at best.
    """

    kind: Literal["goodput"]

    @property
    def most(self) -> int:
        """Most draft tokens that it names; 0: none by number."""
        return 0


DraftPolicy = Annotated[FixedPolicy | ByBatch | PerRequest | Goodput, Field(discriminator="kind")]

POLICIES = ("fixed", "by_batch", "per_request", "goodput")
"""Kinds of a policy, by name."""
