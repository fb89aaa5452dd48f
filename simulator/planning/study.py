"""A study of one scenario: the offered load, the capacity and the fleet of every deployment, and their comparison.

One task per deployment and replication, each with its own runs and none of another's results, so that the answer is
the same whatever executor they run on.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, as_completed
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, NamedTuple

import numpy as np

from simulator.cluster.records import ClusterRecords
from simulator.outcome.aggregate import aggregate_rows
from simulator.outcome.evidence import Evidence, run_evidence, trial_evidence
from simulator.outcome.plain import plain
from simulator.outcome.report import Planned, Report, Row, empty_row, replication_row
from simulator.outcome.slo import OPEN_LOOP, Verdict, limits, verdict
from simulator.planning.capacity import (
    MOST_OVER_GUESS,
    Capacity,
    LoadAxis,
    Trial,
    load_axis,
    plateau,
    search,
    short_run_note,
)
from simulator.planning.comparison import compare
from simulator.planning.context import row_context, why_unfit
from simulator.planning.curve import FILLED, loads_to_fill, shortened
from simulator.planning.economics import economics
from simulator.planning.fleet import fewest, guessed_replicas
from simulator.planning.model_error import ModelError, model_error, widened
from simulator.planning.provenance import provenance
from simulator.run import simulate_once, step_times_of, with_best_trees
from simulator.spec.scenario import Scenario

MOST_DRAWN = 10
"""Replications whose loads are kept for the report."""

Simulate = Callable[..., ClusterRecords]
"""simulate_once, or what stands in for it in tests."""

Guess = Callable[[Scenario, str], float | None]
"""Estimated capacity of a deployment [requests/s]; None: no idea."""

Progress = Callable[[int, int], None]
"""Called with the tasks done and the tasks there are."""


@dataclass(frozen=True, slots=True)
class StudyResult:
    """A report and what follows from comparing its deployments."""

    report: Report
    comparison: dict[str, Any]
    evidence: dict[str, Evidence] = field(default_factory=dict)
    """By deployment, what a report draws: `run`, replication 0 at the offered load, and `trials`, all loads tried."""
    economics: list[dict[str, Any]] = field(default_factory=list)
    """Of each deployment that speculates: what its drafts add, save and cost."""


class Replicated(NamedTuple):
    """What one task found."""

    row: Row
    run: Evidence | None
    """Replication 0 at the offered load; None in the others."""
    trials: list[Evidence]
    """Loads that were simulated, each with what came of it."""


@dataclass(frozen=True, slots=True)
class Task:
    """One replication of one deployment; picklable."""

    scenario: Scenario
    deployment: str
    replication: int
    guess: float | None
    point: str
    simulate: Simulate
    fill: bool = True


def study(
    scenario: Scenario,
    executor: Executor | None = None,
    progress: Progress | None = None,
    *,
    guess: Guess | None = None,
    point: str = "base",
    simulate: Simulate = simulate_once,
    fill: bool = True,
) -> StudyResult:
    """Study a scenario.

    executor: where the tasks run; None: here, one after the other.
    guess: an estimate of the capacity, from which the searches start; the better, the fewer runs.
    point: name of the sweep point that the scenario is.
    fill: whether loads that the searches leave out are simulated too, for figures alone: no row follows from them.
    """
    scenario = with_best_trees(scenario)
    unfit = {name: reason for name in scenario.deployments if (reason := why_unfit(scenario, name))}
    tasks = [
        Task(scenario, name, replication, guess(scenario, name) if guess else None, point, simulate, fill)
        for name in scenario.deployments
        if name not in unfit
        for replication in range(scenario.replications)
    ]
    done = _run_all(tasks, executor, progress or (lambda done, total: None))
    replications = [found.row for found in done]
    errors = {name: model_error(scenario, name) for name in scenario.deployments if name not in unfit}
    rows = tuple(_rows(scenario, replications, unfit, errors, point))
    report = Report(scenario.name, rows, tuple(replications), provenance(scenario))
    return StudyResult(report, compare(rows, replications, errors), _evidence(done), economics(scenario, rows))


def _evidence(done: Sequence[Replicated]) -> dict[str, Evidence]:
    found: dict[str, Evidence] = {}
    for row, run, trials in done:
        own = found.setdefault(row["deployment"], {"run": None, "trials": []})
        own["run"] = run or own["run"]
        if row["replication"] < MOST_DRAWN:
            own["trials"] += [{"replication": row["replication"], **trial} for trial in trials]
    return found


def _rows(
    scenario: Scenario,
    replications: Sequence[Row],
    unfit: dict[str, str],
    errors: dict[str, ModelError | None],
    point: str,
) -> Iterator[Row]:
    for name in scenario.deployments:
        if name in unfit:
            yield empty_row(row_context(scenario, name, point), "all", unfit[name])
        else:
            found = aggregate_rows([row for row in replications if row["deployment"] == name])
            yield widened(found, errors[name])


def _run_all(tasks: Sequence[Task], executor: Executor | None, progress: Progress) -> list[Replicated]:
    """Findings in the order of the tasks, wherever and in whatever order they ran."""
    progress(0, len(tasks))
    if executor is None:
        found = []
        for task in tasks:
            found.append(study_replication(task))
            progress(len(found), len(tasks))
        return found
    futures: list[Future[Replicated]] = [executor.submit(study_replication, task) for task in tasks]
    for done, future in enumerate(as_completed(futures), start=1):
        future.result()
        progress(done, len(tasks))
    return [future.result() for future in futures]


class _Runs:
    """Simulated runs of one replication of one deployment."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.count = 0
        self.trials: list[Evidence] = []
        self.axis: LoadAxis = load_axis(task.scenario.workload, task.scenario.seed, task.replication)

    def records(self, load: float | None = None, replicas: int | None = None) -> ClusterRecords:
        """Simulate a load instead of the offered one, or with another number of replicas."""
        self.count += 1
        task = self.task
        changed = {} if load is None else self.axis.override(load)
        return task.simulate(task.scenario, task.deployment, task.replication, replicas=replicas, **changed)

    def judge(self, records: ClusterRecords) -> Verdict:
        """Whether a run holds."""
        scenario = self.task.scenario
        return verdict(records, scenario.slo, open_loop=scenario.workload.arrivals.kind in OPEN_LOOP)

    def at_load(self, load: float) -> Verdict:
        """Whether a load holds."""
        records = self.records(load=load)
        found = self.judge(records)
        self.keep(load, records, found)
        return found

    def keep(self, load: float, records: ClusterRecords, found: Verdict) -> None:
        """Remember a load and what came of it."""
        self.trials.append(trial_evidence(load, records, found, self.task.scenario.slo))

    def with_replicas(self, replicas: int) -> bool:
        """Whether the offered load holds with so many replicas."""
        return self.judge(self.records(replicas=replicas)).holds


def study_replication(task: Task) -> Replicated:
    """All figures of one replication of one deployment."""
    runs = _Runs(task)
    records = runs.records()
    offered = runs.judge(records)
    if runs.axis.offered is not None:
        runs.keep(runs.axis.offered, records, offered)
    capacity = find_capacity(runs, offered)
    replicas, note = find_fleet(runs, offered, capacity)
    e2e_s = records.requests.finish_s[records.measured] - records.requests.arrival_s[records.measured]
    stay_s = float(np.nanmean(e2e_s)) if np.isfinite(e2e_s).any() else None
    said = capacity.note if runs.axis.offered is None else short_run_note(capacity, e2e_s.size, stay_s)
    planned = Planned(capacity.req_per_s, said, replicas, note, runs.count)
    spec = task.scenario.deployments[task.deployment]
    rate = runs.axis.offered if runs.axis.kind == "rate" else offered.req_per_s or None
    row = replication_row(
        records,
        row_context(task.scenario, task.deployment, task.point),
        task.replication,
        model=step_times_of(spec, task.scenario.workload),
        offered_req_per_s=None if runs.axis.kind == "batch" else rate,
        planned=planned,
    )
    first = task.replication == 0
    return Replicated(
        row,
        run_evidence(records) if first else None,
        runs.trials + (_filled(runs, capacity) if first and task.fill else []),
    )


def _filled(runs: _Runs, capacity: Capacity) -> list[Evidence]:
    """Short runs at loads that the searches left out; not among the runs that are counted."""
    task, axis = runs.task, runs.axis
    if axis.offered is None or task.scenario.workload.arrivals.kind not in FILLED:
        return []
    short = _Runs(replace(task, scenario=shortened(task.scenario)))
    tried = [trial["load"] for trial in runs.trials]
    for load in loads_to_fill(capacity.load, tried, whole=axis.kind == "clients"):
        short.at_load(load)
    return short.trials


def find_capacity(runs: _Runs, offered: Verdict) -> Capacity:
    """Highest load that holds; a batch that is queued at once has only one: requests ÷ makespan."""
    axis, slo = runs.axis, runs.task.scenario.slo
    if axis.offered is None:
        return Capacity(offered.req_per_s, offered.req_per_s, 0)
    known = Trial(axis.offered, offered)
    if axis.kind == "clients" and not limits(slo):
        return plateau(runs.at_load, known)
    guess = runs.task.guess if axis.kind == "rate" else None
    most = MOST_OVER_GUESS * max(guess, axis.offered) if guess else inf
    return search(runs.at_load, guess or known.next_load(), [known], whole=axis.kind == "clients", most=most)


def find_fleet(runs: _Runs, offered: Verdict, capacity: Capacity) -> tuple[int | None, str]:
    """Fewest replicas that hold the offered load, or None and why."""
    task, axis = runs.task, runs.axis
    replicas = task.scenario.deployments[task.deployment].replicas
    if axis.kind != "rate" and not limits(task.scenario.slo):
        return None, "no SLO: any number of replicas holds a load that waits for it"
    if axis.offered is None:
        start = replicas
    elif capacity.load <= 0:
        return None, f"no number of replicas holds: {capacity.note}"
    else:
        start = guessed_replicas(axis.offered, capacity.load, replicas)
    found = fewest(runs.with_replicas, start, {replicas: offered.holds})
    return found, "" if found else f"even many times {start} replicas do not hold: {offered.worst} is over its limit"


def to_json_ready(result: StudyResult) -> dict[str, Any]:
    """The study as plain JSON values: no numpy types, no tuples, None for what is not a finite number."""
    report = result.report
    found = {
        "scenario": report.scenario,
        "provenance": report.provenance,
        "rows": report.rows,
        "replications": report.replications,
        "comparison": result.comparison,
        "economics": result.economics,
        "evidence": result.evidence,
    }
    ready: dict[str, Any] = plain(found)
    return ready
