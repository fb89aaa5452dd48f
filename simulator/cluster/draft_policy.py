"""How many draft tokens each running sequence gets in the next steps: one function of the batch for each policy."""

from collections.abc import Callable, Hashable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.running import CHOSEN, COUNT, FAR_AHEAD, ROUNDS, ROW, SEEN, Running
from simulator.physics.uneven import Proposing, counted
from simulator.spec.draft_policy import ByBatch, DraftPolicy, PerRequest

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

LASTING_STEPS = 8
"""Steps over which `goodput` spreads the time in which a draft reads what it missed; a choice."""

KEPT = 0.005
"""Loss of tokens per second up to which `goodput` leaves draft tokens as they are; a choice."""

COARSE = 8
"""Contexts and prompts between two powers of 2 that `goodput` tells apart."""


class StepTokens(NamedTuple):
    """What the next step computes beside draft tokens."""

    number: int
    """Steps that the engine has taken before."""
    context_tokens: float
    """KV positions of the running sequences."""
    prefill_tokens: int


class Choice(NamedTuple):
    """Draft tokens of the running sequences."""

    draft_tokens: Ints
    """Of each sequence."""
    proposing: Proposing
    """Sequences that propose at least 1, 2, … of them."""
    steps: int
    """Steps after which another choice is due, the batch being the same."""


class StepCurves(Protocol):
    """Seconds of steps by draft tokens."""

    def curve_s(self, sequences: int, context_tokens: float, prefill_tokens: int) -> Floats:
        """Of 0, 1, … draft tokens verified in all, without drafting them."""

    def drafting_s(self, context_tokens: float, sequences: int, position: int, proposing: Ints) -> Floats:
        """Of the draft's pass for a position, by how many of the sequences propose that far."""

    def catch_up_s(self, tokens: int) -> float:
        """Of the draft's reading so many tokens."""


class Policy(Protocol):
    """Chooses before a step, and sees what was accepted."""

    def choose(self, running: Running, step: StepTokens) -> Choice:
        """Before a step in which any sequence decodes."""

    def observe(self, running: Running, step: int) -> None:
        """Steps of the window have been taken, up to this one of the engine."""


class _ByBatch:
    """As a table says, by the number of sequences."""

    def __init__(self, spec: ByBatch, curves: StepCurves) -> None:
        self._spec = spec
        self._known: dict[int, Choice] = {}

    def choose(self, running: Running, step: StepTokens) -> Choice:
        """See Policy."""
        size = running.size
        if size not in self._known:
            k = self._spec.draft_tokens(size)
            self._known[size] = Choice(np.full(size, k), (size,) * k, FAR_AHEAD)
        return self._known[size]

    def observe(self, running: Running, step: int) -> None:
        """See Policy."""


class _PerRequest:
    """By the running mean of what was accepted of each request, every few steps of the engine.

    A request begins with the candidate in the middle, and a mean of one less. (sglang `adaptive_spec_params.py`)
    """

    def __init__(self, spec: PerRequest, curves: StepCurves) -> None:
        self._spec = spec
        self._candidates = np.array(spec.candidates)

    def choose(self, running: Running, step: StepTokens) -> Choice:
        """See Policy."""
        seen, chosen = running.column(SEEN), running.column(CHOSEN)
        new = seen == 0
        if new.any():
            middle = len(self._candidates) // 2
            chosen[new], seen[new], running.ema[new] = middle, 1, self._candidates[middle] - 1.0
        every = self._spec.every_steps
        drafts = self._candidates[chosen]
        return Choice(drafts, counted(drafts, self._spec.most), every - step.number % every)

    def observe(self, running: Running, step: int) -> None:
        """See Policy."""
        accepted, steps = running.recent()
        drafting = running.column(COUNT) > 0
        kept = 1.0 - self._spec.ema
        recent = self._spec.ema * (accepted @ kept ** np.arange(accepted.shape[1] - 1, -1, -1.0))
        running.ema[:] = np.where(drafting, kept**steps * running.ema + recent, running.ema)
        if step % self._spec.every_steps == 0:
            self._move(running, running.column(ROUNDS) + steps)

    def _move(self, running: Running, rounds: Ints) -> None:
        """Down while the mean is too low for the candidate below, else up while it is high; from 0, one up to look."""
        spec, candidates, mean = self._spec, self._candidates, running.ema
        chosen = running.column(CHOSEN)
        ready = rounds > spec.warm_up_steps
        off = ready & (candidates[chosen] == 0)
        falls = spec.down_margin + np.where(candidates == 0, 0.5, candidates - 0.5)
        rises = candidates - 0.5 + spec.up_margin
        at = chosen.copy()
        for _ in candidates[1:]:
            at -= ready & ~off & (at > 0) & (mean <= falls[np.maximum(at - 1, 0)])
        stays = ready & ~off & (at == chosen)
        for _ in candidates[1:]:
            at += stays & (at < len(candidates) - 1) & (mean > rises[at])
        at += off
        running.ema[:] = np.where(off & (mean < 0), candidates[at] - 1.0, mean)
        chosen[:] = at


class _Goodput:
    """The draft tokens likeliest to be accepted, as many as commit most tokens per second by the step's cost.

    Sequences keep the draft tokens that they have while that is as good as the best but for KEPT.
    """

    def __init__(self, spec: DraftPolicy, curves: StepCurves) -> None:
        self._curves = curves
        self._best: dict[Hashable, tuple[Ints, Proposing, float]] = {}
        self._seconds: dict[Hashable, float] = {}
        self._tokens = np.zeros((0, 0))

    def choose(self, running: Running, step: StepTokens) -> Choice:
        """See Policy."""
        rows, had, seen = running.column(ROW), running.column(COUNT), running.column(SEEN)
        work = _Work(_coarse(step.context_tokens), _coarse(step.prefill_tokens), _coarse(running.missed_tokens))
        found, proposing, most = self._best_for(running, rows, work)
        kept = np.where(seen, had, found)
        seen[:] = 1
        if (kept == found).all():
            return Choice(found, proposing, FAR_AHEAD)
        keeping = counted(kept, running.survival.shape[1])
        if self._committed(running, rows, kept) < (1.0 - KEPT) * most * self._step_s(rows.size, work, keeping):
            return Choice(found, proposing, FAR_AHEAD)
        return Choice(kept, keeping, FAR_AHEAD)

    def observe(self, running: Running, step: int) -> None:
        """See Policy."""

    def _best_for(self, running: Running, rows: Ints, work: "_Work") -> tuple[Ints, Proposing, float]:
        """The best draft tokens of these sequences, and the tokens per second that they commit."""
        alike = len(running.survival) == 1
        order = slice(0, rows.size) if alike else rows.argsort(kind="stable")
        key = (rows.size if alike else rows[order].tobytes(), work)
        if key not in self._best:
            best = best_draft_tokens(
                running.survival[rows[order]], self._curves, work.context, work.prefill, self._late_s(work)
            )
            self._best[key] = (best[0], counted(best[0], running.survival.shape[1]), best[1])
        drafts, proposing, rate = self._best[key]
        if alike:
            return drafts, proposing, rate
        found = np.empty_like(drafts)
        found[order] = drafts
        return found, proposing, rate

    def _committed(self, running: Running, rows: Ints, drafts: Ints) -> float:
        """Tokens that a step commits, expected."""
        if not self._tokens.size:
            first = np.ones((len(running.survival), 1))
            self._tokens = np.concatenate((first, 1.0 + running.survival.cumsum(axis=1)), axis=1)
        return float(self._tokens[rows, drafts].sum())

    def _step_s(self, sequences: int, work: "_Work", proposing: Proposing) -> float:
        key = (sequences, work, proposing)
        if key not in self._seconds:
            seconds = self._curves.curve_s(sequences, work.context, work.prefill)[sum(proposing)]
            for position, going in enumerate(proposing, start=1):
                seconds += self._curves.drafting_s(work.context, sequences, position, np.array([going]))[0]
            self._seconds[key] = float(seconds) + (self._late_s(work) if proposing else 0.0)
        return self._seconds[key]

    def _late_s(self, work: "_Work") -> float:
        return self._curves.catch_up_s(work.behind) / LASTING_STEPS


class _Work(NamedTuple):
    """What a step computes beside draft tokens, coarsely: context, prompt tokens, tokens that the draft has missed."""

    context: int
    prefill: int
    behind: int


def best_draft_tokens(
    survival: Floats, curves: StepCurves, context_tokens: float, prefill_tokens: int, late_s: float = 0.0
) -> tuple[Ints, float]:
    r"""Draft tokens of each sequence that commit most tokens per second, and those tokens per second.

    .. math:: M^* = \arg\max_M \frac{R + \sum_{j \le M} s_{(j)}}{T(R, M)}

    s sorted: the draft token that is likeliest to be accepted goes first, whichever sequence it belongs to. T counts
    the draft's passes too, each over the sequences that propose so far.

    survival: [R sequences, positions] chance that each draft token is accepted; never rising. [0 to 1]
    late_s: what any draft token costs once more, because the draft is behind. [s]

    Liu et al. 2024, TurboSpec, arXiv:2406.14066; SGLang's DSpark planner.
    """
    sequences, positions = survival.shape
    order = np.argsort(-survival, axis=None, kind="stable")
    tokens = sequences + np.concatenate(([0.0], np.cumsum(survival.ravel()[order])))
    seconds = curves.curve_s(sequences, context_tokens, prefill_tokens).copy()
    at = order % positions
    for position in range(positions):
        proposing = np.concatenate(([0], np.cumsum(at == position)))
        seconds += curves.drafting_s(context_tokens, sequences, position + 1, proposing)
    seconds[1:] += late_s
    rate = tokens / seconds
    best = int(np.argmax(rate))
    return np.bincount(order[:best] // positions, minlength=sequences), float(rate[best])


def _coarse(tokens: float) -> int:
    """A whole number near a count, COARSE of them between two powers of 2; the same for counts that are close."""
    whole = int(tokens)
    shift = max(whole.bit_length() - COARSE.bit_length(), 0)
    return (whole >> shift) << shift


CHOOSERS: dict[str, Callable[[DraftPolicy, StepCurves], Policy]] = {
    "by_batch": _ByBatch,
    "per_request": _PerRequest,
    "goodput": _Goodput,
}  # type: ignore[dict-item]
"""Kind of a policy that changes draft tokens → what chooses them."""

