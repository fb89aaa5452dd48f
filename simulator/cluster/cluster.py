"""All replicas of a deployment under one stream of requests.

Order at equal times: arrivals with times of their own come before the ends of steps, so a step that starts then sees
them; the next request of a client in a closed loop comes after all steps that start at that time have started, in the
order of the request numbers that ended.
"""

from array import array
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import partial
from random import Random

import numpy as np
import simpy
from simpy.events import URGENT

from simulator.cluster.decoding import Decoding, DrawnDecoding
from simulator.cluster.draft_pool import DraftPool, PoolPlan, Seat
from simulator.cluster.limits import Limits, StepTimes
from simulator.cluster.paths import PathPlanner
from simulator.cluster.records import ClusterRecords
from simulator.cluster.replica import Replica
from simulator.cluster.requests import RequestBook
from simulator.cluster.routing import ROUTERS, Ask
from simulator.cluster.step_log import step_columns
from simulator.cluster.traffic import RequestChunk
from simulator.cluster.waiting import PromptView

MOST_ARRIVALS = 4
"""Arrivals ÷ requests of the run at which arrivals stop: a queue that grows for ever, or starves a request, ends."""

LATE = 2
"""Priority of events that come after everything else at their time."""


MakesDecoding = Callable[[RequestBook, StepTimes, Limits], Decoding]
"""What makes the running sequences of a replica."""


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """What the simulation needs to know of a deployment."""

    num_replicas: int
    router: str
    limits: Limits
    times: StepTimes
    planner: PathPlanner
    request_host_s: float = 0.0
    """Time from a client's sending a request to a scheduler's seeing it."""
    router_seed: int = 0
    """Of the routers that pick at random."""
    decoding: MakesDecoding = DrawnDecoding
    """How the running sequences of a replica get their draft tokens."""
    pool: PoolPlan | None = None
    """Draft GPUs that replicas share; None: what steps wait for drafts is among their times."""


@dataclass(frozen=True, slots=True)
class Load:
    """What is offered, and what is measured of it."""

    chunks: Iterator[RequestChunk]
    requests: int
    """Requests of the run; those beyond it only keep the load up."""
    warmup_requests: int
    concurrency: int | None = None
    """Clients of a closed loop."""
    queued_at_once: bool = False
    endless: bool = True
    """Whether arrivals go on until the last measured request ends, up to MOST_ARRIVALS times the requests."""
    max_output_tokens: int | None = None
    """Longest output that requests ask for."""


class _Moment(simpy.Event):
    """An event at a time from now, before or after all others of its time."""

    def __init__(self, env: simpy.Environment, delay_s: float, priority: int) -> None:
        super().__init__(env)
        self._ok = True
        self._value = None
        env.schedule(self, priority, max(delay_s, 0.0))  # type: ignore[arg-type]


class Cluster:
    """Replicas, the router before them, and the clients."""

    def __init__(self, plan: ClusterPlan, load: Load, replica: type[Replica] = Replica) -> None:
        self.env = simpy.Environment()
        self.load = load
        limits = plan.limits
        self.book = RequestBook(
            load.chunks, plan.planner, limits.max_model_len, limits.longest_prompt,
            None if load.endless else load.requests, load.max_output_tokens,
        )  # fmt: skip
        self.replicas = [
            replica(self.env, self.book, plan.decoding(self.book, plan.times, limits), limits, self)
            for _ in range(plan.num_replicas)
        ]
        self.pools = self._shared_pools(plan.pool)
        for one in self.replicas:
            one.process = self.env.process(one.run())
        self.came = array("q")
        """Requests in the order in which they came."""
        self._rank: dict[int, int] = {}
        self._route = ROUTERS[plan.router]
        self._rng = Random(plan.router_seed)
        self._host_s = plan.request_host_s
        self._fresh = 0
        self._left = load.requests - load.warmup_requests
        self._done = self.env.event()
        self._released = 0

    def _shared_pools(self, plan: PoolPlan | None) -> list[DraftPool]:
        """The pools of draft GPUs, each replica with its seat."""
        if plan is None:
            return []
        pools = [DraftPool(self.env, plan) for _ in self.replicas[:: plan.shared_by]]
        for number, one in enumerate(self.replicas):
            one.seat = Seat(self.env, pools[number // plan.shared_by], plan, one.decoding)
        return pools

    def run(self) -> None:
        """Simulate until the last measured request has ended."""
        if self.load.concurrency is not None or self.load.queued_at_once:
            for _ in range(self.load.concurrency or self.load.requests):
                self._send_fresh(0.0)
        else:
            self.env.process(self._arrive())
        if self._left > 0:
            self.env.run(until=self._done)

    def finished(self, requests: list[int], time_s: float) -> None:
        """Count measured requests; let sessions go on, and clients of a closed loop send their next request."""
        first, last = self.load.warmup_requests, self.load.requests
        for request in requests:
            rank = self._rank.pop(request)
            if first <= rank < last:
                self._left -= 1
            think_s = None if request in self.book.rejected else self.book.think_s(request + 1)
            if think_s is not None:
                self._send_later(request + 1, time_s, think_s)
            elif self.load.concurrency is not None:
                if not self._released:
                    self._later(0.0, partial(self._send_released, time_s))
                self._released += 1
        if self._left <= 0 and not self._done.triggered:
            self._done.succeed()

    def _later(self, delay_s: float, act: Callable[[], None]) -> None:
        moment = _Moment(self.env, delay_s, LATE)
        assert moment.callbacks is not None
        moment.callbacks.append(lambda _: act())

    def _send_released(self, time_s: float) -> None:
        count, self._released = self._released, 0
        for _ in range(count):
            self._send_fresh(time_s)

    def _next_fresh(self) -> int | None:
        """Number of the next request that does not go on with a session; None when there is none."""
        book = self.book
        while len(self.came) < MOST_ARRIVALS * self.load.requests and (self._fresh < book.size or book.grow()):
            request = self._fresh
            self._fresh += 1
            if book.think_s(request) is None:
                return request
        return None

    def _send_fresh(self, time_s: float) -> None:
        request = self._next_fresh()
        if request is not None:
            self._send_later(request, time_s, 0.0)

    def _send_later(self, request: int, time_s: float, delay_s: float) -> None:
        """Let a client send a request after a time; the scheduler sees it once the host has handled it."""
        if delay_s + self._host_s <= 0.0:
            self._send(request, time_s, after_steps=True)
            return
        send = partial(self._send, request, time_s + delay_s, after_steps=True)
        self._later(delay_s + self._host_s, send)

    def _arrive(self) -> Generator[simpy.Event, None, None]:
        """Requests at times of their own."""
        env, book = self.env, self.book
        while (request := self._next_fresh()) is not None:
            time_s = book.arrival_s[request]
            delay = time_s + self._host_s - env.now
            if delay > 0:
                yield _Moment(env, delay, URGENT)
            self._send(request, time_s, after_steps=False)
        self._close(len(self.came))

    def _close(self, came: int) -> None:
        """A trace has ended: what it did not bring is not measured."""
        self._left -= max(self.load.requests - max(came, self.load.warmup_requests), 0)
        if self._left <= 0 and not self._done.triggered:
            self._done.succeed()

    def _send(self, request: int, time_s: float, *, after_steps: bool) -> None:
        book = self.book
        book.arrival_s[request] = time_s
        nth = len(self.came)
        self._rank[request] = nth
        self.came.append(request)
        if request in book.rejected:
            self.finished([request], time_s)
            return
        prompt = book.prompt_tokens[request]
        index = self._route(self.replicas, Ask(nth, prompt, request, book.segments), self._rng)
        book.replica[request] = index
        self.replicas[index].accept(request, PromptView(prompt, book.priority[request]), after_steps=after_steps)


def simulate_cluster(
    plan: ClusterPlan,
    load: Load,
    check: Callable[[Cluster], None] | None = None,
    replica: type[Replica] = Replica,
) -> ClusterRecords:
    """Run one deployment under one stream of requests.

    check: called with the cluster when it is over; for who wants to know more than the records.
    replica: a replica that watches itself, where the records of steps are not enough.
    """
    cluster = Cluster(plan, load, replica)
    cluster.run()
    if check is not None:
        check(cluster)
    steps = step_columns([one.log for one in cluster.replicas])
    came = np.asarray(cluster.came, np.int64)
    requests = min(load.requests, came.size)
    return ClusterRecords(
        requests=cluster.book.columns(came, plan.planner),
        steps=steps,
        kv_blocks_total=plan.limits.kv_blocks,
        num_replicas=plan.num_replicas,
        draft_tokens=plan.limits.draft_tokens,
        measured=slice(min(load.warmup_requests, requests), requests),
    )
