"""Which prompts a step computes: waiting requests in order, while budget, blocks and places last.

It never reads how long an output will be.
"""

from typing import NamedTuple

from simulator.cluster.limits import Limits
from simulator.cluster.requests import RequestBook
from simulator.cluster.residents import Residents
from simulator.cluster.waiting import WaitingQueue

NOTHING, KV_BLOCKS, MAX_NUM_SEQS, TOKEN_BUDGET, BATCH_WAIT = range(5)
"""What keeps the next waiting request out: indices into records.BLOCKERS."""


class Chunk(NamedTuple):
    """A part of a prompt that a step computes."""

    request: int
    done: int
    """Tokens whose KV is there before the step."""
    now: int
    """Tokens computed in the step; 0 where KV comes back from the host."""
    prompt: int
    moved_blocks: int = 0
    """KV blocks that come back from the host."""


def totals(chunks: list[Chunk]) -> tuple[int, int, float, int]:
    """Prompt tokens of a step, prompts, positions that the tokens attend to, and KV blocks that come from the host.

    >>> totals([Chunk(request=0, done=10, now=2, prompt=12), Chunk(1, 5, 0, 5, moved_blocks=3)])
    (2, 1, 23.0, 3)
    """
    tokens, prompts, attended, moved = 0, 0, 0.0, 0
    for _, done, now, _, blocks in chunks:
        tokens += now
        prompts += now > 0
        attended += now * (done + (now + 1) * 0.5)
        moved += blocks
    return tokens, prompts, attended, moved


class Admission:
    """The queue of a replica, and how requests leave it."""

    def __init__(self, book: RequestBook, limits: Limits) -> None:
        self.book = book
        self.limits = limits
        self.rows_per_sequence = limits.draft_tokens + 1
        self.max_sequences = min(limits.max_num_seqs, limits.max_num_batched_tokens // self.rows_per_sequence)
        self.waiting = WaitingQueue(limits.scheduler)
        self.residents = Residents(book, limits)
        self.prompts: dict[int, int] = {}
        """Prompt tokens of preempted requests, output so far included."""
        self.partial: Chunk | None = None
        """The last chunk of a prompt that is partly computed."""
        self.on_host: dict[int, int] = {}
        """Preempted request -> its KV blocks on the host."""
        self.waited_steps = 0
        """Steps that the waiting prompts have been held back for company."""

    def prompt(self, request: int) -> int:
        """Prompt tokens that a request computes, output so far included where it was preempted."""
        return self.prompts.get(request) or self.book.prompt_tokens[request]

    def step_taken(self, chunks: list[Chunk]) -> None:
        """Remember the prompt that a step leaves unfinished."""
        last = chunks[-1]
        self.partial = last if last.done + last.now < last.prompt else None

    def admit(self, running: int) -> tuple[list[Chunk], int]:
        """Prompt chunks of the next step, and what kept the next request out."""
        chunks: list[Chunk] = []
        decoding = 0 if self.limits.prefill_first else running * self.rows_per_sequence
        budget = self.limits.max_num_batched_tokens - decoding
        if self.partial is not None:
            request, done, now, prompt, _ = self.partial
            done += now
            now = min(prompt - done, budget)
            if now <= 0:
                return chunks, TOKEN_BUDGET
            chunks.append(Chunk(request, done, now, prompt))
            budget -= now
        if self._waits_for_company(running, budget):
            return chunks, BATCH_WAIT
        while self.waiting.heap:
            if running + len(chunks) >= self.max_sequences:
                return chunks, MAX_NUM_SEQS
            chunk, blocked_by = self._next_chunk(budget, alone=not chunks and not running)
            if chunk is None:
                return chunks, blocked_by
            self.waiting.pop(chunk.prompt)
            chunks.append(chunk)
            budget -= chunk.now
        return chunks, NOTHING

    def _waits_for_company(self, running: int, budget: int) -> bool:
        """Whether prompts are held back for others to come, while there are sequences to decode."""
        limits = self.limits
        if not (limits.batch_wait_steps and running and self.waiting.heap):
            return False
        tokens = limits.max_num_batched_tokens - budget + self.waiting.prompt_tokens
        if tokens >= limits.batch_wait_tokens or self.waited_steps >= limits.batch_wait_steps:
            self.waited_steps = 0
            return False
        return True

    def _next_chunk(self, budget: int, *, alone: bool) -> tuple[Chunk | None, int]:
        """What the next waiting request would compute within a budget, its blocks taken; or what keeps it out."""
        request = self.waiting.next()
        prompt = self.prompt(request)
        if request in self.on_host:
            if not self.residents.enter_again(request, self.on_host[request]):
                return None, KV_BLOCKS
            return Chunk(request, prompt, 0, prompt, self.on_host.pop(request)), NOTHING
        found, cached = self.residents.cached(request, prompt) if self.residents.caches() else (0, 0)
        left = prompt - cached
        if budget <= 0 or (left > budget and not self.limits.chunked_prefill and not alone):
            return None, TOKEN_BUDGET
        done = self.residents.enter(request, prompt, found, cached)
        if not done:
            return None, KV_BLOCKS
        self.book.cached_tokens[request] = cached
        return Chunk(request, cached, min(left, budget) if self.limits.chunked_prefill else left, prompt), NOTHING
