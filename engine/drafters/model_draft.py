"""A draft model of its own, or the target disturbed by noise: passes of a decoder between the target's steps.

Its KV cache lies in the same block numbers as the target's. After a step it is rolled back by length: positions up to
the last token but one are right, whatever was proposed behind them.
"""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from engine.batch import Span
from engine.drafters.interface import Draft, DraftSetup
from engine.errors import DraftError
from engine.graphs import passes
from engine.kv_cache import KvStore
from engine.model import Model
from engine.sampling import pick, shaped_probs, widened
from engine.sequence import Chunk, SequenceState
from engine.weights import Weights, with_noise
from engine.window import Window, narrow


class Decoder(Protocol):
    """What proposes by passes of a decoder: a model of its own, or a head on the target's hidden states."""

    def attach(self, target: Model, store: KvStore) -> None:
        """See Drafter."""

    def prefill(self, chunks: Sequence[Chunk]) -> None:
        """See Drafter."""

    def release(self, sequence: SequenceState) -> None:
        """See Drafter."""

    def assume(self, sequence: SequenceState) -> None:
        """Take all tokens but the last as computed, whatever the cache holds: steps are measured at a context so."""

    def catch_up(self, sequence: SequenceState) -> Span:
        """Rows up to the last token, which from now on count as computed."""

    def compute(self, spans: Sequence[Span]) -> Tensor:
        """One pass: logits of the rows that the spans ask for."""


class ModelDraft:
    """A drafter that is a decoder."""

    def __init__(self, model: Model, store: KvStore, *, window: Window | None = None, shares_kv: bool = False) -> None:
        """Keep the model and its cache.

        window: what each row looks at; None: all before it.
        shares_kv: the cache is the target's: all tokens but the last are there, and what is written behind them the
        target's pass writes over.
        """
        self._model, self._store, self._shares_kv = model, store, shares_kv
        self._pass = passes(model, store)
        if window is not None:
            self._pass = lambda batch: model.forward(narrow(batch, window), store)
        self._computed: dict[int, int] = {}
        """By request number: positions that the draft's cache holds."""

    def attach(self, target: Model, store: KvStore) -> None:
        """A decoder with a cache of its own needs neither."""

    def prefill(self, chunks: Sequence[Chunk]) -> None:
        """Compute the same chunks of prompts as the target."""
        if not chunks or self._shares_kv:
            return
        spans = [
            Span(c.sequence.tokens[c.start : c.start + c.num_tokens], c.start, c.sequence.table, 0) for c in chunks
        ]
        self._pass(self._model.batch(spans, self._store, 0))
        for chunk in chunks:
            self._computed[chunk.sequence.number] = chunk.start + chunk.num_tokens

    def propose(self, sequences: Sequence[SequenceState], counts: Sequence[int]) -> list[Draft]:
        """See Drafter; the first pass catches up with the target."""
        drafts = chains(self, sequences, counts)
        for sequence, count in zip(sequences, counts, strict=True):
            if count:
                self._computed[sequence.number] = len(sequence.tokens) + count - 1
        return drafts

    def compute(self, spans: Sequence[Span]) -> Tensor:
        """See Decoder."""
        return self._pass(self._model.batch(spans, self._store))

    def catch_up(self, sequence: SequenceState) -> Span:
        """See Decoder."""
        length = len(sequence.tokens)
        start = length - 1 if self._shares_kv else min(self._computed.get(sequence.number, 0), length - 1)
        self._computed[sequence.number] = length
        return Span(sequence.tokens[start:], start, sequence.table, 1)

    def release(self, sequence: SequenceState) -> None:
        """See Drafter."""
        self._computed.pop(sequence.number, None)

    def assume(self, sequence: SequenceState) -> None:
        """See Decoder."""
        self._computed[sequence.number] = len(sequence.tokens) - 1

    def extended(self, sequence: SequenceState, positions: int) -> None:
        """So many positions have been computed by now."""
        self._computed[sequence.number] = positions

    def roll_back(self, sequence: SequenceState, positions: int) -> None:
        """Take no more than so many positions as computed."""
        self._computed[sequence.number] = min(self._computed.get(sequence.number, 0), positions)


def chains(decoder: Decoder, sequences: Sequence[SequenceState], counts: Sequence[int]) -> list[Draft]:
    """A chain behind each sequence: one pass per draft token over all sequences that still want one."""
    tokens: list[list[int]] = [[] for _ in sequences]
    probs: list[list[Tensor]] = [[] for _ in sequences]
    for nth in range(max(counts, default=0)):
        active = [i for i, count in enumerate(counts) if count > nth]
        logits = decoder.compute([_span(decoder, sequences[i], tokens[i]) for i in active])
        best = logits.argmax(-1).tolist()
        for row, i in enumerate(active):
            rng = sequences[i].rng
            if rng is None:
                tokens[i].append(best[row])
                continue
            row_probs = shaped_probs(widened(logits[row : row + 1]), sequences[i].request.sampling)
            tokens[i].append(int(pick(row_probs, torch.tensor([rng.random()]))[0]))
            probs[i].append(row_probs)
    return [Draft(t, torch.cat(p) if p else None) for t, p in zip(tokens, probs, strict=True)]


def _span(decoder: Decoder, sequence: SequenceState, drafted: list[int]) -> Span:
    if not drafted:
        return decoder.catch_up(sequence)
    return Span(drafted[-1:], len(sequence.tokens) + len(drafted) - 1, sequence.table, 1)


def draft_model(setup: DraftSetup) -> ModelDraft:
    """Build a drafter from the weights of a draft model."""
    if setup.draft is None:
        raise DraftError("draft 'model': no weights were given; name a draft model, or use: lookup, noisy_target")
    return _checked(setup, setup.draft)


def noisy_target(setup: DraftSetup) -> ModelDraft:
    """Build a drafter from the target's own weights and noise; the larger epsilon, the lower the acceptance."""
    if setup.target is None or setup.generator is None:
        raise DraftError("draft 'noisy_target': needs the target's weights and a generator for the noise")
    return _checked(setup, with_noise(setup.target, setup.epsilon, setup.generator))


def _checked(setup: DraftSetup, draft: Weights) -> ModelDraft:
    a = draft.architecture
    if setup.target is not None and setup.target.architecture.vocab_size != a.vocab_size:
        raise DraftError(
            f"draft: its vocabulary has {a.vocab_size} tokens, the target's {setup.target.architecture.vocab_size};"
            " both must be the same"
        )
    if setup.max_model_len is not None and a.max_position < setup.max_model_len:
        raise DraftError(
            f"draft: it holds {a.max_position} positions, the engine's longest sequence is {setup.max_model_len};"
            " lower max_model_len"
        )
    model = Model(draft, backend=setup.backend, max_position=setup.max_model_len)
    store = model.new_store(setup.num_blocks, setup.block_tokens, setup.kv)
    return ModelDraft(model, store, window=setup.window)
