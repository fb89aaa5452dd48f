"""Who takes part in the next step: continuous batching with chunked prefill, paged KV, preemption by recompute.

Running sequences first (they need blocks; when there are too few, the youngest gives up its own), then the prompt that
is partly computed, then waiting prompts in their order while budget, blocks and places last. The planner's simulation
makes the same decisions in the same order; a test holds the two equal. Knows nothing of models: driven by any clock.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from engine.kv_cache import BlockPool
from engine.sequence import Chunk, SequenceState
from engine.waiting import WaitingQueue

BLOCKERS = ("nothing", "kv_blocks", "max_num_seqs", "token_budget")
"""Why the first waiting request was not admitted."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds a batch."""

    max_model_len: int
    """Longest sequence, output included [tokens]."""
    max_num_seqs: int = 256
    max_num_batched_tokens: int = 8192
    """Tokens of one step: K + 1 for each running sequence, and the rest for prompts."""
    chunked_prefill: bool = True
    scheduler: str = "fcfs"
    """Order of the queue: a name in SCHEDULERS."""


class Plan(NamedTuple):
    """One step."""

    decoding: list[SequenceState]
    """Sequences that verify, in order of admission."""
    chunks: list[Chunk]
    """Parts of prompts, in order of admission; only the last can be unfinished."""
    waiting: int
    """Requests that waited when the step was planned."""
    blocked_by: str
    preempted: tuple[SequenceState, ...]


class Scheduler:
    """The queue, the running sequences, and their blocks."""

    def __init__(self, limits: Limits, pool: BlockPool) -> None:
        self.limits = limits
        self.pool = pool
        self.waiting = WaitingQueue(limits.scheduler)
        self.running: dict[int, SequenceState] = {}
        """By request number, in order of admission."""
        self.partial: Chunk | None = None
        """Last computed chunk of the prompt that is not complete."""

    def add(self, sequence: SequenceState) -> None:
        """Queue a sequence."""
        self.waiting.add(sequence)

    def idle(self) -> bool:
        """Whether nothing runs and nothing waits; then no block may be held."""
        return not (self.running or self.waiting or self.partial)

    def schedule(self) -> Plan:
        """Plan the next step, and hold the blocks that it needs."""
        waiting = len(self.waiting)
        preempted = self._hold_blocks()
        chunks, blocked_by = ([], "kv_blocks") if preempted else self._admit()
        if chunks:
            self.partial = None if chunks[-1].final else chunks[-1]
        decoding = list(self.running.values())
        return Plan(decoding, chunks, waiting, blocked_by, tuple(preempted))

    def commit(self, plan: Plan, now_s: float) -> list[SequenceState]:
        """End a step whose tokens have been appended: who joins, who leaves; those who have finished."""
        for chunk in plan.chunks:
            if chunk.final:
                self.running[chunk.sequence.number] = chunk.sequence
        done = [s for s in self.running.values() if s.finished]
        for sequence in done:
            del self.running[sequence.number]
            self.pool.release(sequence.table)
            sequence.finish_s = now_s
        return done

    def _hold_blocks(self) -> list[SequenceState]:
        """Give the next step's blocks to the running sequences; those that had to give up their own."""
        preempted = []
        while self._missing_blocks() > self.pool.free:
            preempted.append(self._preempt())
        for sequence in self.running.values():
            self.pool.extend(sequence.table, self._positions(sequence))
        return preempted

    def _missing_blocks(self) -> int:
        return sum(self.pool.missing(s.table, self._positions(s)) for s in self.running.values())

    def _positions(self, sequence: SequenceState) -> int:
        """Positions that a verify step can write: all tokens, and K behind them."""
        return min(len(sequence.tokens) + sequence.draft_tokens, self.limits.max_model_len)

    def _preempt(self) -> SequenceState:
        """Take the blocks of the youngest; it goes to the head of the queue and is computed again."""
        if self.partial is not None:
            sequence, self.partial = self.partial.sequence, None
        else:
            _, sequence = self.running.popitem()
            sequence.preemptions += 1
        self.pool.release(sequence.table)
        self.waiting.put_back(sequence)
        return sequence

    def _admit(self) -> tuple[list[Chunk], str]:
        """Prompt chunks of the next step, and what kept others out."""
        rows = _rows(self.running.values())
        budget = self.limits.max_num_batched_tokens - rows
        chunks: list[Chunk] = []
        if self.partial is not None:
            sequence, start, count, prompt = self.partial
            now = min(prompt - start - count, budget)
            if now <= 0:
                return chunks, "token_budget"
            chunks.append(Chunk(sequence, start + count, now, prompt))
            budget -= now
            rows += sequence.draft_tokens + 1
        while self.waiting:
            sequence = self.waiting.next()
            blocked_by = self._blocker(sequence, budget, rows, len(chunks))
            if blocked_by:
                return chunks, blocked_by
            self.waiting.pop()
            prompt = len(sequence.tokens)
            self.pool.extend(sequence.table, prompt)
            now = min(prompt, budget) if self.limits.chunked_prefill else prompt
            chunks.append(Chunk(sequence, 0, now, prompt))
            budget -= now
            rows += sequence.draft_tokens + 1
        return chunks, "nothing"

    def _blocker(self, sequence: SequenceState, budget: int, rows: int, num_chunks: int) -> str:
        """What keeps a waiting sequence out of this step; empty: nothing.

        rows: verify rows of all that run or are being computed; with the newcomer they must fit a step to come.
        """
        limits = self.limits
        places = len(self.running) + num_chunks < limits.max_num_seqs
        if not places or rows + sequence.draft_tokens + 1 > limits.max_num_batched_tokens:
            return "max_num_seqs"
        prompt = len(sequence.tokens)
        fits = budget >= prompt or (limits.chunked_prefill and budget > 0)
        if not fits and (num_chunks or self.running or limits.chunked_prefill):
            return "token_budget"
        return "kv_blocks" if self.pool.missing(sequence.table, prompt) > self.pool.free else ""


def _rows(sequences: Iterable[SequenceState]) -> int:
    """Verify rows of running sequences: K + 1 each."""
    return sum(s.draft_tokens + 1 for s in sequences)
