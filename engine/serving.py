"""Requests that come by a clock, or from clients who wait for their answers: served until all are done.

When a request is seen: the loop looks at the clock once between two steps, and the step that follows begins at that
moment; it sees every request that has arrived by then. A client's next request comes once the step after its last one
has begun, and so takes part in the one behind that; at once where nothing else is left to do. Both are the rules of
the planner's simulation.
"""

import gc
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter, sleep

from engine.loop import Engine
from engine.sequence import Emission, Request

LONGEST_NAP_S = 0.05
"""Longest single wait for the next arrival, so that an interrupt is heeded."""


def clock_from_now() -> Callable[[], float]:
    """A clock that shows 0 now [s]."""
    start = perf_counter()
    return lambda: perf_counter() - start


@contextmanager
def settled_heap() -> Iterator[None]:
    """Keep Python's collector out of what was there before: else it walks weights and vocabularies within a step.

    To be entered before the clock starts: the last such walk takes its time.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def serve(engine: Engine, requests: Sequence[Request], wait: Callable[[float], None] = sleep) -> Iterator[Emission]:
    """Serve requests in order of arrival, by the engine's clock.

    wait: lets so many seconds pass.
    """
    to_come = deque(sorted(requests, key=lambda request: request.arrival_s))
    while to_come or not engine.scheduler.idle():
        now_s = engine.clock()
        while to_come and to_come[0].arrival_s <= now_s:
            engine.submit(to_come.popleft())
        if engine.scheduler.idle():
            wait(min(max(to_come[0].arrival_s - now_s, 0.0), LONGEST_NAP_S))
        else:
            yield from engine.step(now_s)
    engine.pool.check_idle()


def serve_clients(engine: Engine, requests: Sequence[Request], clients: int) -> Iterator[Emission]:
    """Serve so many clients, each of whom sends the next request when an answer is complete.

    A request arrives when the one before it ended, the first ones now.
    """
    to_come = deque(requests)
    seen = [engine.clock()] * clients
    """When each of the clients was free whose request the next step sees."""
    later: list[float] = []
    while True:
        now_s = engine.clock()
        for free_s in seen[: len(to_come)]:
            engine.submit(replace(to_come.popleft(), arrival_s=free_s))
        if engine.scheduler.idle():
            break
        emissions = engine.step(now_s)
        yield from emissions
        ended = [e.sequence.finish_s for e in emissions if e.sequence.finished]
        seen, later = later, ended
        if engine.scheduler.idle() and not (seen and to_come):
            seen, later = later, []
    engine.pool.check_idle()
