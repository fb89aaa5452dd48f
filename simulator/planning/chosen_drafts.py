"""The steady state where a policy chooses draft tokens: step times by which a request stays as long as it would.

Steps are counted as if all proposed K draft tokens, so that a request has the same number of them at every load; where
a policy proposes fewer, a step of it takes longer by the steps that are needed more.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.goodput import Work, best_draft_tokens
from simulator.cluster.paths import PathPlanner
from simulator.physics.step import StepShape
from simulator.physics.uneven import Proposing, UnevenSteps, counted
from simulator.spec.draft_policy import ByBatch, DraftPolicy, PerRequest

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Chosen(NamedTuple):
    """Draft tokens of a batch, and what comes of them."""

    proposing: Proposing
    rounds: float
    """Steps that a request takes ÷ those with K draft tokens."""
    draft_tokens: float
    """Of a sequence, mean [tokens]."""


class ChosenSteps:
    """Step times of a deployment whose policy chooses draft tokens; see StepTimes."""

    def __init__(
        self, steps: UnevenSteps, policy: DraftPolicy, planner: PathPlanner, rows: Ints, context_tokens: float
    ) -> None:
        """rows: of survival, of the sampled requests. context_tokens: of a sequence, mean. [tokens]."""
        self._steps, self._policy, self._context = steps, policy, context_tokens
        survival = np.concatenate(planner.survival)[rows]
        tokens = 1.0 + np.concatenate((np.zeros((len(rows), 1)), survival.cumsum(axis=1)), axis=1)
        running = np.cumsum(1.0 / tokens[:, -1])
        self._survival, self._tokens = survival, tokens
        self._running = running / running[-1]
        self._known: dict[tuple[int, int], Chosen] = {}

    def at(self, sequences: int, prefill_tokens: int = 0) -> Chosen:
        """What is chosen for so many sequences."""
        key = (sequences, prefill_tokens)
        if key not in self._known:
            self._known[key] = self._chosen(sequences, prefill_tokens)
        return self._known[key]

    def decode_affine(self, sequences: int) -> tuple[float, float]:
        """See StepTimes."""
        proposing, rounds, _ = self.at(sequences)
        constant, slope = self._steps.decode_affine(sequences, proposing)
        return rounds * constant, rounds * slope

    def seconds(self, shape: StepShape) -> float:
        """See StepTimes: what prompts add is added once, however many steps a request needs more."""
        proposing, rounds, _ = self.at(shape.sequences, shape.prefill_tokens)
        seconds = self._steps.seconds(shape, proposing)
        if not shape.sequences:
            return seconds
        constant, slope = self._steps.decode_affine(shape.sequences, proposing)
        return seconds + (rounds - 1.0) * (constant + slope * shape.context_tokens)

    def _chosen(self, sequences: int, prefill_tokens: int) -> Chosen:
        """Of sequences that stand for those that run: requests that accept little take more steps."""
        if not sequences:
            return Chosen((), 1.0, 0.0)
        who = np.searchsorted(self._running, (np.arange(sequences) + 0.5) / sequences)
        drafts = self._draft_tokens(who, prefill_tokens)
        tokens = self._tokens[who]
        rounds = float((tokens[:, -1] / tokens[np.arange(sequences), drafts]).mean())
        return Chosen(counted(drafts, tokens.shape[1] - 1), rounds, float(drafts.mean()))

    def _draft_tokens(self, who: Ints, prefill_tokens: int) -> Ints:
        policy = self._policy
        if isinstance(policy, ByBatch):
            return np.full(who.size, policy.draft_tokens(who.size))
        if isinstance(policy, PerRequest):
            return settled(policy, self._survival[who])
        work = Work(int(who.size * self._context), prefill_tokens)
        return best_draft_tokens(self._survival[who], self._steps, work).draft_tokens


def settled(policy: PerRequest, survival: Floats) -> Ints:
    """Draft tokens at which each request stays if its running mean is what is accepted in the mean.

    Where it would go down from a candidate and up again from the one below, it is the one below.

    survival: [requests, positions] [0 to 1]

    >>> rule = PerRequest(kind="per_request", candidates=(1, 3))
    >>> settled(rule, np.array([[0.9, 0.8, 0.7], [0.2, 0.0, 0.0]])).tolist()
    [3, 1]
    """
    mean = np.concatenate((np.zeros((len(survival), 1)), survival.cumsum(axis=1)), axis=1)
    found = np.full(len(survival), policy.candidates[0])
    for below, k in zip(policy.candidates, policy.candidates[1:], strict=False):
        stays = mean[:, k] > policy.down_margin + (0.5 if below == 0 else below - 0.5)
        found = np.where((found == below) & stays, k, found)
    return np.asarray(found)
