"""Tasks of many jobs on one executor: a few in flight, and each job's findings as soon as they are whole.

Jobs are asked for one by one, when there is room for their tasks, so that neither they nor what they find pile up.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from scenarios.executors import SerialExecutor, width
from scenarios.workers import WorkerLostError

TASKS_A_PLACE = 4
"""Tasks in flight for each that an executor runs at once: none of its places waits while findings are put away."""


class Job(Protocol):
    """What belongs together."""

    @property
    def tasks(self) -> Sequence[Any]:
        """What is to be called with; picklable."""

    def describe(self, task: int) -> str:
        """A task in words."""


J = TypeVar("J", bound=Job)


@dataclass(slots=True, eq=False)
class Outcome(Generic[J]):
    """What came of a job."""

    job: J
    found: list[Any]
    """In the order of its tasks; None for those that have not ended."""
    seconds: float = 0.0
    """That its tasks took, wherever they ran."""
    error: BaseException | None = None
    """The first of its tasks' errors; the tasks behind it are dropped."""
    left: int = 0
    """Tasks that have not ended."""


def run_jobs(
    jobs: Iterable[J],
    call: Callable[[Any], Any],
    executor: Executor | None = None,
    tick: Callable[[], None] | None = None,
) -> Iterator[Outcome[J]]:
    """Call a function with each task of each job, and yield what came of a job once all its tasks have ended.

    executor: where the tasks run; None: here, one after the other. tick: called whenever a task has ended.
    """
    flight: _Flight[J] = _Flight(call, executor or SerialExecutor(), tick or (lambda: None))
    for job in jobs:
        yield from flight.take(job)
    while flight.waiting:
        yield from flight.landed()


class _Flight(Generic[J]):
    """The tasks that have been submitted and not been looked at since."""

    def __init__(self, call: Callable[[Any], Any], executor: Executor, tick: Callable[[], None]) -> None:
        self._call = call
        self._executor = executor
        self._tick = tick
        self.waiting: dict[Future[Any], tuple[Outcome[J], int]] = {}

    def take(self, job: J) -> Iterator[Outcome[J]]:
        """Submit a job's tasks as there is room for them; meanwhile, the jobs that become whole."""
        tasks = job.tasks
        outcome = Outcome(job, [None] * len(tasks), left=len(tasks))
        if not tasks:
            yield outcome
        for number, task in enumerate(tasks):
            while len(self.waiting) >= TASKS_A_PLACE * width(self._executor):
                yield from self.landed()
            if outcome.error is not None:
                return
            future = self._executor.submit(timed, self._call, task)
            self.waiting[future] = outcome, number
            if future.done():
                yield from self.landed()

    def landed(self) -> Iterator[Outcome[J]]:
        """Wait for a task to end; the jobs that have become whole since, or have failed."""
        ended, _ = wait(self.waiting, return_when=FIRST_COMPLETED)
        for future in ended:
            if future not in self.waiting:
                continue
            outcome, number = self.waiting.pop(future)
            self._tick()
            outcome.left -= 1
            outcome.error = _error_of(future, outcome, number)
            if outcome.error is not None:
                self._drop(outcome)
                yield outcome
            elif outcome.left == 0:
                yield outcome

    def _drop(self, outcome: Outcome[J]) -> None:
        for future in [future for future, (of, _) in self.waiting.items() if of is outcome]:
            future.cancel()
            del self.waiting[future]


def _error_of(future: "Future[Any]", outcome: Outcome[J], number: int) -> BaseException | None:
    """Put away what a task has found, or return its error: a lost worker's names the task."""
    error = WorkerLostError("its executor gave it up") if future.cancelled() else future.exception()
    if error is None:
        outcome.found[number], seconds = future.result()
        outcome.seconds += seconds
    elif isinstance(error, WorkerLostError) or type(error).__name__ in ("KilledWorker", "FutureCancelledError"):
        error = WorkerLostError(f"{outcome.job.describe(number)}: {error}")
    return error


def timed(call: Callable[[Any], Any], task: Any) -> tuple[Any, float]:
    """What a call returns, and the seconds that it took."""
    start_s = time.perf_counter()
    found = call(task)
    return found, time.perf_counter() - start_s
