"""Whether so many replicas hold the load in simulation: replications one after the other until it is clear.

A size holds where the 95 % interval of the share of replications that hold (Wilson) lies above one half, and does not
where it lies below, which takes at least four of them; one that is not clear after the most replications counts as not
holding, so that what is bought holds for sure more often than not. Replication r sees the same requests and luck
whatever the candidate and its size.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil
from statistics import fmean
from typing import NamedTuple

from simulator.outcome.aggregate import aggregate_rows
from simulator.outcome.interval import wilson
from simulator.outcome.report import Row, replication_row
from simulator.outcome.slo import Verdict, verdict
from simulator.planning.capacity import STAYS
from simulator.planning.context import row_context
from simulator.planning.model_error import model_error, widened
from simulator.planning.replication import Simulate
from simulator.planning.tasks import run_all
from simulator.run import step_times_of
from simulator.spec.scenario import Scenario

AT_FIRST = 4
"""Replications that are simulated at once: fewer are never clear."""

AT_A_TIME = 2
"""Replications by which more are added."""

MOST_TIMES = 2
"""Most replications ÷ those of the scenario."""


@dataclass(frozen=True, slots=True)
class Run:
    """One replication of one cluster; picklable."""

    scenario: Scenario
    """Of this cluster alone, with its replicas, at the load that is offered to it."""
    deployment: str
    replication: int
    rate_per_s: float
    """Load that is simulated [requests/s]."""
    simulate: Simulate


class Outcome(NamedTuple):
    """What came of a run."""

    verdict: Verdict
    row: Row


def run(task: Run) -> Outcome:
    """Simulate."""
    scenario, name = task.scenario, task.deployment
    records = task.simulate(scenario, name, task.replication, rate_per_s=task.rate_per_s)
    row = replication_row(
        records,
        row_context(scenario, name, "base"),
        task.replication,
        model=step_times_of(scenario.deployments[name], scenario.workload),
        offered_req_per_s=task.rate_per_s,
    )
    return Outcome(verdict(records, scenario.slo, open_loop=True), row)


@dataclass(frozen=True, slots=True)
class Tried:
    """A size of a candidate, simulated."""

    scenario: Scenario
    """Of this cluster alone, at the load that is offered to it."""
    offered_req_per_s: float
    needed_req_per_s: float
    """Load that must hold, the headroom in it."""
    outcomes: tuple[Outcome, ...]
    """By replication, at that load."""

    @property
    def held(self) -> int:
        """Replications that hold."""
        return sum(outcome.verdict.holds for outcome in self.outcomes)

    @property
    def holds(self) -> bool:
        """Whether it counts as holding: clearly, or in every one of too few replications to be clear."""
        return answer(self.held, len(self.outcomes)) is True or self.held == len(self.outcomes)

    @property
    def replications_left(self) -> int:
        """Replications that there may be beyond those that were simulated."""
        return MOST_TIMES * self.scenario.replications - len(self.outcomes)

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the share of replications that hold."""
        return wilson(self.held, len(self.outcomes))

    @property
    def worst(self) -> str:
        """What goes furthest beyond its limit in most replications that fail, as `ttft_s.p95`.

        Where none fails, what comes nearest to it in most.
        """
        failed = [outcome for outcome in self.outcomes if not outcome.verdict.holds]
        return Counter(outcome.verdict.worst for outcome in failed or self.outcomes).most_common(1)[0][0]

    @property
    def too_short(self) -> list[str]:
        """Why its verdict is not to be trusted: a replication ends before the backlog of an overload could show."""
        stays = [
            mean for outcome in self.outcomes if (mean := (outcome.row.get("e2e_s") or {}).get("mean")) is not None
        ]
        horizon = self.scenario.workload.horizon
        window_s = (horizon.requests - horizon.warmup_requests) / self.needed_req_per_s
        least_s = STAYS * fmean(stays) if stays else 0.0
        if window_s >= least_s:
            return []
        requests = ceil(least_s * self.needed_req_per_s) + horizon.warmup_requests
        return [
            f"a replication lasts {window_s:.2g} s, under {STAYS:g} mean stays of a request, too short to be sure: ask "
            f"for workload.horizon.requests of {requests:,} or more"
        ]

    @property
    def pressure(self) -> float:
        """Latency ÷ limit of what is worst, mean over the replications."""
        return sum(outcome.verdict.pressure for outcome in self.outcomes) / len(self.outcomes)


def answer(held: int, replications: int) -> bool | None:
    """Whether a size holds, from the replications that did; None while that is not clear.

    >>> answer(4, 4), answer(0, 4), answer(3, 4), answer(7, 8)
    (True, False, None, True)
    """
    low, high = wilson(held, replications)
    return True if low > 0.5 else False if high < 0.5 else None


@dataclass(frozen=True, slots=True)
class Runner:
    """Simulates replications of a cluster."""

    simulate: Simulate
    executor: Executor | None = None
    did: Callable[[Run], None] = lambda task: None
    """Called with each run that is done."""

    def __call__(self, scenario: Scenario, rate_per_s: float, replications: range) -> tuple[Outcome, ...]:
        """Replications of a scenario's only deployment at a load [requests/s]."""
        (name,) = scenario.deployments
        runs = [Run(scenario, name, replication, rate_per_s, self.simulate) for replication in replications]
        return tuple(run_all(run, runs, self.executor, self.did))


def tried(runner: Runner, scenario: Scenario, offered_req_per_s: float, needed_req_per_s: float) -> Tried:
    """Simulate a cluster until it is clear whether it holds.

    scenario: of this cluster alone, with its replicas, at the load that is offered to it.
    """
    outcomes: tuple[Outcome, ...] = ()
    for batch in batches(scenario.replications):
        outcomes += runner(scenario, needed_req_per_s, batch)
        if answer(sum(outcome.verdict.holds for outcome in outcomes), len(outcomes)) is not None:
            break
    return Tried(scenario, offered_req_per_s, needed_req_per_s, outcomes)


def in_full(runner: Runner, size: Tried) -> Tried:
    """The same with all the replications that there may be, however clear it was."""
    left = range(len(size.outcomes), len(size.outcomes) + size.replications_left)
    return replace(size, outcomes=size.outcomes + runner(size.scenario, size.needed_req_per_s, left))


def batches(replications: int) -> Sequence[range]:
    """Replications that are simulated together, one batch after the other.

    >>> batches(3)
    [range(0, 4), range(4, 6)]
    >>> batches(1)
    [range(0, 2)]
    """
    most = MOST_TIMES * replications
    edges = [0, *range(AT_FIRST, most, AT_A_TIME), most]
    return [range(start, end) for start, end in pairwise(edges)]


def figures(runner: Runner, size: Tried) -> Row:
    """A size's figures at the load that is offered, over as many replications, with the step model's error.

    Where that load is the one that must hold, nothing is simulated anew.
    """
    (name,) = size.scenario.deployments
    outcomes = size.outcomes
    if size.needed_req_per_s != size.offered_req_per_s:
        outcomes = runner(size.scenario, size.offered_req_per_s, range(len(outcomes)))
    row = aggregate_rows([outcome.row for outcome in outcomes])
    return widened(row, model_error(size.scenario, name))
