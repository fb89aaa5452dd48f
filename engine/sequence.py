"""A request, and its state while the engine works on it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from engine.kv_cache import BlockTable
from engine.sampling import GREEDY, Sampling

NAN = float("nan")


@dataclass(frozen=True, slots=True)
class Request:
    """What a user asks for."""

    prompt: tuple[int, ...]
    """Token numbers."""
    max_tokens: int
    """Output tokens at most."""
    sampling: Sampling = GREEDY
    draft_tokens: int | None = None
    """Draft tokens K per step; None: the engine's own."""
    stop_tokens: frozenset[int] = frozenset()
    """Tokens that end the output; the one that does is part of it."""
    priority: int = 0
    """Lower is served first, where the scheduler is `priority`."""
    arrival_s: float = 0.0
    label: str = ""
    """Class of the task (code, prose, …), for the records."""


@dataclass(slots=True, eq=False)
class SequenceState:
    """A request on its way. While it decodes, its KV cache is right for all tokens but the last."""

    number: int
    request: Request
    draft_tokens: int
    max_tokens: int
    """Output tokens at most, after the cut at the engine's longest sequence."""
    rng: np.random.Generator | None
    """Where its uniforms come from; None: nothing is drawn."""
    tokens: list[int]
    """Prompt and output so far."""
    table: BlockTable = field(default_factory=BlockTable)
    stopped: bool = False
    truncated: bool = False
    """Whether the engine's longest sequence cuts the output."""
    scheduled_s: float = NAN
    first_token_s: float = NAN
    finish_s: float = NAN
    steps: int = 0
    """Verify steps taken part in."""
    drafted_at: list[int] = field(default_factory=list)
    """By position: draft tokens verified there."""
    accepted_at: list[int] = field(default_factory=list)
    """By position: how often it was accepted; counted before the cut at the output length."""
    rounds: list[tuple[int, int]] = field(default_factory=list)
    """Draft tokens verified and accepted by each verify step, in order; before the cut at the output length."""
    committed_tokens: int = 0
    """Tokens committed by verify steps, bonus tokens included, before the cut at the output length."""
    preemptions: int = 0

    @property
    def num_output(self) -> int:
        """Output tokens so far."""
        return len(self.tokens) - len(self.request.prompt)

    @property
    def output(self) -> list[int]:
        """Output so far."""
        return self.tokens[len(self.request.prompt) :]

    @property
    def finished(self) -> bool:
        """Whether the output is complete."""
        return self.stopped or self.num_output >= self.max_tokens

    def append(self, tokens: list[int]) -> list[int]:
        """Take committed tokens, cut at the output length and behind a stop token; what was taken."""
        taken = tokens[: self.max_tokens - self.num_output]
        stops = self.request.stop_tokens
        for index, token in enumerate(taken if stops else ()):
            if token in stops:
                taken, self.stopped = taken[: index + 1], True
                break
        self.tokens += taken
        return taken

    def count(self, drafted: Sequence[int], accepted: int) -> None:
        """Record one verify step.

        drafted: by position, draft tokens verified there: one each in a chain.
        """
        self.steps += 1
        self.rounds.append((sum(drafted), accepted))
        self.committed_tokens += accepted + 1
        while len(self.drafted_at) < len(drafted):
            self.drafted_at.append(0)
            self.accepted_at.append(0)
        for position, nodes in enumerate(drafted):
            self.drafted_at[position] += nodes
            self.accepted_at[position] += position < accepted


class Chunk(NamedTuple):
    """Part of a prompt that one step computes; after a preemption the output so far belongs to the prompt."""

    sequence: SequenceState
    start: int
    """Positions computed before."""
    num_tokens: int
    prompt_tokens: int

    @property
    def final(self) -> bool:
        """Whether the prompt is complete with it."""
        return self.start + self.num_tokens == self.prompt_tokens


class Emission(NamedTuple):
    """Output tokens of one sequence in one step."""

    sequence: SequenceState
    tokens: list[int]
    accepted: int
    """How many of them, from the first on, were draft tokens."""
