"""Steps whose sequences propose different numbers of draft tokens: what a policy decides on, and what it then costs.

`proposing` says how many sequences propose at least 1, 2, … draft tokens; it never rises. Where all propose as many,
a step costs what the step model says. Else its rows are counted exactly, attention and host work lie between those of
the whole numbers around the mean, and each pass of the draft works on the sequences that still propose.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simulator.physics.draft import Affine
from simulator.physics.step import StepShape
from simulator.physics.step_model import CatalogStepModel, Memo

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Proposing = tuple[int, ...]

KNOTS_PER_OCTAVE = 8
"""Rows at which the curve that a policy decides on is looked up, between two powers of 2."""


AROUND = (0.8, 1.25)
"""Range around a step's rows over which the time of a further row is taken."""


class UnevenSteps:
    """Seconds of such steps, and the curves over rows of which a policy finds the best."""

    def __init__(self, model: CatalogStepModel) -> None:
        """Nothing is computed before it is asked for."""
        self.model = model
        self._passes: Memo[tuple[int, int], Affine] = Memo(self._passes_s)
        self._drafting: Memo[tuple[int, Proposing], Affine] = Memo(self._drafting_s)
        self._decode: Memo[tuple[int, Proposing], Affine] = Memo(self._decode_s)
        self._curves: Memo[int, tuple[Floats, Floats]] = Memo(self._curve)
        self._each: Memo[tuple[int, int], tuple[Floats, Floats]] = Memo(self._draft_passes)
        self._knots = np.zeros(1)
        self._rows_s = np.zeros(1)

    def decode_affine(self, sequences: int, proposing: Proposing) -> Affine:
        """Seconds of a step without prompts as (a, b): a + b × context_tokens."""
        return self._decode[sequences, proposing]

    def seconds(self, shape: StepShape, proposing: Proposing) -> float:
        """Seconds of a step; its verify and draft tokens are those of `proposing`."""
        sequences, _, context, prompts, prompt_tokens, attended, _ = shape
        if is_even(sequences, proposing):
            k = len(proposing)
            rows = sequences * (k + 1)
            return self.model.seconds(StepShape(sequences, rows, context, prompts, prompt_tokens, attended, k))
        low, share, rows = _around(sequences, proposing)
        shape = shape._replace(verify_tokens=rows, draft_tokens=low)
        at = [self._undrafted_s(shape._replace(draft_tokens=k)) for k in (low, low + 1)]
        constant, slope = self._drafting[shape.sequences, proposing]
        return at[0] + share * (at[1] - at[0]) + constant + slope * shape.context_tokens

    def catch_up_s(self, tokens: int) -> float:
        """Seconds in which the draft reads what was committed while it did not run."""
        return self.model.draft.prefill_s(tokens) if tokens else 0.0

    def curve_s(self, sequences: int, context_tokens: float, prefill_tokens: int) -> Floats:
        """Seconds of a step that verifies 0, 1, … all draft tokens, without drafting them; piecewise linear.

        Beside prompts: less what each of their tokens adds there, for some step will compute them in any case.
        """
        constants, slopes = self._curves[sequences]
        curve = constants + slopes * context_tokens
        if not prefill_tokens:
            return curve
        rows = sequences + np.arange(constants.size)
        curve += self._layers_s(rows + prefill_tokens) - self._layers_s(rows)
        around = np.array([(sequences + prefill_tokens) * factor for factor in AROUND])
        fewer_s, more_s = self._layers_s(around).tolist()
        return np.asarray(curve - prefill_tokens * (more_s - fewer_s) / (around[1] - around[0]))

    def drafting_s(self, context_tokens: float, sequences: int, position: int, proposing: Ints) -> Floats:
        """Seconds of the draft's pass for a position, by how many of the sequences propose that far."""
        constants, slopes = self._each[position, 64 << (sequences // 64).bit_length()]
        share = context_tokens / sequences
        return np.asarray(constants[proposing] + slopes[proposing] * (share * proposing))

    def _undrafted_s(self, shape: StepShape) -> float:
        constant, slope = self._passes[shape.sequences, shape.draft_tokens]
        return self.model.seconds(shape) - constant - slope * shape.context_tokens

    def _passes_s(self, key: tuple[int, int]) -> Affine:
        sequences, draft_tokens = key
        return self.model.draft.passes(sequences, draft_tokens) if sequences and draft_tokens else (0.0, 0.0)

    def _drafting_s(self, key: tuple[int, Proposing]) -> Affine:
        """Pass after pass, each over the sequences that propose so far, with their share of the context."""
        sequences, proposing = key
        constant = slope = 0.0
        for position, going in enumerate(proposing, start=1):
            with_it, without = self._passes[going, position], self._passes[going, position - 1]
            constant += with_it[0] - without[0]
            slope += (with_it[1] - without[1]) * going / sequences
        return constant, slope

    def _decode_s(self, key: tuple[int, Proposing]) -> Affine:
        sequences, proposing = key
        if is_even(sequences, proposing):
            return self.model.decode_affine(sequences, sum(proposing) // sequences)
        near = StepShape(sequences, 0, 0.0, 0, 0, 0.0, 0)
        constant = self.seconds(near, proposing)
        return constant, (self.seconds(near._replace(context_tokens=FAR), proposing) - constant) / FAR

    def _curve(self, sequences: int) -> tuple[Floats, Floats]:
        """By draft tokens verified in all: seconds without context and drafting, and seconds per position of context.

        Between whole numbers for each sequence, rows follow the curve of the layers and the rest is linear.
        """
        most = self.model.draft_tokens
        levels = sequences * np.arange(most + 1)
        at = [self.model.decode_affine(sequences, k) for k in range(most + 1)]
        drafts = [self._passes[sequences, k] for k in range(most + 1)]
        constants = np.array([a - c for (a, _), (c, _) in zip(at, drafts, strict=True)])
        slopes = np.array([b - s for (_, b), (_, s) in zip(at, drafts, strict=True)])
        tokens = np.arange(levels[-1] + 1)
        rest = constants - self._layers_s(sequences + levels)
        return np.interp(tokens, levels, rest) + self._layers_s(sequences + tokens), np.interp(tokens, levels, slopes)

    def _layers_s(self, rows: Ints | Floats) -> Floats:
        """Seconds of the target's layers over so many rows, from knots."""
        most = int(rows[-1])
        if self._knots[-1] < most:
            self._knots = _knots(2 * most)
            self._rows_s = np.array([self.model.target.layers(int(n)).total_s for n in self._knots])
        return np.interp(rows, self._knots, self._rows_s)

    def _draft_passes(self, key: tuple[int, int]) -> tuple[Floats, Floats]:
        """Seconds of a pass, and per position of context, by 0, 1, … sequences, from knots."""
        position, most = key
        knots, parts = _knots(most), []
        for n in knots.astype(int).tolist():
            with_it, without = self._passes[n, position], self._passes[n, position - 1]
            parts.append((with_it[0] - without[0], with_it[1] - without[1]))
        constants, slopes = np.array(parts).T
        return np.interp(np.arange(most + 1), knots, constants), np.interp(np.arange(most + 1), knots, slopes)


FAR = 1e6
"""Context at which a step is priced a second time: what it takes is affine in its context. [tokens]"""


def counted(draft_tokens: Sequence[int] | Ints, most: int) -> Proposing:
    """How many sequences propose at least 1, 2, … draft tokens.

    draft_tokens: of each sequence. [tokens]
    most: none proposes more. [tokens]

    >>> counted([2, 0, 1], 4)
    (2, 1)
    """
    by_count = np.bincount(draft_tokens, minlength=most + 1)
    return tuple(n for n in np.cumsum(by_count[::-1])[::-1][1:].tolist() if n)


def is_even(sequences: int, proposing: Proposing) -> bool:
    """Whether all propose as many."""
    return not proposing or (proposing[-1] == sequences)


def _around(sequences: int, proposing: Proposing) -> tuple[int, float, int]:
    """Whole draft tokens of each sequence below the mean, the share above, and rows in all."""
    tokens = sum(proposing)
    low = tokens // sequences if sequences else 0
    return low, tokens / sequences - low if sequences else 0.0, sequences + tokens


def _knots(most: int) -> Floats:
    """Whole numbers from 0, KNOTS_PER_OCTAVE of them between two powers of 2, up to at least the most."""
    found, step = [0], 1
    while found[-1] < most:
        found.append(found[-1] + step)
        if found[-1] >= 2 * KNOTS_PER_OCTAVE * step:
            step *= 2
    return np.array(found, np.float64)
