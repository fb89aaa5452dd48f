"""Replay of a benchmark on one replica: the client and the engine's scheduler as they were, steps priced by a model.

It knows one prompt rule per engine: chunked prompts beside decoding (vLLM, SGLang), or whole prompts with KV reserved
for prompt and output and a wait for company (TensorRT-LLM).
"""

import heapq
from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from simulator.cluster.limits import StepTimes
from simulator.errors import ScenarioError
from simulator.physics.step import StepShape


@dataclass(frozen=True, slots=True)
class Protocol:
    """How the benchmark was run and how the engine was configured."""

    prompt_tokens: int
    output_tokens: int
    requests: int
    concurrency: int | None
    """Requests in flight; None: all queued at the start."""
    max_num_seqs: int
    token_budget: int
    """Tokens of a step, decoding sequences included."""
    kv_tokens: int
    """Tokens of KV in the replica."""
    chunked: bool
    """Whether a prompt may be split over steps."""
    reserve_output: bool
    """Whether a request is admitted only with KV for its whole output."""
    prefill_first: bool = False
    """Whether steps with prompts leave decoding sequences out (SGLang)."""
    wait_iterations: int = 0
    """Steps that new prompts wait for company while others decode."""
    wait_tokens: int = 0
    """Prompt tokens at which the wait ends early."""
    overlap_steps: int = 1
    """Steps by which a token reaches the client after the step that computed it."""
    shortest: float = 0.8
    """Lengths are uniform from this share of the nominal to the nominal."""
    request_host_s: float = 0.0
    """Time from a client's request to the scheduler's seeing it."""
    skip_burst: bool = False
    """Leave the opening burst out of the means."""
    seed: int = 0


class Measured(NamedTuple):
    """What the client measured."""

    ttft_s: float
    tpot_s: float
    output_tokens_per_s: float
    mean_batch: float


@dataclass(slots=True)
class _Request:
    number: int
    prompt: int
    output: int
    sent_s: float = 0.0
    first_s: float = 0.0
    done: int = 0
    """Prompt tokens computed."""
    ends: int = 0
    """Decode step after which the request is complete."""
    context: int = 0
    """KV tokens at decode step 0: context at step i is this + i."""
    emitted: bool = False
    held: int = 0
    """KV tokens reserved."""


@dataclass(slots=True)
class _State:
    """The engine's state between steps."""

    now_s: float = 0.0
    step: int = 0
    """Decode steps done."""
    arrivals: list[tuple[float, int]] = field(default_factory=list)
    waiting: "deque[_Request]" = field(default_factory=deque)
    partial: _Request | None = None
    running: list[tuple[int, int]] = field(default_factory=list)
    """(step at which it ends, number)."""
    context: int = 0
    reserved: int = 0
    waited: int = 0
    late: list[tuple[_Request, bool]] = field(default_factory=list)
    """Computed but not yet delivered: (request, whether it is its last token)."""
    busy_s: float = 0.0
    batch_s: float = 0.0


class Replay:
    """One run; `run` gives what the client measured."""

    def __init__(self, protocol: Protocol, times: StepTimes) -> None:
        """Draw the lengths."""
        if not protocol.chunked and protocol.prompt_tokens > protocol.token_budget:
            raise ScenarioError(
                f"prompts of {protocol.prompt_tokens} tokens cannot be split and never fit a step of "
                f"{protocol.token_budget}; raise the token budget or allow chunks"
            )
        self.p = protocol
        self.times = times
        rng = np.random.RandomState(protocol.seed)

        def lengths(nominal: int) -> list[int]:
            low = max(1, int(nominal * protocol.shortest))
            return [int(n) for n in rng.randint(low, nominal + 1, protocol.requests)]

        prompts, outputs = lengths(protocol.prompt_tokens), lengths(protocol.output_tokens)
        self.book = [_Request(i, *pair) for i, pair in enumerate(zip(prompts, outputs, strict=True))]
        self.s = _State()
        self.sent = 0
        self.finished: dict[int, float] = {}
        self.outputs = outputs

    def run(self) -> Measured:
        """Replay to the end of the last request."""
        for _ in range(min(self.p.concurrency or self.p.requests, self.p.requests)):
            self._send(0.0)
        s = self.s
        while len(self.finished) < self.p.requests:
            self._receive()
            if not (s.waiting or s.running or s.partial):
                self._idle()
                continue
            prompts = self._schedule()
            if prompts:
                self._prompt_step(prompts)
            else:
                self._decode_run()
        return self._means()

    # Client.

    def _send(self, now_s: float) -> None:
        if self.sent < self.p.requests:
            self.book[self.sent].sent_s = now_s
            heapq.heappush(self.s.arrivals, (now_s + self.p.request_host_s, self.sent))
            self.sent += 1

    def _deliver(self, now_s: float) -> None:
        """Hand over what the step before computed."""
        late, self.s.late = self.s.late, []
        for request, last in late:
            if not request.emitted:
                request.emitted = True
                request.first_s = now_s
            if last:
                self.finished[request.number] = now_s
                if self.p.concurrency is not None:
                    self._send(now_s)

    def _means(self) -> Measured:
        first = (self.p.concurrency or 0) if self.p.skip_burst else 0
        counted = self.book[first:]
        ttft = [r.first_s - r.sent_s for r in counted]
        longer = [r for r in counted if self.outputs[r.number] > 1]
        tpot = [(self.finished[r.number] - r.first_s) / (self.outputs[r.number] - 1) for r in longer]
        tokens = sum(self.outputs)
        s = self.s
        return Measured(
            float(np.mean(ttft)),
            float(np.mean(tpot)) if tpot else float("nan"),
            tokens / max(self.finished.values()),
            s.batch_s / s.busy_s,
        )

    # Scheduler.

    def _receive(self) -> None:
        s = self.s
        while s.arrivals and s.arrivals[0][0] <= s.now_s:
            s.waiting.append(self.book[heapq.heappop(s.arrivals)[1]])

    def _idle(self) -> None:
        """Nothing to compute: deliver what is late, else wait for the next arrival."""
        if self.s.late:
            self._deliver(self.s.now_s)
        elif self.s.arrivals:
            self.s.now_s = max(self.s.now_s, self.s.arrivals[0][0])
        self._receive()

    def _schedule(self) -> list[tuple[_Request, int]]:
        """Prompts of the next step and how many of their tokens."""
        p, s = self.p, self.s
        budget = p.token_budget - (0 if p.prefill_first else len(s.running))
        chunks: list[tuple[_Request, int]] = []
        if s.partial is not None:
            now = min(s.partial.prompt - s.partial.done, budget)
            chunks.append((s.partial, now))
            budget -= now
        admitted = 0
        for request in s.waiting:
            now = min(request.prompt, budget) if p.chunked else request.prompt
            places = p.max_num_seqs - len(s.running) - len(chunks)
            if budget < now or now <= 0 or places <= 0 or not self._fits(request, chunks):
                break
            chunks.append((request, now))
            budget -= now
            admitted += 1
        if self._keeps_waiting(chunks):
            return []
        for _ in range(admitted):
            request = s.waiting.popleft()
            request.held = request.prompt + (request.output if p.reserve_output else 0)
            s.reserved += request.held
        return chunks

    def _fits(self, request: _Request, chunks: list[tuple[_Request, int]]) -> bool:
        p, s = self.p, self.s
        if not p.reserve_output:
            new = sum(r.prompt for r, _ in chunks)
            return self._context() + new + request.prompt <= p.kv_tokens or not (s.running or chunks)
        new = sum(r.prompt + r.output for r, _ in chunks if r is not s.partial)
        return s.reserved + new + request.prompt + request.output <= p.kv_tokens or not (s.running or chunks)

    def _keeps_waiting(self, chunks: list[tuple[_Request, int]]) -> bool:
        p, s = self.p, self.s
        if not (p.wait_iterations and chunks and s.running):
            return False
        tokens = sum(now for _, now in chunks) + len(s.running)
        if s.waited < p.wait_iterations and tokens < p.wait_tokens:
            s.waited += 1
            return True
        s.waited = 0
        return False

    def _context(self) -> int:
        """KV tokens of the running sequences now."""
        return self.s.context + len(self.s.running) * self.s.step

    # Steps.

    def _prompt_step(self, chunks: list[tuple[_Request, int]]) -> None:
        s = self.s
        decoding = 0 if self.p.prefill_first else len(s.running)
        pairs = sum(now * (r.done + (now + 1) / 2) for r, now in chunks)
        tokens = sum(now for _, now in chunks)
        context = self._context() if decoding else 0
        seconds = self.times.seconds(StepShape(decoding, decoding, context, len(chunks), tokens, pairs, 0))
        s.now_s += seconds
        s.busy_s += seconds
        s.batch_s += seconds * len(s.running)
        self._deliver(s.now_s)
        if decoding:
            s.step += 1
            self._complete()
        s.partial = None
        for request, now in chunks:
            request.done += now
            if request.done < request.prompt:
                s.partial = request
            else:
                self._start(request)
        if not self.p.overlap_steps:
            self._deliver(s.now_s)

    def _start(self, request: _Request) -> None:
        """A prompt is computed: its first token exists."""
        s = self.s
        last = request.output <= 1
        s.late.append((request, last))
        if last:
            s.reserved -= request.held
            return
        request.ends = s.step + request.output - 1
        request.context = request.prompt + 1 - s.step
        s.context += request.context
        heapq.heappush(s.running, (request.ends, request.number))

    def _decode_run(self) -> None:
        """Steps without prompts until something may change."""
        s, p = self.s, self.p
        n = len(s.running)
        if not n:
            s.now_s += 1e-6
            return
        constant, slope = self.times.decode_affine(n)
        steps = s.running[0][0] - s.step
        if s.waiting and s.waited:
            steps = 1
        context = self._context()
        if not p.reserve_output:
            steps = max(1, min(steps, (p.kv_tokens - context) // n))
        first = constant + slope * context
        if s.late:
            steps = 1
        if s.arrivals:
            room = max(s.arrivals[0][0] - s.now_s, 0.0)
            steps = max(1, min(steps, int(room / first) + 1))
        seconds = steps * first + slope * n * steps * (steps - 1) / 2
        s.now_s += seconds
        s.busy_s += seconds
        s.batch_s += seconds * n
        self._deliver(s.now_s)
        s.step += steps
        self._complete()
        if not p.overlap_steps:
            self._deliver(s.now_s)
        if not p.reserve_output and self._context() > p.kv_tokens - len(s.running):
            self._preempt()

    def _complete(self) -> None:
        s = self.s
        while s.running and s.running[0][0] <= s.step:
            request = self.book[heapq.heappop(s.running)[1]]
            s.context -= request.context
            s.reserved -= request.held
            s.late.append((request, True))

    def _preempt(self) -> None:
        """The youngest gives up its KV and is computed again, output so far included."""
        s = self.s
        if len(s.running) < 2:
            return
        ends, number = max(s.running, key=lambda item: item[1])
        s.running.remove((ends, number))
        heapq.heapify(s.running)
        request = self.book[number]
        s.context -= request.context
        s.reserved -= request.held
        left = ends - s.step
        again = _Request(number, request.context + s.step, left + 1, request.sent_s, request.first_s)
        again.emitted = request.emitted
        self.book[number] = again
        s.waiting.appendleft(again)
