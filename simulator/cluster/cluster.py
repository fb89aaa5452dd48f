"""All replicas of a deployment under one stream of requests.

Order at equal times: arrivals with times of their own come before the ends of steps, so a step that starts then sees
them; the next request of a client in a closed loop comes after all steps that start at that time have started, in the
order of the request numbers that ended.
"""

from array import array
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass

import numpy as np
import simpy
from simpy.events import URGENT

from simulator.cluster.limits import Limits, StepTimes
from simulator.cluster.paths import PathPlanner
from simulator.cluster.records import ClusterRecords, StepColumns
from simulator.cluster.replica import LOG_COLUMNS, Replica
from simulator.cluster.requests import RequestBook
from simulator.cluster.routing import ROUTERS
from simulator.cluster.traffic import RequestChunk

LATE = 2
"""Priority of events that come after everything else at their time."""


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """What the simulation needs to know of a deployment."""

    num_replicas: int
    router: str
    limits: Limits
    times: StepTimes
    planner: PathPlanner


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
    """Whether arrivals go on until the last measured request ends."""


class _Moment(simpy.Event):
    """An event at a time from now, before or after all others of its time."""

    def __init__(self, env: simpy.Environment, delay_s: float, priority: int) -> None:
        super().__init__(env)
        self._ok = True
        self._value = None
        env.schedule(self, priority, max(delay_s, 0.0))  # type: ignore[arg-type]


class Cluster:
    """Replicas, the router before them, and the clients."""

    def __init__(self, plan: ClusterPlan, load: Load) -> None:
        self.env = simpy.Environment()
        self.load = load
        limit = None if load.endless else load.requests
        self.book = RequestBook(load.chunks, plan.planner, plan.limits.max_model_len, plan.limits.longest_prompt, limit)
        self.replicas = [Replica(self.env, self.book, plan.times, plan.limits, self) for _ in range(plan.num_replicas)]
        for replica in self.replicas:
            replica.process = self.env.process(replica.run())
        self._route = ROUTERS[plan.router]
        self._routed = 0
        self.arrived = 0
        self._left = load.requests - load.warmup_requests
        self._done = self.env.event()
        self._released: list[int] = []

    def run(self) -> None:
        """Simulate until the last measured request has ended."""
        if self.load.concurrency is not None or self.load.queued_at_once:
            self._release_first()
        else:
            self.env.process(self._arrive())
        if self._left > 0:
            self.env.run(until=self._done)

    def finished(self, requests: list[int], time_s: float) -> None:
        """Count measured requests; in a closed loop, let the clients send their next."""
        first, last = self.load.warmup_requests, self.load.requests
        for request in requests:
            if first <= request < last:
                self._left -= 1
        if self._left <= 0 and not self._done.triggered:
            self._done.succeed()
        if self.load.concurrency is not None:
            if not self._released:
                moment = _Moment(self.env, 0.0, LATE)
                assert moment.callbacks is not None
                moment.callbacks.append(lambda _: self._send_next(time_s))
            self._released += requests

    def _send_next(self, time_s: float) -> None:
        count, self._released = len(self._released), []
        for _ in range(count):
            self._submit(time_s)

    def _release_first(self) -> None:
        """The first requests of a closed loop, or all of a batch, at time 0."""
        for _ in range(self.load.concurrency or self.load.requests):
            self._submit(0.0)

    def _submit(self, time_s: float) -> bool:
        request = self.arrived
        if request >= self.book.size and not self.book.grow():
            return False
        self.arrived += 1
        self.book.arrival_s[request] = time_s
        self._send(request, after_steps=True)
        return True

    def _arrive(self) -> Generator[simpy.Event, None, None]:
        """Requests at times of their own."""
        env, book = self.env, self.book
        while self.arrived < book.size or book.grow():
            request = self.arrived
            delay = book.arrival_s[request] - env.now
            if delay > 0:
                yield _Moment(env, delay, URGENT)
            self.arrived += 1
            self._send(request, after_steps=False)
        self._close(book.size)

    def _close(self, size: int) -> None:
        """A trace has ended: what it did not bring is not measured."""
        self._left -= max(self.load.requests - size, 0)
        if self._left <= 0 and not self._done.triggered:
            self._done.succeed()

    def _send(self, request: int, *, after_steps: bool) -> None:
        book = self.book
        if request in book.rejected:
            self._reject(request)
            return
        prompt = book.prompt_tokens[request]
        index = self._route(self.replicas, self._routed, prompt)
        self._routed += 1
        book.replica[request] = index
        self.replicas[index].accept(request, prompt, after_steps=after_steps)

    def _reject(self, request: int) -> None:
        """A request that no replica could ever hold ends at once, without a token."""
        self.finished([request], self.book.arrival_s[request])


def simulate_cluster(plan: ClusterPlan, load: Load, check: Callable[[Cluster], None] | None = None) -> ClusterRecords:
    """Run one deployment under one stream of requests.

    check: called with the cluster when it is over; for tests of what must hold then.
    """
    cluster = Cluster(plan, load)
    cluster.run()
    if check is not None:
        check(cluster)
    requests = min(load.requests, cluster.arrived)
    return ClusterRecords(
        requests=cluster.book.columns(cluster.arrived, plan.limits.draft_tokens),
        steps=_step_columns([replica.log for replica in cluster.replicas]),
        kv_blocks_total=plan.limits.kv_blocks,
        num_replicas=plan.num_replicas,
        draft_tokens=plan.limits.draft_tokens,
        measured=slice(min(load.warmup_requests, requests), requests),
    )


def _step_columns(logs: list["array[float]"]) -> StepColumns:
    tables = [
        np.frombuffer(log, np.float64).reshape(-1, LOG_COLUMNS) if log else np.empty((0, LOG_COLUMNS)) for log in logs
    ]
    replica = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
    rows = np.concatenate(tables)

    def whole(column: int) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
        return rows[:, column].astype(np.int64)

    return StepColumns(
        replica=replica,
        start_s=rows[:, 0],
        duration_s=rows[:, 1],
        num_steps=whole(2),
        sequences=whole(3),
        context_tokens=rows[:, 4],
        prefill_sequences=whole(5),
        prefill_tokens=whole(6),
        prefill_context_tokens=rows[:, 7],
        emitted_tokens=whole(8),
        kv_blocks=rows[:, 9],
        waiting=whole(10),
        blocked_by=whole(11),
    )
