"""Simulations that browsers ask for: one at a time each, on processes that all share, within bounds."""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Literal

from app.dashboard.estimates import Answer, estimated
from app.dashboard.pool import FairPool, Owner
from scenarios.store import point_hash
from simulator.errors import ScenarioError, SimulatorError
from simulator.planning.study import StudyResult, study, to_json_ready
from simulator.spec.scenario import Scenario

MOST_REQUESTS = 20_000
"""Requests of a simulated run."""
MOST_WORK = 400_000
"""Requests × deployments × replications of a simulation."""
MOST_JOBS = 24
"""Simulations that wait or run at once."""
MOST_KEPT = 16
"""Finished simulations that are kept for whoever asks the same."""
MOST_TASK_S = 120.0
"""Seconds after which a replication is ended."""

State = Literal["running", "done", "failed", "cancelled"]


@dataclass(slots=True, eq=False)
class Job:
    """A simulation on its way."""

    owner: str
    scenario: Scenario
    key: str
    """What its result follows from: equal keys, equal results."""
    state: State = "running"
    done: int = 0
    total: int = 0
    """Tasks: one a deployment and replication."""
    answer: Answer | None = None
    problem: str = ""


class Jobs:
    """The simulations of all browsers."""

    def __init__(self, workers: int, most_task_s: float = MOST_TASK_S) -> None:
        self._pool = FairPool(workers, most_task_s)
        self._jobs: dict[Owner, Job] = {}
        self._kept: OrderedDict[str, Answer] = OrderedDict()
        self._lock = threading.Lock()

    def submit(self, owner: str, scenario: Scenario) -> Job:
        """Simulate a scenario for a browser, in place of what it asked for before.

        Raises ScenarioError for what is too large for a browser.
        """
        check_bounds(scenario)
        self.cancel(owner)
        job = Job(owner, scenario, point_hash(scenario))
        with self._lock:
            kept = self._kept.get(job.key)
            if kept is not None:
                self._kept.move_to_end(job.key)
                job.answer, job.state = kept, "done"
                return job
            if len(self._jobs) >= MOST_JOBS:
                raise ScenarioError(f"{MOST_JOBS} simulations are on their way already: try again in a minute")
            turn = Owner(self._pool)
            self._jobs[turn] = job
        threading.Thread(target=self._run, args=(turn, job), name="specfleet-job", daemon=True).start()
        return job

    def kept(self, key: str) -> Answer | None:
        """A finished simulation of the same scenario, whoever asked for it."""
        with self._lock:
            return self._kept.get(key)

    def cancel(self, owner: str) -> None:
        """End what a browser asked for."""
        with self._lock:
            turns = [turn for turn, job in self._jobs.items() if job.owner == owner]
            for turn in turns:
                self._jobs.pop(turn).state = "cancelled"
        for turn in turns:
            turn.cancel()

    def others(self, job: Job) -> int:
        """Simulations on their way that share the processes with this one."""
        with self._lock:
            return sum(other is not job for other in self._jobs.values())

    def close(self) -> None:
        """End everything."""
        self._pool.close()

    def _run(self, turn: Owner, job: Job) -> None:
        try:
            answer = self._simulated(turn, job)
            self._end(turn, job, "done", answer=answer)
        except SimulatorError as error:
            self._end(turn, job, "failed", problem=str(error))
        except BaseException as error:
            self._end(turn, job, "failed", problem=f"{type(error).__name__}: {error}")

    def _simulated(self, turn: Owner, job: Job) -> Answer:
        guesses = {row["deployment"]: row["capacity_req_per_s"] or None for row in estimated(job.scenario).rows}

        def progress(done: int, total: int) -> None:
            job.done, job.total = done, total

        found = study(job.scenario, turn, progress, guess=lambda _, name: guesses[name], fill=False)
        return as_answer(found, job.scenario)

    def _end(self, turn: Owner, job: Job, state: State, *, answer: Answer | None = None, problem: str = "") -> None:
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


def as_answer(found: StudyResult, scenario: Scenario) -> Answer:
    """A study as pages show it."""
    ready: dict[str, Any] = to_json_ready(found)
    own = {name: ready[name] for name in ("rows", "comparison", "provenance", "replications", "evidence")}
    return Answer(scenario, method="simulated", **own)


def check_bounds(scenario: Scenario) -> None:
    """ScenarioError for a simulation that is too large to share a server with others."""
    requests, runs = scenario.workload.horizon.requests, len(scenario.deployments) * scenario.replications
    way_out = "; ask for less, or simulate it with `specfleet run` on the command line"
    if requests > MOST_REQUESTS:
        raise ScenarioError(
            f"workload.horizon.requests: {requests:,}: a browser gets at most {MOST_REQUESTS:,}{way_out}"
        )
    if requests * runs > MOST_WORK:
        raise ScenarioError(
            f"{requests:,} requests × {len(scenario.deployments)} deployments × {scenario.replications} replications: "
            f"a browser gets at most {MOST_WORK:,} requests in all{way_out}"
        )
