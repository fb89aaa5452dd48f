"""How many draft tokens each sequence gets in a step: at most K, which the scheduler reserves whatever a policy says.

The names are the planner's: `fixed`, `by_batch`, `per_request`, `goodput`.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine.errors import DraftError
from engine.sequence import SequenceState
from engine.trace import StepRow

RECENT_WEIGHT = 0.2
"""Weight of the last observation in a running mean (as SGLang's adaptive steps)."""

MOVE_EVERY, MOVE_AFTER = 5, 10
"""Steps between two choices of `per_request`, and rounds of a sequence before its first (as SGLang)."""

PROBE_EVERY = 32
"""So many steps apart, `goodput` drafts all K, or it would never learn that acceptance has risen; a choice."""

WARM_UP = (1.0, 0.0, 0.5)
"""Shares of K in the first steps of `goodput`, so that the cost of rows is known from three sides; a choice."""


class Policy(Protocol):
    """Decides before a step, and sees what the step took."""

    def counts(self, sequences: Sequence[SequenceState]) -> list[int]:
        """Draft tokens of each decoding sequence, at most its own draft_tokens."""

    def observe(self, row: StepRow) -> None:
        """A step has been taken."""


class Fixed:
    """K never changes."""

    def counts(self, sequences: Sequence[SequenceState]) -> list[int]:
        """See Policy."""
        return [s.draft_tokens for s in sequences]

    def observe(self, row: StepRow) -> None:
        """See Policy."""


class ByBatch:
    """K by the number of decoding sequences; none outside of all ranges."""

    def __init__(self, ranges: Sequence[tuple[int, int, int]]) -> None:
        """ranges: (from sequences, to sequences, K), rising."""
        for first, last, draft_tokens in ranges:
            if not 1 <= first <= last or draft_tokens < 0:
                raise DraftError(f"by_batch {[first, last, draft_tokens]}: needs 1 ≤ from ≤ to, and K of 0 or more")
        for before, after in pairwise(ranges):
            if after[0] <= before[1]:
                raise DraftError(f"by_batch: {list(after)} begins before {list(before)} ends")
        self._ranges = ranges

    def counts(self, sequences: Sequence[SequenceState]) -> list[int]:
        """See Policy."""
        here = [k for first, last, k in self._ranges if first <= len(sequences) <= last]
        return [min(s.draft_tokens, here[0] if here else 0) for s in sequences]

    def observe(self, row: StepRow) -> None:
        """See Policy."""


class PerRequest:
    """Each sequence by the running mean of what was accepted of it, as SGLang's adaptive steps do for a whole batch.

    Up where the mean is above its draft tokens − 0.5; down where it is at most the candidate below − 0.75 (0.25 for
    0 draft tokens); from 0, one up to look. (sglang `speculative/adaptive_spec_params.py`)
    """

    def __init__(self, candidates: Sequence[int]) -> None:
        """candidates: draft tokens, rising; a sequence begins with the one in the middle."""
        if len(candidates) < 2 or min(candidates) < 0 or any(a >= b for a, b in pairwise(candidates)):
            raise DraftError(f"per_request {list(candidates)}: needs at least two candidates, rising, of 0 or more")
        self._candidates = candidates
        self._known: dict[int, tuple[int, float, int]] = {}
        """By request number, of the sequences that took part last: candidate, mean, rounds seen."""
        self._steps = 0

    def counts(self, sequences: Sequence[SequenceState]) -> list[int]:
        """See Policy."""
        known, self._known, self._steps = self._known, {}, self._steps + 1
        middle = len(self._candidates) // 2
        for s in sequences:
            at, mean, seen = known.get(s.number, (middle, self._candidates[middle] - 1.0, 0))
            for drafted, accepted in s.rounds[seen:]:
                mean = _moved(mean, accepted) if drafted else mean
            if self._steps % MOVE_EVERY == 0 and len(s.rounds) > MOVE_AFTER:
                at, mean = self._move(at, mean)
            self._known[s.number] = at, mean, len(s.rounds)
        return [min(s.draft_tokens, self._candidates[self._known[s.number][0]]) for s in sequences]

    def observe(self, row: StepRow) -> None:
        """See Policy."""

    def _move(self, at: int, mean: float) -> tuple[int, float]:
        """Another candidate where the mean asks for it, and the mean that it begins with."""
        these, before = self._candidates, at
        if these[at] == 0:
            at = min(at + 1, len(these) - 1)
            return at, these[at] - 1.0 if mean < 0 else mean
        while at and mean <= (these[at - 1] - 0.75 if these[at - 1] else 0.25):
            at -= 1
        while at >= before and at + 1 < len(these) and mean > these[at] - 0.5:
            at += 1
        return at, mean


class Goodput:
    """As many draft tokens as commit most tokens per second, by this run's own steps.

    The draft tokens that are likeliest to be accepted go first, whichever sequence they belong to; M of them are taken
    so that (sequences + sum of their survival) / T(sequences + M) is highest. T is the running mean of steps with so
    many rows and no prompt, beside a prompt too; survival is the running mean of a sequence's own steps.
    (Liu et al. 2024, TurboSpec, arXiv:2406.14066; SGLang's planner of the same form.)
    """

    def __init__(self) -> None:
        self._seconds: dict[int, float] = {}
        """By rows of a step without prompts."""
        self._usual: list[float] = []
        """Survival by position over all sequences: where a new one starts from."""
        self._survival: dict[int, tuple[int, list[float]]] = {}
        """By request number, of the sequences that took part last: steps seen, survival by position."""
        self._kept: dict[int, tuple[int, list[float]]] = {}
        self._steps = 0

    def counts(self, sequences: Sequence[SequenceState]) -> list[int]:
        """See Policy."""
        curves = [self._curve(s) for s in sequences]
        self._survival, self._kept = self._kept, {}
        nth, self._steps = self._steps, self._steps + 1
        if nth < 2 * len(WARM_UP) or nth % PROBE_EVERY == 0:
            share = WARM_UP[nth % len(WARM_UP)] if nth < 2 * len(WARM_UP) else 1.0
            return [round(share * s.draft_tokens) for s in sequences]
        ranked = sorted(((s, row) for row, curve in enumerate(curves) for s in curve), key=lambda pair: -pair[0])
        rows = len(sequences) + np.arange(len(ranked) + 1)
        tokens = len(sequences) + np.concatenate(([0.0], np.cumsum([s for s, _ in ranked])))
        best = int(np.argmax(tokens / self._step_s(rows)))
        taken = [row for _, row in ranked[:best]]
        return [taken.count(row) for row in range(len(sequences))]

    def observe(self, row: StepRow) -> None:
        """See Policy."""
        if row.shape.sequences and not row.shape.prefill_tokens:
            rows = row.shape.verify_tokens
            self._seconds[rows] = _moved(self._seconds.get(rows), row.cost.total_s)

    def _step_s(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Seconds of steps with so many rows; more rows never take less, and beyond what is known, no more."""
        known = sorted(self._seconds)
        if not known:
            return np.ones(len(rows))
        return np.asarray(np.interp(rows, known, np.maximum.accumulate([self._seconds[r] for r in known])))

    def _curve(self, sequence: SequenceState) -> list[float]:
        """Survival of a sequence's draft tokens, never rising; what was never drafted is taken to be accepted."""
        seen, curve = self._survival.get(sequence.number, (0, list(self._usual)))
        curve += [1.0] * (sequence.draft_tokens - len(curve))
        for drafted, accepted in sequence.rounds[seen:]:
            for position in range(min(drafted, len(curve))):
                curve[position] = _moved(curve[position], float(position < accepted))
                self._usual += [1.0] * (position + 1 - len(self._usual))
                self._usual[position] = _moved(self._usual[position], float(position < accepted))
        self._kept[sequence.number] = (len(sequence.rounds), curve)
        return np.minimum.accumulate(curve[: sequence.draft_tokens]).tolist() if sequence.draft_tokens else []


def _moved(mean: float | None, value: float) -> float:
    return value if mean is None else mean + RECENT_WEIGHT * (value - mean)
