"""Requests that arrive by a clock: submitted when they are due, served until all are done.

A request that arrives at the very moment at which a step begins takes part in it, as in the planner's simulation.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter, sleep

from engine.loop import Engine
from engine.sequence import Emission, Request

LONGEST_NAP_S = 0.05
"""Longest single wait for the next arrival, so that an interrupt is heeded."""


def clock_from_now() -> Callable[[], float]:
    """A clock that shows 0 now [s]."""
    start = perf_counter()
    return lambda: perf_counter() - start


def serve(engine: Engine, requests: Sequence[Request], wait: Callable[[float], None] = sleep) -> Iterator[Emission]:
    """Serve requests in order of arrival, by the engine's clock.

    wait: lets so many seconds pass.
    """
    to_come = deque(sorted(requests, key=lambda request: request.arrival_s))
    while to_come or not engine.scheduler.idle():
        while to_come and to_come[0].arrival_s <= engine.clock():
            engine.submit(to_come.popleft())
        if engine.scheduler.idle():
            wait(min(max(to_come[0].arrival_s - engine.clock(), 0.0), LONGEST_NAP_S))
        else:
            yield from engine.step()
    engine.pool.check_idle()
