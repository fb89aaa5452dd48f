"""Policies that choose how many draft tokens each running sequence gets: by a table, or by what was accepted of it."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.choice import Choice, Policy, StepCurves, StepTokens
from simulator.cluster.goodput import Goodput
from simulator.cluster.running import CHOSEN, COUNT, FAR_AHEAD, ROUNDS, SEEN, Running
from simulator.physics.uneven import counted
from simulator.spec.draft_policy import ByBatch, PerRequest

Ints = NDArray[np.int64]


class _ByBatch:
    """As a table says, by the number of sequences."""

    def __init__(self, spec: ByBatch) -> None:
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

    def __init__(self, spec: PerRequest) -> None:
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


CHOOSERS: dict[str, Callable[[Any, StepCurves], Policy]] = {
    "by_batch": lambda spec, _: _ByBatch(spec),
    "per_request": lambda spec, _: _PerRequest(spec),
    "goodput": lambda _, curves: Goodput(curves),
}
"""Kind of a policy that changes draft tokens → what chooses them."""
