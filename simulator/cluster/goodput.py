"""The goodput policy: before each step, the draft tokens for which sequences advance most per second of its cost."""

from collections.abc import Hashable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.choice import Choice, StepCurves, StepTokens
from simulator.cluster.running import COUNT, FAR_AHEAD, ROW, SEEN, Running
from simulator.physics.uneven import Proposing, counted

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

LASTING_STEPS = 8
"""Steps over which `goodput` spreads the time in which a draft reads what it missed; a choice."""

KEPT = 0.005
"""Loss of tokens per second up to which `goodput` leaves draft tokens as they are; a choice."""

COARSE = 8
"""Contexts and prompts between two powers of 2 that `goodput` tells apart."""

_COARSE_BITS = COARSE.bit_length()


class Work(NamedTuple):
    """What a step computes beside draft tokens; coarse, so that it is found again."""

    context_tokens: int = 0
    prefill_tokens: int = 0
    missed_tokens: int = 0
    """Committed tokens that the draft has not read."""


class Best(NamedTuple):
    """The best draft tokens."""

    draft_tokens: Ints
    """Of each sequence."""
    proposing: Proposing
    brought: float
    """Logarithms of the tokens that the step commits of each sequence, expected, together."""
    seconds: float
    """What it takes, less what its prompts always take."""
    price: float
    """What a second counts."""


class Goodput:
    """The draft tokens likeliest to be accepted, as many as commit most tokens per second by the steps' cost.

    Sequences keep the draft tokens that they have while that is as good as the best but for KEPT.
    """

    def __init__(self, curves: StepCurves) -> None:
        self._curves = curves
        self._best: dict[Hashable, Best] = {}
        self._seconds: dict[Hashable, float] = {}
        self._logs = np.zeros((0, 0))
        self._alike: dict[tuple[int, int, Work], tuple[Choice, int]] = {}
        """By number of alike sequences, draft tokens of each so far and work: choice, draft tokens of each."""
        self._whole = 0
        """Draft tokens of each, where all sequences are alike."""

    def choose(self, running: Running, step: StepTokens) -> Choice:
        """See Policy."""
        prefill, missed = step.prefill_tokens, running.missed_tokens
        work = Work(_coarse(int(step.context_tokens)), _coarse(prefill), _coarse(missed))
        if len(running.survival) == 1:
            key = (running.size, self._whole, work)
            if key not in self._alike:
                self._alike[key] = (self._choose_alike(running, work), self._whole)
            choice, self._whole = self._alike[key]
            return choice
        rows, had, seen = running.column(ROW), running.column(COUNT), running.column(SEEN)
        best = self._best_for(running, rows, work)
        kept = np.where(seen, had, best.draft_tokens)
        seen[:] = 1
        if not (kept == best.draft_tokens).all():
            keeping = counted(kept, running.survival.shape[1])
            brought = float(self._brought(running, rows, kept).sum())
            seconds = self._step_s(rows.size, work, keeping)
            if best.brought - brought - best.price * (best.seconds - seconds) <= KEPT * rows.size:
                return Choice(kept, keeping, FAR_AHEAD)
        return Choice(best.draft_tokens, best.proposing, FAR_AHEAD)

    def _choose_alike(self, running: Running, work: Work) -> Choice:
        """The same where all sequences are alike: as many for each, where that is as good as the best but for KEPT."""
        size = running.size
        best = self._best.get((size, work)) or self._best_for(running, running.column(ROW), work)
        below = sum(best.proposing) // size
        for k in (self._whole, below, below + 1):
            if k >= self._tokens(running).shape[1]:
                continue
            brought, proposing = size * self._tokens(running)[0, k], (size,) * k
            seconds = self._step_s(size, work, proposing)
            if best.brought - brought - best.price * (best.seconds - seconds) <= KEPT * size:
                self._whole = k
                return Choice(_all_of(size, k), proposing, FAR_AHEAD)
        return Choice(best.draft_tokens, best.proposing, FAR_AHEAD)

    def observe(self, running: Running, step: int) -> None:
        """See Policy."""

    def _best_for(self, running: Running, rows: Ints, work: Work) -> Best:
        """The best draft tokens of these sequences."""
        alike = len(running.survival) == 1
        order = slice(0, rows.size) if alike else rows.argsort(kind="stable")
        key = (rows.size if alike else rows[order].tobytes(), work)
        if key not in self._best:
            self._best[key] = best_draft_tokens(running.survival[rows[order]], self._curves, work)
        best = self._best[key]
        if alike:
            return best
        found = np.empty_like(best.draft_tokens)
        found[order] = best.draft_tokens
        return best._replace(draft_tokens=found)

    def _brought(self, running: Running, rows: Ints, drafts: Ints) -> Floats:
        """Logarithm of the tokens that a step commits of each sequence, expected."""
        return np.asarray(self._tokens(running)[rows, drafts])

    def _tokens(self, running: Running) -> Floats:
        """[rows, draft tokens + 1] the same by row of survival."""
        if not self._logs.size:
            self._logs = _logs_by_count(running.survival)
        return self._logs

    def _step_s(self, sequences: int, work: Work, proposing: Proposing) -> float:
        key = (sequences, work, proposing)
        if key not in self._seconds:
            seconds = self._curves.curve_s(sequences, work.context_tokens, work.prefill_tokens)[sum(proposing)]
            for position, going in enumerate(proposing, start=1):
                seconds += self._curves.drafting_s(work.context_tokens, sequences, position, np.array([going]))[0]
            late_s = self._curves.catch_up_s(work.missed_tokens) / LASTING_STEPS if proposing else 0.0
            self._seconds[key] = float(seconds) + late_s
        return self._seconds[key]


def best_draft_tokens(survival: Floats, curves: StepCurves, work: Work) -> Best:
    r"""Draft tokens of each sequence for which sequences advance most per second.

    .. math:: M^* = \arg\max_M \sum_i \ln\Big(1 + \sum_{j \le k_i(M)} s_{ij}\Big) - \lambda \, T(R, M)

    The draft token that adds most goes first, whichever sequence it belongs to, up to each depth in turn. T counts the
    draft's passes too, each over the sequences that propose so far, and what the draft has to read first. Logarithms,
    because all requests have to be served: if a token counted the same whosever it is, those that accept little would
    be left to fill the batch. λ is what a second is worth: R ÷ T of the best step without prompts. Where sequences are
    alike and the step has no prompts, M* is the argmax of (R + Σ s) ÷ T.

    survival: [R sequences, positions] chance that each draft token is accepted; never rising. [0 to 1]

    Liu et al. 2024, TurboSpec, arXiv:2406.14066, and SGLang's DSpark planner add up tokens; λ: Dinkelbach, Management
    Science 13, 1967.
    """
    sequences, positions = survival.shape
    adds = np.diff(_logs_by_count(survival))
    order = np.argsort(-adds, axis=None, kind="stable")
    alike = bool((survival == survival[0]).all())
    ways = [
        _way(order[order % positions < depth], adds, curves, work)
        for depth in ((positions,) if alike else range(1, positions + 1))
    ]
    _, step_s = max(_at_best(way.brought - sequences * np.log(way.alone_s), way.alone_s) for way in ways)
    price = sequences / step_s
    way = max(ways, key=lambda one: float((one.brought - price * one.now_s).max()))
    best = int(np.argmax(way.brought - price * way.now_s))
    drafts = np.bincount(way.order[:best] // positions, minlength=sequences)
    return Best(drafts, counted(drafts, positions), float(way.brought[best]), float(way.now_s[best]), price)


class _Way(NamedTuple):
    """Draft tokens in the order in which they are taken, up to some position; and what the first 0, 1, … of them do."""

    order: Ints
    brought: Floats
    """Logarithms of the tokens committed of each sequence, together."""
    alone_s: Floats
    """Seconds of a step without prompts."""
    now_s: Floats
    """Seconds of the step to come, less what its prompts always take."""


def _way(order: Ints, adds: Floats, curves: StepCurves, work: Work) -> _Way:
    sequences, positions = adds.shape
    brought = np.concatenate(([0.0], np.cumsum(adds.ravel()[order])))
    drafting_s = np.zeros(brought.size)
    for position in range(positions):
        proposing = np.concatenate(([0], np.cumsum(order % positions == position)))
        drafting_s += curves.drafting_s(work.context_tokens, sequences, position + 1, proposing)
    drafting_s[1:] += curves.catch_up_s(work.missed_tokens) / LASTING_STEPS
    alone_s, now_s = (
        curves.curve_s(sequences, work.context_tokens, prefill)[: brought.size] + drafting_s
        for prefill in (0, work.prefill_tokens)
    )
    return _Way(order, brought, alone_s, now_s)


def _at_best(gains: Floats, seconds: Floats) -> tuple[float, float]:
    """The highest gain, and the seconds where it is."""
    at = int(np.argmax(gains))
    return float(gains[at]), float(seconds[at])


def _logs_by_count(survival: Floats) -> Floats:
    """[.., positions + 1] logarithm of the tokens that a step commits with 0, 1, … draft tokens, expected."""
    first = np.zeros((len(survival), 1))
    return np.concatenate((first, np.log1p(survival.cumsum(axis=1))), axis=1)


@cache
def _all_of(sequences: int, draft_tokens: int) -> Ints:
    """As many for each."""
    return np.full(sequences, draft_tokens)


def _coarse(tokens: int) -> int:
    """A whole number near a count, COARSE of them between two powers of 2; the same for counts that are close."""
    shift = tokens.bit_length() - _COARSE_BITS
    return (tokens >> shift) << shift if shift > 0 else tokens
