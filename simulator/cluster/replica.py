"""One replica in simulated time: continuous batching, prefill in chunks, paged KV, preemption.

A step: running sequences first (they need blocks; when there are too few, the youngest gives up its KV), then the
prompt that is partly computed, then waiting prompts in order while budget, blocks and places last. Steps within which
nothing arrives, finishes or lacks blocks are taken together as one run, with one timeout.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Generator, Sequence
from typing import Any

import simpy

from simulator.cluster.admission import BATCH_WAIT, KV_BLOCKS, NOTHING, Admission, Chunk, totals
from simulator.cluster.decoding import MOST_STEPS, Decoding
from simulator.cluster.draft_pool import Seat, Work
from simulator.cluster.limits import Limits, Listener
from simulator.cluster.requests import RequestBook
from simulator.cluster.runs import held_over, run_times
from simulator.cluster.step_log import StepLog
from simulator.cluster.waiting import PromptView

_NO_CHUNKS: list[Chunk] = []


class Replica:
    """State of one replica; `run` is its process."""

    def __init__(
        self, env: simpy.Environment, book: RequestBook, decoding: Decoding, limits: Limits, listener: Listener
    ) -> None:
        self.env = env
        self.book = book
        self.decoding = decoding
        self.limits = limits
        self.listener = listener
        self.rows_per_sequence = limits.draft_tokens + 1
        self.outstanding_tokens = 0
        self.admission = Admission(book, limits)
        self.waiting = self.admission.waiting
        self.residents = self.admission.residents
        self.time_s = 0.0
        self.step = 0
        self.timeline = decoding.timeline
        self.started: dict[int, int] = {}
        """Running request -> its first step, in order of admission."""
        self.context_tokens = 0
        self.moving_s = 0.0
        """Seconds that moving KV to the host adds to the next step."""
        self.stalled_s = 0.0
        """Seconds that the running sequences have waited for steps with prompts only."""
        self.late: list[tuple[int, bool]] = []
        """Computed but not yet with the client: request, and whether it is its last token (else its first)."""
        self.log = StepLog()
        self.seat: Seat | None = None
        """Its place at a pool of draft GPUs that it shares with other replicas."""
        self.process: simpy.Process | None = None
        self._wake: simpy.Event | None = None
        self._run_ends: Sequence[float] | None = None

    def accept(self, request: int, prompt: PromptView, *, after_steps: bool) -> None:
        """Queue a request; wake the replica, or cut the run of steps that it is in.

        after_steps: whether a step that begins at this very time has begun before the request came.
        """
        self.outstanding_tokens += prompt.prompt_tokens
        is_next = self.waiting.add(request, prompt)
        if self._wake is not None:
            self._wake.succeed()
            self._wake = None
        elif self._run_ends is not None and self.process is not None and (is_next or self.limits.batch_wait_steps):
            self._run_ends = None
            self.process.interrupt(after_steps)

    def cached_tokens(self, ids: Sequence[int], ends: Sequence[int]) -> int:
        """Tokens at the start of a prompt whose KV is kept here."""
        found = self.residents.pool.cache.match(ids) if self.limits.prefix_cache else 0
        return ends[found - 1] if found else 0

    def idle(self) -> bool:
        """Whether nothing runs and nothing waits; then no block may be used."""
        return not (self.started or self.waiting.heap or self.admission.partial)

    def run(self) -> Generator[simpy.Event, Any, None]:
        """Take steps for as long as there is work; wait for a request otherwise."""
        while True:
            if self.idle():
                self._deliver()
                self._wake = simpy.Event(self.env)
                yield self._wake
                self.time_s = max(self.time_s, self.env.now, self.book.arrival_s[self.waiting.next()])
            waiting = len(self.waiting.heap)
            if self.limits.prefill_first and (waiting or self.admission.partial is not None):
                chunks, blocked_by = self.admission.admit(len(self.started))
                if chunks:
                    yield from self._mixed_step(chunks, waiting, blocked_by)
                    continue
            preempted = self._hold_blocks()
            if preempted:
                chunks, blocked_by = _NO_CHUNKS, KV_BLOCKS
            elif waiting or self.admission.partial is not None:
                chunks, blocked_by = self.admission.admit(len(self.started))
            else:
                chunks, blocked_by = _NO_CHUNKS, NOTHING
            alone = preempted or self.late or self.limits.step_by_step
            most = 1 if chunks or alone else MOST_STEPS
            self.moving_s += self.decoding.look_ahead(self.step, self.context_tokens, chunks, most)
            if chunks:
                yield from self._mixed_step(chunks, waiting, blocked_by)
            else:
                steps = 1 if alone or self.moving_s else self._possible_steps(blocked_by)
                yield from self._decode_run(steps, waiting, blocked_by)

    def _hold_blocks(self) -> bool:
        """Give the next step's blocks to the running sequences; whether one had to give up its own."""
        preempted = False
        timeline, pool = self.timeline, self.residents.pool
        index = self.step - timeline.base
        if index >= timeline.new_blocks.size:
            return False
        need = int(timeline.new_blocks[index])
        if not need:
            return False
        while need > pool.total - pool.used:
            self._preempt()
            preempted = True
            need = int(timeline.new_blocks[self.step - timeline.base])
        pool.hold(need)
        return preempted

    def _preempt(self) -> None:
        """Take the blocks of the youngest request; it goes to the head of the queue."""
        admission, residents = self.admission, self.residents
        if admission.partial is not None:
            request = admission.partial.request
            admission.partial = None
            residents.leave(request, 0)
            self.waiting.put_back(request, admission.prompt(request))
            return
        request, first = self.started.popitem()
        prompt = admission.prompt(request)
        put_out, grown = self.decoding.stop(request, prompt, first, self.step)
        blocks = residents.leave(request, grown)
        context = prompt + 1 + put_out
        self.context_tokens -= context
        if self.limits.swap_block_s is None:
            admission.prompts[request] = context
        else:
            admission.prompts[request] = context - 1
            admission.on_host[request] = blocks
            self.moving_s += blocks * self.limits.swap_block_s
        self.waiting.put_back(request, admission.prompts[request])

    def _mixed_step(self, chunks: list[Chunk], waiting: int, blocked_by: int) -> Generator[simpy.Event, Any, None]:
        """One step that computes prompt chunks beside the running sequences."""
        tokens, prompts, attended, moved = totals(chunks)
        self.moving_s += moved * (self.limits.swap_block_s or 0.0)
        start = self.time_s
        self.book.note_start(chunks, start)
        self.admission.step_taken(chunks)
        alone = self.limits.prefill_first
        sequences, context = (0, 0) if alone else (len(self.started), self.context_tokens)
        work = sequences or tokens
        seconds = self.decoding.seconds(sequences, context, prompts, tokens, attended) if work else 0.0
        seconds += self.moving_s
        self.moving_s = 0.0
        seconds = yield from self._spend(start, seconds, Work(sequences, context, tokens, attended))
        computed, drafts = len(self.late), 0 if alone else self.decoding.draft_tokens
        emitted = 0 if alone else self._commit(1)
        self.stalled_s += seconds if alone and self.started else 0.0
        for request, done, now, prompt, _ in chunks:
            if done + now == prompt:
                emitted += now > 0
                self._join(request, prompt)
        self.log.add(start, seconds, 1, sequences, context, prompts, tokens, attended, emitted,
                     self.residents.pool.used, waiting, blocked_by, 0.0, drafts)  # fmt: skip
        self._finish(computed)

    def _decode_run(self, steps: int, waiting: int, blocked_by: int) -> Generator[simpy.Event, Any, None]:
        """A run of steps with the same sequences and no prompt."""
        start = self.time_s
        sequences = len(self.started)
        context = self.context_tokens
        pool = self.residents.pool
        blocks = pool.used
        affine, drafts = self.decoding.affine(sequences), self.decoding.draft_tokens
        if steps == 1:
            seconds = affine[0] + affine[1] * context + self.moving_s
            self.moving_s = 0.0
            yield from self._spend(start, seconds, Work(sequences, context))
            context_sum, block_sum = float(context), float(blocks)
        else:
            timeline = self.timeline
            now = slice(self.step - timeline.base, self.step - timeline.base + steps - 1)
            ends, contexts = run_times(affine, start, context, timeline.emitted[now])
            steps = yield from self._wait_for_run(ends)
            self.time_s = float(ends[steps - 1])
            context_sum = float(sum(contexts[:steps]))
            later = slice(now.start + 1, now.start + steps)
            held, block_sum = held_over(blocks, timeline.new_blocks[later])
            pool.hold(held - blocks)
        if blocked_by == BATCH_WAIT:
            self.admission.waited_steps += steps
        emitted = self._commit(steps)
        self.log.add(start, self.time_s - start, steps, sequences, context_sum / steps, 0, 0, 0.0, emitted,
                     block_sum / steps, waiting, blocked_by, self.stalled_s, drafts)  # fmt: skip
        self.stalled_s = 0.0
        self._finish(len(self.late))

    def _spend(self, start: float, seconds: float, work: Work) -> Generator[simpy.Event, Any, float]:
        """Let a step take its time, and wait for drafts that come from a pool; its seconds."""
        if self.seat is not None:
            seconds = yield from self.seat.step(start, seconds, work)
        self.time_s = start + seconds
        yield self.env.timeout(max(self.time_s - self.env.now, 0.0))
        return seconds

    def _possible_steps(self, blocked_by: int) -> int:
        """Steps until the next one finishes, lacks blocks, or lets prompts in that were held back."""
        timeline, limits = self.timeline, self.limits
        steps = timeline.finishes[0][0] - self.step
        if blocked_by == BATCH_WAIT:
            steps = min(steps, limits.batch_wait_steps - self.admission.waited_steps)
        if steps == 1:
            return 1
        room = self.residents.pool.room()
        if room < len(self.started) * (steps * self.rows_per_sequence // limits.block_tokens + 2):
            steps = timeline.steps_within(self.step, steps, room)
        return steps

    def _wait_for_run(self, ends: Sequence[float]) -> Generator[simpy.Event, Any, int]:
        """Wait for the end of a run, or of the step in which a request arrives; the number of steps taken."""
        env = self.env
        self._run_ends = ends
        try:
            yield env.timeout(max(float(ends[-1]) - env.now, 0.0))
        except simpy.Interrupt as arrival:
            find = bisect_right if arrival.cause else bisect_left
            steps = min(find(ends, env.now) + 1, len(ends))
            yield env.timeout(max(float(ends[steps - 1]) - env.now, 0.0))
            return steps
        self._run_ends = None
        return len(ends)

    def _commit(self, steps: int) -> int:
        """Let the running sequences put out the tokens of the steps just taken; how many."""
        timeline = self.timeline
        index = self.step - timeline.base
        self.step += steps
        if not self.started:
            return 0
        emitted = int(timeline.emitted[index] if steps == 1 else timeline.emitted[index : index + steps].sum())
        self.context_tokens += emitted
        self.decoding.advance(steps, self.step)
        return emitted

    def _join(self, request: int, prompt: int) -> None:
        """A prompt is computed, or KV is back: the request decodes from the next step on."""
        book = self.book
        if book.first_token_s[request] != book.first_token_s[request]:
            self.late.append((request, False))
        self.started[request] = self.step
        self.context_tokens += prompt + 1
        self.decoding.start(request, prompt, self.step)
        self.residents.share(request)

    def _finish(self, computed: int) -> None:
        """End a step: let go of requests that took their last step; hand over tokens (with overlap, those before it).

        computed: entries of `late` that earlier steps computed.
        """
        if self.timeline.finishes and self.timeline.finishes[0][0] <= self.step:
            self._let_go(self.timeline.pop_finished(self.step))
        if self.late:
            self._deliver(computed if self.limits.overlap_steps else len(self.late))

    def _let_go(self, done: list[int]) -> None:
        """Free what finished requests hold."""
        book = self.book
        for request in done:
            del self.started[request]
            prompt = self.admission.prompts.pop(request, 0) or book.prompt_tokens[request]
            put_out, grown = self.decoding.end(request)
            self.context_tokens -= prompt + 1 + put_out
            self.residents.end(request, grown)
            self.outstanding_tokens -= book.prompt_tokens[request]
            self.late.append((request, True))

    def _deliver(self, count: int | None = None) -> None:
        """Hand the first so many late tokens, or all, to their clients."""
        now, self.late = self.late[:count], self.late[len(self.late) if count is None else count :]
        book, done = self.book, []
        for request, is_last in now:
            if is_last:
                book.finish_s[request] = self.time_s
                done.append(request)
            else:
                book.first_token_s[request] = self.time_s
        if done:
            self.listener.finished(done, self.time_s)
