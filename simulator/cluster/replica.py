"""One replica in simulated time: continuous batching with chunked prefill, paged KV, and preemption by recompute.

A step: running sequences first (they need blocks; when there are too few, the youngest gives up its KV), then the
prompt that is partly computed, then waiting prompts in order while budget, blocks and places last. Steps within which
nothing arrives, finishes or lacks blocks are taken together as one run, with one timeout.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np
import simpy

from simulator.cluster.limits import Limits, Listener, StepTimes
from simulator.cluster.requests import RequestBook
from simulator.cluster.runs import held_over, run_times
from simulator.cluster.timeline import Timeline
from simulator.physics.step import StepShape

LOG_COLUMNS = 12
"""Columns of the step log, in the order of records.StepColumns after the replica."""


class Replica:
    """State of one replica; `run` is its process."""

    def __init__(
        self, env: simpy.Environment, book: RequestBook, times: StepTimes, limits: Limits, listener: Listener
    ) -> None:
        self.env = env
        self.book = book
        self.times = times
        self.limits = limits
        self.listener = listener
        self.rows_per_sequence = limits.draft_tokens + 1
        self.max_sequences = min(limits.max_num_seqs, limits.max_num_batched_tokens // self.rows_per_sequence)
        self.outstanding_tokens = 0
        self.waiting: deque[int] = deque()
        self.time_s = 0.0
        self.step = 0
        self.timeline = Timeline()
        self.started: dict[int, int] = {}
        """Running request -> its first step, in order of admission."""
        self.prompts: dict[int, int] = {}
        """Prompt tokens of preempted requests, output so far included."""
        self.partial: tuple[int, int, int] | None = None
        """Request whose prompt is partly computed, tokens computed, tokens of the prompt."""
        self.context_tokens = 0
        self.blocks_used = 0
        self.blocks_of: dict[int, int] = {}
        """Running or partly computed request -> blocks of its prompt."""
        self.log = array("d")
        self.process: simpy.Process | None = None
        self._wake: simpy.Event | None = None
        self._run_ends: Sequence[float] | None = None

    # What the cluster calls.

    def accept(self, request: int, prompt_tokens: int, *, after_steps: bool) -> None:
        """Queue a request; wake the replica, or cut the run of steps that it is in.

        after_steps: whether a step that begins at this very time has begun before the request came.
        """
        self.outstanding_tokens += prompt_tokens
        self.waiting.append(request)
        if self._wake is not None:
            self._wake.succeed()
            self._wake = None
        elif self._run_ends is not None and self.process is not None:
            self._run_ends = None
            self.process.interrupt(after_steps)

    def idle(self) -> bool:
        """Whether nothing runs and nothing waits; then no block may be held."""
        return not (self.started or self.waiting or self.partial)

    # The process.

    def run(self) -> Generator[simpy.Event, Any, None]:
        """Take steps for as long as there is work; wait for a request otherwise."""
        while True:
            if self.idle():
                self._wake = simpy.Event(self.env)
                yield self._wake
                self.time_s = max(self.time_s, self.env.now, self.book.arrival_s[self.waiting[0]])
            waiting = len(self.waiting)
            preempted = self._hold_blocks()
            chunks, blocked_by = ([], 1) if preempted else self._admit()
            if chunks:
                yield from self._mixed_step(chunks, waiting, blocked_by)
            else:
                steps = 1 if preempted else self._possible_steps()
                yield from self._decode_run(steps, waiting, blocked_by)

    # Admission.

    def _hold_blocks(self) -> bool:
        """Give the next step's blocks to the running sequences; whether one had to give up its own."""
        preempted = False
        timeline = self.timeline
        index = self.step - timeline.base
        if index >= timeline.new_blocks.size:
            return False
        need = int(timeline.new_blocks[index])
        while self.blocks_used + need > self.limits.kv_blocks:
            self._preempt()
            preempted = True
            need = int(timeline.new_blocks[index])
        self.blocks_used += need
        return preempted

    def _preempt(self) -> None:
        """Take the blocks of the youngest request; it goes to the head of the queue and is computed again."""
        if self.partial is not None:
            request, _, _ = self.partial
            self.partial = None
            self.blocks_used -= self.blocks_of.pop(request)
            self.waiting.appendleft(request)
            return
        request, first = self.started.popitem()
        book = self.book
        emitted, new_blocks = book.emitted[request], book.new_blocks[request]
        self.timeline.remove(request, self.step, first, emitted, new_blocks)
        done = self.step - first
        self.blocks_used -= self.blocks_of.pop(request) + int(new_blocks[:done].sum())
        prompt = self._prompt(request)
        self.context_tokens -= prompt + 1 + int(emitted[:done].sum())
        self.prompts[request] = book.restart_path(request, prompt, done)
        self.waiting.appendleft(request)

    def _prompt(self, request: int) -> int:
        return self.prompts.get(request) or self.book.prompt_tokens[request]

    def _admit(self) -> tuple[list[tuple[int, int, int, int]], int]:
        """Prompt chunks of the next step as (request, tokens before, tokens now, prompt), and what kept others out."""
        limits = self.limits
        budget = limits.max_num_batched_tokens - len(self.started) * self.rows_per_sequence
        chunks: list[tuple[int, int, int, int]] = []
        if self.partial is not None:
            request, done, prompt = self.partial
            now = min(prompt - done, budget)
            if now <= 0:
                return chunks, 3
            chunks.append((request, done, now, prompt))
            budget -= now
        while self.waiting:
            if len(self.started) + len(chunks) >= self.max_sequences:
                return chunks, 2
            request = self.waiting[0]
            prompt = self._prompt(request)
            fits = budget >= prompt or (limits.chunked_prefill and budget > 0)
            if not fits and (chunks or self.started or limits.chunked_prefill):
                return chunks, 3
            blocks = limits.block_counts[min(-(-prompt // limits.block_tokens), len(limits.block_counts) - 1)]
            if self.blocks_used + blocks > limits.kv_blocks:
                return chunks, 1
            self.waiting.popleft()
            self.blocks_used += blocks
            self.blocks_of[request] = blocks
            now = min(prompt, budget) if limits.chunked_prefill else prompt
            chunks.append((request, 0, now, prompt))
            budget -= now
        return chunks, 0

    # Steps.

    def _mixed_step(
        self, chunks: list[tuple[int, int, int, int]], waiting: int, blocked_by: int
    ) -> Generator[simpy.Event, Any, None]:
        """One step that computes prompt chunks beside the running sequences."""
        tokens = 0
        attended = 0.0
        scheduled = self.book.scheduled_s
        for request, done, now, _ in chunks:
            tokens += now
            attended += now * (done + (now + 1) * 0.5)
            if scheduled[request] != scheduled[request]:
                scheduled[request] = self.time_s
        last_request, last_done, last_now, last_prompt = chunks[-1]
        unfinished = last_done + last_now < last_prompt
        self.partial = (last_request, last_done + last_now, last_prompt) if unfinished else None
        sequences = len(self.started)
        shape = StepShape(
            sequences, sequences * self.rows_per_sequence, self.context_tokens,
            len(chunks), tokens, attended, self.limits.draft_tokens,
        )  # fmt: skip
        seconds = self.times.seconds(shape)
        start = self.time_s
        context = self.context_tokens
        self.time_s = start + seconds
        yield self.env.timeout(max(self.time_s - self.env.now, 0.0))
        emitted = self._commit(1)
        for request, done, now, prompt in chunks:
            if done + now == prompt:
                emitted += 1
                self._join(request, prompt)
        self.log.extend((start, seconds, 1, sequences, context, len(chunks), tokens, attended, emitted,
                         self.blocks_used, waiting, blocked_by))  # fmt: skip
        self._finish()

    def _decode_run(self, steps: int, waiting: int, blocked_by: int) -> Generator[simpy.Event, Any, None]:
        """A run of steps with the same sequences and no prompt."""
        start = self.time_s
        sequences = len(self.started)
        context = self.context_tokens
        blocks = self.blocks_used
        if steps == 1:
            constant, slope = self.times.decode_affine(sequences)
            self.time_s = start + (constant + slope * context)
            yield self.env.timeout(max(self.time_s - self.env.now, 0.0))
            context_sum, block_sum = float(context), float(blocks)
        else:
            timeline = self.timeline
            now = slice(self.step - timeline.base, self.step - timeline.base + steps - 1)
            affine = self.times.decode_affine(sequences)
            ends, contexts = run_times(affine, start, context, timeline.emitted[now])
            steps = yield from self._wait_for_run(ends, interruptible=not self.waiting)
            self.time_s = float(ends[steps - 1])
            context_sum = float(sum(contexts[:steps]))
            later = slice(now.start + 1, now.start + steps)
            self.blocks_used, block_sum = held_over(blocks, timeline.new_blocks[later])
        emitted = self._commit(steps)
        self.log.extend((start, self.time_s - start, steps, sequences, context_sum / steps, 0, 0, 0.0, emitted,
                         block_sum / steps, waiting, blocked_by))  # fmt: skip
        self._finish()

    def _possible_steps(self) -> int:
        """Steps until the next one finishes, or lacks blocks."""
        timeline = self.timeline
        steps = timeline.finishes[0][0] - self.step
        if steps == 1 or self.limits.step_by_step:
            return 1
        index = self.step - timeline.base
        room = self.limits.kv_blocks - self.blocks_used
        if room < len(self.started) * (steps * self.rows_per_sequence // self.limits.block_tokens + 2):
            later = np.cumsum(timeline.new_blocks[index + 1 : index + steps])
            steps = 1 + int(np.searchsorted(later, room, side="right"))
        return steps

    def _wait_for_run(self, ends: Sequence[float], *, interruptible: bool) -> Generator[simpy.Event, Any, int]:
        """Wait for the end of a run, or of the step in which a request arrives; the number of steps taken."""
        env = self.env
        self._run_ends = ends if interruptible else None
        try:
            yield env.timeout(max(float(ends[-1]) - env.now, 0.0))
        except simpy.Interrupt as arrival:
            find = bisect_right if arrival.cause else bisect_left
            steps = min(find(ends, env.now) + 1, len(ends))
            yield env.timeout(max(float(ends[steps - 1]) - env.now, 0.0))
            return steps
        self._run_ends = None
        return len(ends)

    # Ends of steps.

    def _commit(self, steps: int) -> int:
        """Let the running sequences put out the tokens of the steps just taken; how many."""
        timeline = self.timeline
        index = self.step - timeline.base
        self.step += steps
        if not self.started:
            return 0
        emitted = int(timeline.emitted[index] if steps == 1 else timeline.emitted[index : index + steps].sum())
        self.context_tokens += emitted
        return emitted

    def _join(self, request: int, prompt: int) -> None:
        """A prompt is computed: its first token is out, and it decodes from the next step on."""
        book = self.book
        if book.first_token_s[request] != book.first_token_s[request]:
            book.first_token_s[request] = self.time_s
        self.started[request] = self.step
        self.context_tokens += prompt + 1
        self.timeline.add(request, self.step, book.emitted[request], book.new_blocks[request])

    def _finish(self) -> None:
        """Let go of the requests whose last step has been taken."""
        finishes = self.timeline.finishes
        if not finishes or finishes[0][0] > self.step:
            return
        done = self.timeline.pop_finished(self.step)
        book = self.book
        for request in done:
            del self.started[request]
            prompt = self.prompts.pop(request, 0) or book.prompt_tokens[request]
            self.context_tokens -= prompt + 1 + int(book.emitted[request].sum())
            self.blocks_used -= self.blocks_of.pop(request) + int(book.new_blocks[request].sum())
            self.outstanding_tokens -= book.prompt_tokens[request]
            book.finish_s[request] = self.time_s
            book.forget_path(request)
        self.listener.finished(done, self.time_s)
