"""The running sequences of a replica where a policy chooses their draft tokens, step by step or for many steps.

Whatever is chosen, the luck of a round stays the request's. The scheduler reserves rows and KV for K draft tokens of
each sequence in any case. A draft that did not run for a sequence reads what it missed before it runs for it again.
"""

from collections.abc import Sequence
from copy import copy
from heapq import heappush
from typing import Protocol

from simulator.cluster.admission import Chunk
from simulator.cluster.choice import Choice, Policy, StepTokens
from simulator.cluster.limits import Limits
from simulator.cluster.paths import PathPlanner
from simulator.cluster.requests import RequestBook
from simulator.cluster.running import (
    COMMITTED,
    COUNT,
    DRAFTED,
    FAR_AHEAD,
    MISSED,
    NEED,
    ROUNDS,
    Running,
    Stopped,
    computed_again,
    fresh,
)
from simulator.cluster.timeline import Timeline
from simulator.physics.step import StepShape
from simulator.physics.uneven import Proposing, is_even

LEAST_LOOK = 16
"""Steps of the shortest window; one that is used up is followed by one twice as long, at most FAR_AHEAD."""


CHEAP_LOOK = 320
"""Steps of all sequences together up to which a longer window costs no more time to plan; a choice."""


class UnevenTimes(Protocol):
    """Seconds of steps whose sequences propose different numbers of draft tokens."""

    def decode_affine(self, sequences: int, proposing: Proposing) -> tuple[float, float]:
        """Seconds of a step without prompts: first + second × context tokens."""

    def seconds(self, shape: StepShape, proposing: Proposing) -> float:
        """Seconds of a step."""

    def catch_up_s(self, tokens: int) -> float:
        """Of the draft's reading so many tokens."""


class AdaptiveDecoding:
    """Sequences whose draft tokens a policy chooses; see Decoding."""

    def __init__(
        self, book: RequestBook, times: UnevenTimes, limits: Limits, planner: PathPlanner, policy: Policy
    ) -> None:
        self._book, self._times, self._limits, self._planner = book, times, limits, planner
        self._policy = copy(policy)
        self.timeline = Timeline(1)
        self.draft_tokens = 0
        self._running = Running(planner)
        self._stopped: dict[int, Stopped] = {}
        self._proposing: Proposing = ()
        self._even: int | None = None
        """Draft tokens of each sequence in the window, where all have as many."""
        self._width = FAR_AHEAD

    def start(self, request: int, prompt: int, step: int) -> None:
        """See Decoding."""
        came = self._stopped.pop(request, None)
        if came is None or self._limits.swap_block_s is None:
            came = self._computed(request, prompt, came)
        if not self._running.add(came, self._book.accepted[request]):
            heappush(self.timeline.finishes, (step, request))
        self.timeline.base = step - self._running.taken

    def _computed(self, request: int, prompt: int, before: Stopped | None) -> Stopped:
        blocks = self._running.prompt_blocks[prompt]
        if before is not None:
            return computed_again(before, prompt, blocks)
        book = self._book
        return fresh(request, book.survival_row[request], book.output_tokens[request], prompt, blocks)

    def stop(self, request: int, prompt: int, first: int, step: int) -> tuple[int, int]:
        """See Decoding."""
        self._settle(step)
        stopped = self._stopped[request] = self._running.remove(request)
        self._running.new_blocks[0] -= stopped.columns[NEED]
        self._book.preemptions[request] += 1
        return stopped.put_out, stopped.grown

    def end(self, request: int) -> tuple[int, int]:
        """See Decoding."""
        done = self._running.remove(request)
        columns = done.columns
        self._book.end_path(request, columns[ROUNDS], columns[DRAFTED], columns[COMMITTED])
        return done.put_out, done.grown

    def look_ahead(self, step: int, context: int, chunks: Sequence[Chunk], steps: int) -> float:
        """See Decoding."""
        running = self._running
        if not running.size:
            self._settle(step)
            self.draft_tokens, self._proposing = 0, ()
            return 0.0
        step_tokens = StepTokens(step, context, sum([chunk.now for chunk in chunks]) if chunks else 0)
        choice = self._policy.choose(running, step_tokens)
        drafts, self._proposing, lasting = choice
        self.draft_tokens = sum(self._proposing)
        late_s = 0.0
        if not self._stands(choice):
            if running.width:
                self._width = min(max(2 * running.taken, LEAST_LOOK, CHEAP_LOOK // running.size), self._width)
                self._settle(step)
            if running.missed_tokens:
                late_s = self._times.catch_up_s(int(running.column(MISSED)[drafts > 0].sum()))
            self._ends(running.plan(drafts, 1 if chunks else min(self._width, lasting)), step)
        elif running.planned < running.size:
            self._ends(running.extend(drafts), self.timeline.base)
        return late_s

    def _stands(self, choice: Choice) -> bool:
        """Whether those in the window have the draft tokens that are chosen now."""
        running, even = self._running, is_even(self._running.size, choice.proposing)
        before, self._even = self._even, len(choice.proposing) if even else None
        if not running.width or (even and before is not None):
            return bool(running.width) and self._even == before
        planned = running.planned
        return bool((choice.draft_tokens[:planned] == running.column(COUNT)[:planned]).all())

    def _ends(self, ends: list[tuple[int, int]], base: int) -> None:
        """A window begins, or has got longer: what the replica sees of it."""
        running, timeline = self._running, self.timeline
        timeline.base, timeline.emitted, timeline.new_blocks = base, running.emitted, running.new_blocks
        for steps, request in ends:
            heappush(timeline.finishes, (base + steps, request))
        if not running.taken:
            heappush(timeline.finishes, (base + running.width, NOBODY))

    def _settle(self, step: int) -> None:
        """End the window."""
        running, timeline = self._running, self.timeline
        if running.taken:
            self._policy.observe(running, step)
        running.settle()
        timeline.base, timeline.emitted, timeline.new_blocks = step, running.emitted, running.new_blocks
        timeline.finishes = [end for end in timeline.finishes if end[0] <= step and end[1] != NOBODY]

    def advance(self, steps: int, step: int) -> None:
        """See Decoding."""
        running = self._running
        running.taken += steps
        if running.taken == running.width:
            self._width = min(max(2 * running.width, self._width), FAR_AHEAD)
            self._settle(step)

    def seconds(self, sequences: int, context: int, prompts: int, tokens: int, attended: float) -> float:
        """See Decoding."""
        proposing = self._proposing if sequences else ()
        return self._times.seconds(StepShape(sequences, 0, context, prompts, tokens, attended, 0), proposing)

    def affine(self, sequences: int) -> tuple[float, float]:
        """See Decoding."""
        return self._times.decode_affine(sequences, self._proposing)


NOBODY = -1
"""Where the window ends, no request does."""
