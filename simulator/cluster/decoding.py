"""The running sequences of a replica: what their next steps put out, need and cost, where K never changes.

Their paths were drawn before they ran, so a step is a look-up. `adaptive` is the same where a policy chooses K.
"""

from collections.abc import Sequence
from typing import Protocol

from simulator.cluster.admission import Chunk
from simulator.cluster.limits import Limits, StepTimes
from simulator.cluster.requests import RequestBook
from simulator.cluster.timeline import Timeline
from simulator.physics.step import StepShape

MOST_STEPS = 2**30
"""More steps than any request takes."""


class Decoding(Protocol):
    """What a replica asks of its running sequences."""

    timeline: Timeline
    """Tokens, blocks and ends of the steps to come."""
    draft_tokens: int
    """Draft tokens that all sequences propose in the step to come."""

    def start(self, request: int, prompt: int, step: int) -> None:
        """A request decodes from a step on."""

    def stop(self, request: int, prompt: int, first: int, step: int) -> tuple[int, int]:
        """A request is preempted; tokens put out and blocks taken since its first step."""

    def end(self, request: int) -> tuple[int, int]:
        """A request has taken its last step; the same."""

    def look_ahead(self, step: int, context: int, chunks: Sequence[Chunk], steps: int) -> float:
        """Before a step with these chunks: choose draft tokens, for so many steps at most; what that costs once [s]."""

    def advance(self, steps: int, step: int) -> None:
        """So many steps have been taken, up to this one."""

    def seconds(self, sequences: int, context: int, prompts: int, tokens: int, attended: float) -> float:
        """Seconds of the step to come, with prompts."""

    def affine(self, sequences: int) -> tuple[float, float]:
        """Seconds of a step without prompts: first + second × context tokens."""


class DrawnDecoding:
    """Sequences whose paths are drawn; see Decoding."""

    def __init__(self, book: RequestBook, times: StepTimes, limits: Limits) -> None:
        self._book, self._times, self._limits = book, times, limits
        self.timeline = Timeline()
        self.draft_tokens = 0
        self.affine = times.decode_affine

    def start(self, request: int, prompt: int, step: int) -> None:
        """See Decoding."""
        self.timeline.add(request, step, self._book.emitted[request], self._book.new_blocks[request])

    def stop(self, request: int, prompt: int, first: int, step: int) -> tuple[int, int]:
        """See Decoding."""
        book, done = self._book, step - first
        emitted, new_blocks = book.emitted[request], book.new_blocks[request]
        self.timeline.remove(request, step, first, emitted, new_blocks)
        if self._limits.swap_block_s is None:
            book.restart_path(request, prompt, done)
        else:
            book.suspend_path(request, done)
        return int(emitted[:done].sum()), int(new_blocks[:done].sum())

    def end(self, request: int) -> tuple[int, int]:
        """See Decoding."""
        book = self._book
        book.forget_path(request)
        return book.path_tokens[request], book.path_blocks[request]

    def look_ahead(self, step: int, context: int, chunks: Sequence[Chunk], steps: int) -> float:
        """See Decoding."""
        self.draft_tokens = len(self.timeline.finishes) * self._limits.draft_tokens
        return 0.0

    def advance(self, steps: int, step: int) -> None:
        """See Decoding."""

    def seconds(self, sequences: int, context: int, prompts: int, tokens: int, attended: float) -> float:
        """See Decoding."""
        k = self._limits.draft_tokens
        return self._times.seconds(StepShape(sequences, sequences * (k + 1), context, prompts, tokens, attended, k))
