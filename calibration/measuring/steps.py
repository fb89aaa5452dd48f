"""Steps of the engine at a wanted shape: sequences are put in the middle of their decoding, prompts come in between.

A sequence's context is not computed: its blocks hold noise, which takes as long to attend to. Its tokens are real text
where the model has a tokenizer, for a look-up searches them. No draft token is accepted, so that contexts hardly grow.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
import torch

from calibration.measuring.padded import Padded, assume
from calibration.measuring.points import DRAFT_TOKENS, Bounds, Point
from engine.commands.setup import Workbench
from engine.kv_cache import KvStore
from engine.sequence import Request, SequenceState
from engine.texts import DOMAINS
from engine.trace import StepRow

WARM_STEPS = 1
"""Steps at the start of a visit that are not counted: caches, branch predictors and allocators settle."""


class Taken(NamedTuple):
    """One measured step."""

    row: StepRow
    gap_s: float
    """From the end of its last part to the start of the step behind it; 0 where none came."""


class Stage:
    """An engine on which steps of any shape are taken."""

    def __init__(self, bench: Workbench, *, drafted: bool, most_drafted: int = DRAFT_TOKENS[-1]) -> None:
        """most_drafted: draft tokens of a sequence, at most."""
        padded = replace(bench, new_drafter=lambda: Padded(bench.new_drafter()))
        self.engine = padded.engine(speculative=drafted, forced=_none_accepted)
        self._most_drafted = most_drafted
        self.engine.forced = _none_accepted if drafted else None
        self._text = _text(bench)
        self._rng = np.random.default_rng(bench.seed)
        generator = torch.Generator(device=bench.target.device).manual_seed(bench.seed)
        _fill(self.engine.store, generator)

    @property
    def bounds(self) -> Bounds:
        """What the engine takes."""
        options = self.engine.options
        limits = options.limits
        cache = options.kv_blocks * options.block_tokens
        return Bounds(
            limits.max_num_seqs, limits.max_num_batched_tokens, limits.max_model_len, cache, self._most_drafted
        )

    def visit(self, point: Point, steps: int) -> list[Taken]:
        """Take steps of this kind and count them but for the first; the engine is idle again afterwards."""
        engine = self.engine
        engine.steps.clear()
        engine.sequences.clear()
        for _ in range(point.sequences):
            self._adopt(point, WARM_STEPS + steps)
        self._hold_blocks(list(engine.scheduler.running.values()))
        if point.prompts:
            self._with_prompts(point, WARM_STEPS + steps)
        else:
            self._run()
        rows = list(engine.steps)
        ends = [row.start_s + row.cost.total_s for row in rows]
        gaps = [after.start_s - end for after, end in zip(rows[1:], ends, strict=False)] + [0.0]
        engine.pool.check_idle()
        taken = [Taken(row, gap) for row, gap in zip(rows, gaps, strict=True)]
        return [step for step in taken[WARM_STEPS:] if _as_wanted(step.row, point)]

    def _adopt(self, point: Point, steps: int) -> None:
        """A sequence in the middle of its decoding: all of its tokens but the last count as computed."""
        engine = self.engine
        request = Request(self._tokens(point.context), steps, draft_tokens=point.draft_tokens)
        sequence = engine.submit(request)
        engine.scheduler.waiting.pop()
        engine.scheduler.running[sequence.number] = sequence
        if isinstance(engine.drafter, Padded):
            assume(engine.drafter.drafter, sequence)

    def _hold_blocks(self, sequences: Sequence[SequenceState]) -> None:
        """Blocks of all sequences, one of each in turn, in an order drawn anew every time.

        As in serving: who comes takes the blocks that others have freed, and who decodes grows beside the others, so
        that positions are scattered over the cache, and attention has to gather them.
        """
        pool = self.engine.pool
        turns = [sequence.table for sequence in sequences for _ in range(pool.blocks_for(len(sequence.tokens)))]
        for turn in self._rng.permutation(len(turns)):
            table = turns[turn]
            pool.extend(table, (len(table.blocks) + 1) * pool.block_tokens)

    def _with_prompts(self, point: Point, times: int) -> None:
        """Prompts that end with their first token, all into one step; then the same again."""
        for _ in range(times):
            for _ in range(point.prompts):
                self.engine.submit(Request(self._tokens(point.prompt_tokens), 1, draft_tokens=point.draft_tokens))
            self._step()
            while self.engine.scheduler.partial is not None:
                self._step()
        self._run()

    def _run(self) -> None:
        while not self.engine.scheduler.idle():
            self._step()

    def _step(self) -> None:
        self.engine.step(self.engine.clock())

    def _tokens(self, count: int) -> tuple[int, ...]:
        start = int(self._rng.integers(0, max(len(self._text) - count, 1)))
        return tuple(islice(chain(self._text[start:], self._text), count))


def _none_accepted(request: int, nth: int, drafted: int) -> int:
    return 0


def _as_wanted(row: StepRow, point: Point) -> bool:
    """Whether a step is one of the point's: those in which sequences decode alone while prompts are awaited are not."""
    prompts = row.shape.prefill_sequences > 0
    return prompts == (point.prompts > 0) and row.shape.sequences == point.sequences


def _fill(store: KvStore, generator: torch.Generator) -> None:
    """Noise in place of keys and values that nobody computed."""
    for tensor in (*store.keys, *store.values):
        if isinstance(tensor, torch.Tensor):
            tensor.normal_(generator=generator)


def _text(bench: Workbench) -> Sequence[int]:
    """Tokens that contexts and prompts are cut from."""
    if bench.codec is None:
        vocabulary = bench.target.architecture.vocab_size
        drawn: list[int] = np.random.default_rng(bench.seed).integers(0, vocabulary, 20_000).tolist()
        return drawn
    texts = islice(chain.from_iterable(DOMAINS[name]() for name in ("code", "prose")), 12)
    return list(chain.from_iterable(bench.codec.encode(text[:8_000]) for text in texts))
