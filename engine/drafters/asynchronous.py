"""A drafter in a process of its own, on its own core or GPU, that drafts ahead while the target verifies.

Token ids go over a pipe, distributions through shared memory. Should the process die or not answer in time, the target
goes on without speculation, and a warning says so once. PEARL (Liu et al. 2024, arXiv:2408.11850) drafts ahead so.
"""

import logging
import os
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, Protocol

import torch
from torch import Tensor

from engine.drafters.ahead import Answer, Ask, Begin, Drop, Message, Prompt, Worker
from engine.drafters.away import Away
from engine.drafters.interface import Draft, Drafter, DraftSetup
from engine.drafters.model_draft import ModelDraft, draft_model
from engine.errors import DraftError
from engine.kv_cache import BlockPool, KvStore
from engine.model import Model
from engine.sequence import Chunk, SequenceState
from engine.weights import converted, with_noise

logger = logging.getLogger(__name__)


class Link(Protocol):
    """A worker elsewhere."""

    def send(self, message: Message) -> None:
        """Hand a message over; OSError where nobody takes it."""

    def answer(self, timeout_s: float) -> Answer | None:
        """The next answer; None: none came in time. EOFError or OSError where nobody is there any more."""

    def close(self) -> None:
        """End it."""


class AsynchronousDraft:
    """A drafter whose draft is elsewhere."""

    def __init__(self, connect: Callable[[], Link], probs: Tensor | None, most: int, answer_s: float) -> None:
        """Keep what is needed to begin.

        probs: [rows, vocabulary] memory shared with the worker; None: ids alone are handed over.
        most: draft tokens of a sequence, at most.
        """
        self._connect, self._probs, self._most, self._answer_s = connect, probs, most, answer_s
        self._link: Link | None = None
        self._told: dict[int, int] = {}
        """By request number: tokens that the worker knows."""
        self.asked = self.hits = 0
        """Drafts that were asked for, and those of them that had been begun before."""
        self.waited_s = 0.0
        """Seconds that the target waited for drafts."""
        self.serial_s = 0.0
        """Seconds that the same drafts would have taken one behind the other, by the worker's mean pass."""

    @property
    def hidden_share(self) -> float | None:
        """Share of the drafts' time that the target did not wait for; None: nothing was drafted."""
        return 1.0 - self.waited_s / self.serial_s if self.serial_s else None

    def summary(self) -> dict[str, float | int | None]:
        """What drafting ahead came to, in numbers."""
        return {
            "asked": self.asked,
            "hits": self.hits,
            "waited_s": self.waited_s,
            "serial_s": self.serial_s,
            "hidden_share": self.hidden_share,
        }

    def attach(self, target: Model, store: KvStore) -> None:
        """Start the worker, and wait until it is ready."""
        self._device, self._link = target.device, self._connect()

    def prefill(self, chunks: Sequence[Chunk]) -> None:
        """Hand over chunks of prompts."""
        for chunk in chunks:
            sequence = chunk.sequence
            if chunk.start == 0:
                self._begin(sequence)
            end = chunk.start + chunk.num_tokens
            self._send(Prompt(sequence.number, sequence.tokens[chunk.start : end]))
            self._told[sequence.number] = end

    def propose(self, sequences: Sequence[SequenceState], counts: Sequence[int]) -> list[Draft]:
        """See Drafter; no draft tokens once the worker is gone."""
        if not sequences or self._link is None:
            return [Draft([]) for _ in sequences]
        for sequence in sequences:
            if sequence.number not in self._told:
                self._begin(sequence)
        news = [sequence.tokens[self._told[sequence.number] :] for sequence in sequences]
        started, counts = perf_counter(), [min(count, self._most) for count in counts]
        self._send(Ask([s.number for s in sequences], news, counts))
        answer = self._received()
        if answer is None:
            return [Draft([]) for _ in sequences]
        self._count(answer, counts, perf_counter() - started)
        for sequence in sequences:
            self._told[sequence.number] = len(sequence.tokens)
        return self._drafts(sequences, answer.tokens)

    def release(self, sequence: SequenceState) -> None:
        """See Drafter."""
        if self._told.pop(sequence.number, None) is not None:
            self._send(Drop(sequence.number))

    def close(self) -> None:
        """End the worker; there are no draft tokens from now on."""
        if self._link is not None:
            self._link.close()
            self._link = None

    def _begin(self, sequence: SequenceState) -> None:
        """Tell of a sequence whose tokens follow: in chunks, or all at once where its prompt was not seen here."""
        drawn = sequence.rng is not None and self._probs is not None
        rng = sequence.rng.spawn(1)[0] if sequence.rng is not None and drawn else None
        self._send(Begin(sequence.number, sequence.request.sampling, rng))
        self._told[sequence.number] = 0

    def _drafts(self, sequences: Sequence[SequenceState], tokens: Sequence[list[int]]) -> list[Draft]:
        drafts, row = [], 0
        for sequence, mine in zip(sequences, tokens, strict=True):
            if sequence.rng is None or self._probs is None or not mine:
                drafts.append(Draft(mine))
                continue
            drafts.append(Draft(mine, self._probs[row : row + len(mine)].clone().to(self._device)))
            row += len(mine)
        return drafts

    def _count(self, answer: Answer, counts: Sequence[int], waited_s: float) -> None:
        self.asked += sum(count > 0 for count in counts)
        self.hits += answer.hits
        self.waited_s += waited_s
        if answer.passes:
            self.serial_s += max(counts) * answer.pass_s / answer.passes

    def _send(self, message: Message) -> None:
        if self._link is not None:
            try:
                self._link.send(message)
            except OSError as error:
                self._lost(f"it is gone ({error})")

    def _received(self) -> Answer | None:
        if self._link is None:
            return None
        try:
            answer = self._link.answer(self._answer_s)
        except (EOFError, OSError):
            self._lost("its process has ended")
            return None
        if answer is None:
            self._lost(f"it did not answer within {self._answer_s:g} s")
        return answer

    def _lost(self, why: str) -> None:
        logger.warning("the asynchronous drafter is lost: %s; going on without speculation", why)
        self.close()


class ProcessLink:
    """A worker in a process that was spawned for it, and that ends with this object or with the program."""

    def __init__(self, setup: DraftSetup, away: Away, probs: Tensor | None) -> None:
        """Start the process and wait until its draft is loaded."""
        import torch.multiprocessing as processes

        context = processes.get_context("spawn")
        self._connection, theirs = context.Pipe()
        process = context.Process(target=serve_drafts, args=(theirs, setup, away, probs), daemon=True)
        process.start()
        theirs.close()
        self.process = process
        self._end = weakref.finalize(self, _end, process, self._connection)
        try:
            said = self._connection.recv() if self._connection.poll(away.start_s) else "it was not ready in time"
        except (EOFError, OSError):
            said = "its process ended while it was loading"
        if said != READY:
            self.close()
            raise DraftError(f"the asynchronous drafter did not start: {said}")

    def send(self, message: Message) -> None:
        """See Link."""
        self._connection.send(message)

    def answer(self, timeout_s: float) -> Answer | None:
        """See Link."""
        if not self._connection.poll(timeout_s):
            return None
        answer: Answer = self._connection.recv()
        return answer

    def close(self) -> None:
        """See Link."""
        self._end()


READY = "ready"
GRACE_S = 5.0
"""Time that a process gets to end by itself [s]."""


def _end(process: Any, connection: Any) -> None:
    """Close the pipe, at which the process ends; help where it does not, and leave nothing of it."""
    connection.close()
    for help_along in (process.terminate, process.kill):
        process.join(GRACE_S)
        if process.is_alive():
            help_along()
    process.join()
    process.close()


def serve_drafts(connection: Any, setup: DraftSetup, away: Away, probs: Tensor | None) -> None:
    """The process: answer what comes, draft ahead while nothing does, end when the pipe does."""
    try:
        worker = new_worker(setup, away, probs)
        connection.send(READY)
    except Exception as error:
        connection.send(f"{type(error).__name__}: {error}")
        return
    try:
        while True:
            if not connection.poll() and worker.ahead():
                continue
            answer = worker.handle(connection.recv())
            if answer is not None:
                connection.send(answer)
    except (EOFError, OSError, KeyboardInterrupt):
        return


def new_worker(setup: DraftSetup, away: Away, probs: Tensor | None) -> Worker:
    """The draft with blocks for what it drafts ahead, too."""
    if away.core is not None:
        os.sched_setaffinity(0, {away.core})
    torch.set_num_threads(away.threads)
    pool = BlockPool(setup.num_blocks, setup.block_tokens)
    ahead = setup.max_num_seqs * (pool.blocks_for(setup.draft_tokens + 1) + 1)
    pool = BlockPool(setup.num_blocks + ahead, setup.block_tokens)
    decoder: ModelDraft = draft_model(replace(setup, num_blocks=pool.num_blocks))
    longest = setup.max_model_len or pool.num_blocks * pool.block_tokens
    return Worker(decoder, pool, longest, probs)


def asynchronous(setup: DraftSetup, away: Away) -> AsynchronousDraft:
    """Build a drafter whose draft model (of its own, or the target disturbed by noise) runs in its own process."""
    weights = setup.draft
    if weights is None and setup.target is not None and setup.generator is not None:
        weights = with_noise(setup.target, setup.epsilon, setup.generator)
    if weights is None:
        raise DraftError("asynchronous: it needs a draft model; use it with --draft model or noisy_target")
    if setup.shape is not None:
        raise DraftError("asynchronous: it drafts chains ahead, no trees")
    if away.device is not None:
        weights = converted(weights, weights.dtype, away.device)
    mine = replace(setup, target=None, draft=weights, generator=None, head=None, table=None)
    probs = shared_rows(mine) if away.payload == "probs" else None
    return AsynchronousDraft(lambda: ProcessLink(mine, away, probs), probs, mine.draft_tokens, away.answer_s)


def here_or_away(build: Callable[[DraftSetup], Drafter]) -> Callable[[DraftSetup], Drafter]:
    """The same drafter, in a process of its own where the setup says so."""

    def built(setup: DraftSetup) -> Drafter:
        return build(setup) if setup.away is None else asynchronous(setup, setup.away)

    return built


def shared_rows(setup: DraftSetup) -> Tensor:
    """Memory for the distributions of one step: [sequences × draft tokens, vocabulary]."""
    assert setup.draft is not None
    rows = setup.max_num_seqs * setup.draft_tokens
    dtype = torch.float64 if setup.draft.dtype == torch.float64 else torch.float32
    shared: Tensor = torch.zeros(rows, setup.draft.architecture.vocab_size, dtype=dtype).share_memory_()  # type: ignore[no-untyped-call]
    return shared
