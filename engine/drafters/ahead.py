"""What runs in the process of an asynchronous drafter: a draft model that goes on drafting while the target verifies.

Behind each sequence it keeps a chain. Asked for K tokens, it hands out the first K and goes on: token K + 1 is its
guess of the target's bonus token, and the K behind it are the next draft if all K are kept and the guess holds.
Otherwise the chain is dropped and begun anew. It stays lossless: tokens drafted ahead are drawn with uniforms of their
own, and whether the guess holds does not depend on those.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from engine.batch import Span
from engine.drafters.model_draft import ModelDraft
from engine.kv_cache import BlockPool
from engine.sampling import GREEDY, Sampling, pick, shaped_probs, widened
from engine.sequence import Chunk, Request, SequenceState


class Begin(NamedTuple):
    """A request whose prompt is being computed; or once more, after it gave up its blocks."""

    number: int
    sampling: Sampling
    rng: np.random.Generator | None
    """Where its draft tokens come from; None: they are the draft's likeliest."""


class Prompt(NamedTuple):
    """Part of a prompt."""

    number: int
    tokens: list[int]


class Ask(NamedTuple):
    """Draft tokens are wanted: of each sequence, what was committed since it was last asked for, and how many."""

    numbers: list[int]
    committed: list[list[int]]
    counts: list[int]


class Drop(NamedTuple):
    """A sequence is over, or has given up its blocks."""

    number: int


class Answer(NamedTuple):
    """Draft tokens, and what they took."""

    tokens: list[list[int]]
    hits: int
    """Sequences whose draft had been begun before it was asked for."""
    passes: int
    """Passes of the draft so far, those of prompts not counted."""
    pass_s: float
    """Seconds of them."""


Message = Begin | Prompt | Ask | Drop


@dataclass(slots=True)
class Shadow:
    """A sequence as the draft knows it."""

    sequence: SequenceState
    chain: list[int] = field(default_factory=list)
    """Draft tokens behind the committed ones."""
    probs: list[Tensor] = field(default_factory=list)
    """What each was drawn from, where it was drawn."""
    asked: int = 0
    """Draft tokens that it was last asked for."""


class Worker:
    """The draft, its cache and its chains."""

    def __init__(self, decoder: ModelDraft, pool: BlockPool, longest: int, probs: Tensor | None) -> None:
        """Start without sequences.

        longest: tokens of a sequence, at most.
        probs: [rows, vocabulary] where distributions are handed over; None: they are not.
        """
        self._decoder, self._pool, self._longest, self._shared = decoder, pool, longest, probs
        self._shadows: dict[int, Shadow] = {}
        self._passes, self._pass_s = 0, 0.0

    def handle(self, message: Message) -> Answer | None:
        """Do what is asked; an answer to an Ask alone."""
        if isinstance(message, Ask):
            return self._answer(message)
        if isinstance(message, Begin):
            self._begin(message)
        elif isinstance(message, Prompt):
            self._read(self._shadows[message.number], message.tokens)
        else:
            self._drop(message.number)
        return None

    def ahead(self) -> bool:
        """One pass over all sequences whose chain is not long enough yet; whether there was one."""
        eager = [s for s in self._shadows.values() if s.asked and len(s.chain) < 2 * s.asked + 1 and self._room(s)]
        if eager:
            self._extend(eager)
        return bool(eager)

    def _room(self, shadow: Shadow) -> bool:
        return len(shadow.sequence.tokens) + len(shadow.chain) < self._longest

    def _begin(self, message: Begin) -> None:
        request = Request((0,), 1, GREEDY if message.rng is None else message.sampling)
        self._shadows[message.number] = Shadow(SequenceState(message.number, request, 0, 1, message.rng, []))

    def _read(self, shadow: Shadow, tokens: list[int]) -> None:
        sequence, start = shadow.sequence, len(shadow.sequence.tokens)
        sequence.tokens += tokens
        self._pool.extend(sequence.table, len(sequence.tokens))
        self._decoder.prefill([Chunk(sequence, start, len(tokens), len(sequence.tokens))])

    def _drop(self, number: int) -> None:
        shadow = self._shadows.pop(number)
        self._decoder.release(shadow.sequence)
        self._pool.release(shadow.sequence.table)

    def _answer(self, ask: Ask) -> Answer:
        shadows = [self._shadows[number] for number in ask.numbers]
        held = [self._commit(shadow, tokens) for shadow, tokens in zip(shadows, ask.committed, strict=True)]
        for shadow, count in zip(shadows, ask.counts, strict=True):
            shadow.asked = count
        while lacking := [s for s in shadows if len(s.chain) < s.asked]:
            self._extend(lacking)
        if self._shared is not None:
            rows = [row for s in shadows for row in s.probs[: s.asked]]
            for place, row in enumerate(rows):
                self._shared[place].copy_(row)
        return Answer([s.chain[: s.asked] for s in shadows], sum(held), self._passes, self._pass_s)

    def _commit(self, shadow: Shadow, tokens: list[int]) -> bool:
        """Take committed tokens; whether the chain had them all and goes on behind them."""
        sequence, chain = shadow.sequence, shadow.chain
        same = next((i for i, (a, b) in enumerate(zip(chain, tokens, strict=False)) if a != b), len(tokens))
        held = len(tokens) <= len(chain) and same == len(tokens)
        if not held:
            self._decoder.roll_back(sequence, len(sequence.tokens) + min(same, len(chain)))
        sequence.tokens += tokens
        shadow.chain = chain[len(tokens) :] if held else []
        shadow.probs = shadow.probs[len(tokens) :] if held else []
        return bool(shadow.chain)

    def _extend(self, shadows: Sequence[Shadow]) -> None:
        """One more token to each chain."""
        started = perf_counter()
        logits = self._decoder.compute([self._span(shadow) for shadow in shadows])
        best = logits.argmax(-1).tolist()
        for row, shadow in enumerate(shadows):
            sequence = shadow.sequence
            self._decoder.extended(sequence, len(sequence.tokens) + len(shadow.chain))
            if sequence.rng is None:
                shadow.chain.append(best[row])
                continue
            probs = shaped_probs(widened(logits[row : row + 1]), sequence.request.sampling)
            shadow.chain.append(int(pick(probs, torch.tensor([sequence.rng.random()]))[0]))
            shadow.probs.append(probs[0])
        self._passes += 1
        self._pass_s += perf_counter() - started

    def _span(self, shadow: Shadow) -> Span:
        sequence, chain = shadow.sequence, shadow.chain
        length = len(sequence.tokens) + len(chain)
        self._pool.extend(sequence.table, length)
        return Span(chain[-1:], length - 1, sequence.table, 1) if chain else self._decoder.catch_up(sequence)
