"""One replication of one deployment: its offered load, its capacity and its fleet, by runs that share nothing.

Knows nothing of other replications: that is what lets them run anywhere and in any order.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

import numpy as np

from simulator.cluster.records import ClusterRecords
from simulator.outcome.evidence import Evidence, run_evidence, trial_evidence
from simulator.outcome.report import Planned, Row, replication_row
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
from simulator.planning.context import row_context
from simulator.planning.curve import FILLED, loads_to_fill, shortened
from simulator.planning.fleet import fewest, guessed_replicas
from simulator.run import step_times_of
from simulator.spec.scenario import Scenario

Simulate = Callable[..., ClusterRecords]
"""simulate_once, or what stands in for it in tests."""


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
