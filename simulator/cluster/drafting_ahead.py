"""Drafts that are made while the target verifies: which sequences have any when a step begins, and what it waits for.

Whether a sequence's guess was right belongs to (seed, replication, request, round), like what is accepted. Those that
missed are verified with their last token only, in the company of the others; where all missed, the step waits.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.adaptive import AdaptiveDecoding
from simulator.cluster.admission import Chunk
from simulator.cluster.choice import Choice, StepTokens
from simulator.cluster.limits import Limits
from simulator.cluster.paths import PathPlanner
from simulator.cluster.requests import RequestBook
from simulator.cluster.running import COMMITTED, REQUEST, ROUNDS, Running
from simulator.cluster.streams import request_bits, round_uniforms
from simulator.physics.draft import AheadCost
from simulator.physics.drafted import DeploymentSteps
from simulator.physics.step import StepShape
from simulator.physics.uneven import Proposing

LOOK = 16
"""Steps of a window at most."""
OTHER_LUCK = np.uint64(0xC2B2AE3D27D4EB4F)
"""Tells the uniforms of guesses from those of acceptance."""


class _AllOfThem:
    """All draft tokens of every sequence, until the next step in which nobody has any; see Policy."""

    def __init__(self, draft_tokens: int) -> None:
        self._draft_tokens = draft_tokens
        self.lasting = 1

    def choose(self, running: Running, step: StepTokens) -> Choice:
        """See Policy."""
        each = np.full(running.size, self._draft_tokens)
        return Choice(each, (running.size,) * self._draft_tokens, self.lasting)

    def observe(self, running: Running, step: int) -> None:
        """See Policy."""


class AheadTimes:
    """Seconds of steps whose sequences all have K + 1 rows, whether they have drafts or not: engines pad them."""

    def __init__(self, model: DeploymentSteps, ahead: AheadCost | None) -> None:
        """ahead: what a step waits for drafts; None: that is not for the step model to say."""
        self._model, self._ahead = model, ahead

    def decode_affine(self, sequences: int, proposing: Proposing) -> tuple[float, float]:
        """See UnevenTimes."""
        return self._model.decode_affine(sequences)

    def seconds(self, shape: StepShape, proposing: Proposing) -> float:
        """See UnevenTimes."""
        k = self._model.draft_tokens
        return self._model.seconds(shape._replace(verify_tokens=shape.sequences * (k + 1), draft_tokens=k))

    def catch_up_s(self, tokens: int) -> float:
        """Nothing: the drafts see every token."""
        return 0.0

    def wait_s(self, sequences: int, context_tokens: int) -> float:
        """Seconds that a step waits in which nobody has drafts."""
        if self._ahead is None:
            return 0.0
        constant, slope = self._ahead.again(sequences, self._model.draft_tokens)
        return constant + slope * context_tokens


class AheadDecoding(AdaptiveDecoding):
    """The running sequences of a replica whose drafts go on while it verifies; see Decoding.

    What a round accepts is nothing where its guess was wrong, unless the step waits: that depends on the company.
    """

    def __init__(self, book: RequestBook, times: AheadTimes, limits: Limits, planner: PathPlanner, hit: float) -> None:
        """hit: chance that a sequence has drafts when a step begins. [0 to 1]."""
        self._all = _AllOfThem(limits.draft_tokens)
        super().__init__(book, times, limits, planner, self._all)
        self._policy = self._all
        self._waits, self._hit = times, hit
        self._hits: dict[int, NDArray[np.bool_]] = {}
        """Request → by round, whether it has drafts."""
        self._raw: dict[int, NDArray[np.int8]] = {}
        """Request → by round, draft tokens that are accepted if it has them."""
        self._changed = False
        """Whether a sequence has gone since the window began."""
        self.missed = False
        """Whether nobody has drafts for the step to come, so that it waits."""

    def start(self, request: int, prompt: int, step: int) -> None:
        """See Decoding."""
        if request not in self._hits:
            raw = self._raw[request] = self._book.accepted[request]
            bits = request_bits(self._planner.key ^ OTHER_LUCK, np.array([request]))
            hits = self._hits[request] = round_uniforms(bits, np.arange(1, raw.size + 1)) < self._hit
            self._book.accepted[request] = np.where(hits, raw, 0).astype(np.int8)
        super().start(request, prompt, step)

    def stop(self, request: int, prompt: int, first: int, step: int) -> tuple[int, int]:
        """See Decoding."""
        self._changed = True
        return super().stop(request, prompt, first, step)

    def end(self, request: int) -> tuple[int, int]:
        """See Decoding; draft tokens were proposed in the rounds that had any."""
        self._changed = True
        done = self._running.remove(request)
        rounds, committed = (int(done.columns[field]) for field in (ROUNDS, COMMITTED))
        proposed = self._limits.draft_tokens * int(self._hits.pop(request)[:rounds].sum())
        del self._raw[request]
        self._book.end_path(request, rounds, proposed, committed)
        return done.put_out, done.grown

    def look_ahead(self, step: int, context: int, chunks: Sequence[Chunk], steps: int) -> float:
        """See Decoding."""
        running = self._running
        if running.width and (self._changed or running.planned < running.size):
            self._settle(step)
        self._changed = False
        wait_s = self._decide(context) if running.size and not running.width else 0.0
        super().look_ahead(step, context, chunks, steps)
        return wait_s

    def _decide(self, context: int) -> float:
        """Begin a window: up to the next step in which nobody has drafts, or that step; the seconds that it waits."""
        waits_in = self._first_miss()
        self.missed, self._all.lasting = not waits_in, max(waits_in, 1)
        self._width = LOOK
        if not self.missed:
            return 0.0
        self._wait()
        return self._waits.wait_s(self._running.size, context)

    def _first_miss(self) -> int:
        """Steps until the next in which nobody has drafts, so far as is looked."""
        anybody = np.zeros(LOOK, np.bool_)
        for request, rounds in self._rounds():
            hits = self._hits[request][rounds : rounds + LOOK]
            anybody[: hits.size] |= hits
            if anybody.all():
                return LOOK
        return int(np.argmin(anybody))

    def _wait(self) -> None:
        """Let the round to come of every sequence have drafts after all."""
        accepted = []
        for request, rounds in self._rounds():
            if rounds < self._raw[request].size:
                self._hits[request][rounds] = True
                self._book.accepted[request][rounds] = self._raw[request][rounds]
            accepted.append(int(self._raw[request][rounds]) if rounds < self._raw[request].size else 0)
        self._running.accept(np.array(accepted, np.int8))

    def _rounds(self) -> list[tuple[int, int]]:
        """Of each sequence, its request and the rounds that it has taken."""
        requests, rounds = (self._running.column(field).tolist() for field in (REQUEST, ROUNDS))
        return list(zip(requests, rounds, strict=True))
