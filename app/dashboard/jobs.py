"""Work that browsers ask for: on processes that all share, within bounds, kept for who asks the same."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Literal

from app.dashboard.pool import FairPool, Owner
from simulator.errors import ScenarioError, SimulatorError

MOST_JOBS = 24
"""Jobs that wait or run at once."""
MOST_KEPT = 32
"""Answers that are kept for whoever asks the same."""
MOST_TASK_S = 120.0
"""Seconds after which a task of a job is ended."""

State = Literal["running", "done", "failed", "cancelled"]

Progress = Callable[[int, int], None]
"""Called with the tasks that are done and with all of them."""

Compute = Callable[[Executor, Progress], Any]
"""What a job does: its answer, from an executor and a way to tell how far it is."""


@dataclass(slots=True, eq=False)
class Job:
    """Something on its way."""

    owner: str
    key: str
    """What its answer follows from: equal keys, equal answers."""
    state: State = "running"
    done: int = 0
    total: int = 0
    """Tasks: for a simulation one a deployment and replication."""
    answer: Any = None
    problem: str = ""

    @property
    def running(self) -> bool:
        """Whether an answer is to be waited for."""
        return self.state == "running"


class Jobs:
    """The jobs of all browsers."""

    def __init__(self, workers: int, most_task_s: float = MOST_TASK_S) -> None:
        self._pool = FairPool(workers, most_task_s)
        self._jobs: dict[Owner, Job] = {}
        self._kept: OrderedDict[str, Any] = OrderedDict()
        self._lock = threading.Lock()

    def submit(self, owner: str, key: str, compute: Compute) -> Job:
        """Have something computed for an owner, in place of what it asked for before.

        Raises ScenarioError where too many wait already.
        """
        self.cancel(owner)
        job = Job(owner, key)
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
                job.answer, job.state = kept, "done"
                return job
            if len(self._jobs) >= MOST_JOBS:
                raise ScenarioError(f"{MOST_JOBS} simulations are on their way already: try again in a minute")
            turn = Owner(self._pool)
            self._jobs[turn] = job
        threading.Thread(target=self._run, args=(turn, job, compute), name="specfleet-job", daemon=True).start()
        return job

    def kept(self, key: str) -> Any:
        """A finished answer, whoever asked for it; None where there is none."""
        with self._lock:
            return self._kept.get(key)

    def cancel(self, owner: str) -> None:
        """End what an owner asked for."""
        with self._lock:
            turns = [turn for turn, job in self._jobs.items() if job.owner == owner]
            for turn in turns:
                self._jobs.pop(turn).state = "cancelled"
        for turn in turns:
            turn.cancel()

    def others(self, job: Job) -> int:
        """Jobs on their way that share the processes with this one."""
        with self._lock:
            return sum(other is not job for other in self._jobs.values())

    def close(self) -> None:
        """End everything."""
        self._pool.close()

    def _run(self, turn: Owner, job: Job, compute: Compute) -> None:
        def progress(done: int, total: int) -> None:
            job.done, job.total = done, total

        try:
            self._end(turn, job, "done", answer=compute(turn, progress))
        except SimulatorError as error:
            self._end(turn, job, "failed", problem=str(error))
        except BaseException as error:
            self._end(turn, job, "failed", problem=f"{type(error).__name__}: {error}")

    def _end(self, turn: Owner, job: Job, state: State, *, answer: Any = None, problem: str = "") -> None:
        """Close a job, unless it was cancelled meanwhile; what is left of a failed one is dropped."""
        turn.cancel()
        with self._lock:
            self._jobs.pop(turn, None)
            if job.state == "cancelled":
                return
            job.answer, job.problem = answer, problem
            job.state = state
            if answer is not None:
                self._kept[job.key] = answer
                while len(self._kept) > MOST_KEPT:
                    self._kept.popitem(last=False)
