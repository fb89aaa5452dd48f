"""A plan: from a load and a latency target to the cheapest cluster that holds it.

Bounds leave out candidates that cannot hold, or cost too much whatever the load does; estimates give each of the rest
its fewest replicas; simulations under common random streams confirm those that might be the cheapest, and some of the
Pareto set. Same scenario and question, same answer, whatever executor the work runs on.
"""

import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import Executor
from math import inf
from typing import Any

from simulator.planning.draft_schedule import draft_schedule
from simulator.planning.provenance import provenance
from simulator.planning.replication import Simulate
from simulator.planning.search.answer import PlanResult
from simulator.planning.search.appraisal import Appraisal
from simulator.planning.search.asked import alone, at_rate
from simulator.planning.search.confirm import confirmed, expected_units, settled
from simulator.planning.search.field import ROUNDING, Field, field_of
from simulator.planning.search.flip import best, binds, flips, runner_up
from simulator.planning.search.pareto import front
from simulator.planning.search.points import Point, points_of
from simulator.planning.search.ranking import anew, appraisals
from simulator.planning.search.relax import nearest, ways_out
from simulator.planning.search.rivals import Confirmed, rivals_of
from simulator.planning.search.sureness import confidence
from simulator.planning.tasks import Meter, Progress
from simulator.run import simulate_once, with_best_trees
from simulator.spec.plan import Plan
from simulator.spec.scenario import Scenario

LATENCY_ERROR = 0.1
"""Share by which an estimated latency counts as longer beside simulated ones: that much of a difference is none."""


def plan(
    scenario: Scenario,
    question: Plan,
    executor: Executor | None = None,
    progress: Progress | None = None,
    *,
    simulate: Simulate = simulate_once,
) -> PlanResult:
    """Search for the cheapest cluster that holds the load of a scenario.

    scenario: its deployments are the candidates; their replicas mean nothing.
    executor: where the work runs; None: here, one after the other.
    progress: called with the units done and those there are, a unit being an estimate or as much simulation.

    Raises ScenarioError for a load that no plan can be for, CatalogError where a price is missing.
    """
    started = time.perf_counter()
    scenario = with_best_trees(scenario)
    field = field_of(scenario, question, executor, Meter(progress, len(scenario.deployments)), simulate)
    found, done = _searched(field)
    points = points_of(field, found, done)
    choice = _choice(field, points)
    ways = [] if choice is not None else ways_out(field, found, done)
    field.meter.expect(0)
    return PlanResult(
        scenario=scenario,
        question=question,
        points=points,
        choice=choice,
        **_beside(field, choice, points),
        counts=_counts(points),
        confidence=None if choice is None else confidence(field, choice, found, done),
        nearest=None if choice is not None else nearest(field, found, ways, {of.name: of.why_not for of in points}),
        relax=[way.as_json(field) for way in ways],
        draft_schedule=None if choice is None else _schedule(choice, scenario),
        seconds=time.perf_counter() - started,
    )


def _searched(field: Field) -> tuple[dict[str, Appraisal], dict[str, Confirmed]]:
    """Appraisals and simulations; what was left out is asked again where it might be cheaper than all that hold."""
    field.meter.expect(len(field.twins) + expected_units(field, field.question.confirm))
    found = appraisals(field)
    done = confirmed(field, found, {})
    best = _least(field, found, done)
    left = [
        name
        for name, of in found.items()
        if of.bound is not None and of.bound.misses is None and not of.asked
        if field.usd_per_hour(name, of.least_replicas) * ROUNDING < best
    ]
    if left:
        found |= anew(field, left)
        done = confirmed(field, found, done)
    return found, choice_in_full(field, found, done)


def choice_in_full(field: Field, found: Mapping[str, Appraisal], done: Mapping[str, Confirmed]) -> dict[str, Confirmed]:
    """Simulations in which the choice has had all its replications, and is still the choice."""
    of = dict(done)
    kinds = {name: kind for kind, names in field.twins.items() for name in names}
    while True:
        choice = _choice(field, points_of(field, found, of))
        if choice is None or choice.tried is None or not choice.tried.replications_left:
            return of
        kind = kinds[choice.name]
        estimated = found[kind].estimated
        assert estimated is not None, "only what may hold is simulated"
        of[kind] = settled(field, kind, estimated, of[kind])


def _least(field: Field, found: Mapping[str, Appraisal], done: Mapping[str, Confirmed]) -> float:
    """Cost of what would be chosen now; inf where nothing would be [USD/h]."""
    if field.question.confirm:
        return rivals_of(field, found, done).least_cost()
    return min((p.cost for p in points_of(field, found, done) if p.holds), default=inf)


def _choice(field: Field, points: tuple[Point, ...]) -> Point | None:
    """The cheapest that holds: in simulation, unless nothing was to be simulated."""
    trusted = [point for point in points if point.holds and (point.method == "simulated" or not field.question.confirm)]
    return best(field, trusted)


def _figures(field: Field, point: Point) -> tuple[float, float, float]:
    """What the Pareto set compares."""
    assert point.num_gpus is not None
    assert point.row is not None
    longer = LATENCY_ERROR if field.question.confirm and point.method == "estimated" else 0.0
    return point.cost, float(point.num_gpus), field.latency.of(point.row) * (1.0 + longer)


def _beside(field: Field, choice: Point | None, points: tuple[Point, ...]) -> dict[str, Any]:
    """What is told beside the choice."""
    pareto = tuple(front({point.name: _figures(field, point) for point in points if point.holds}))
    others = {
        f"{which}_gpu": None if choice is None else runner_up(field, choice, points, same_gpu=which == "same")
        for which in ("other", "same")
    }
    second = others["other_gpu"] or others["same_gpu"]
    told = dict.fromkeys([point.name for point in (choice, second) if point is not None] + list(pareto))
    known = {name: field.scenario.deployments[name] for name in told or _one_of_each_gpu(field)}
    return {
        "runner_up": second,
        "runner_ups": {which: None if point is None else point.name for which, point in others.items()},
        "pareto": pareto,
        "latency": field.latency,
        "flip": [] if choice is None else flips(field, choice, points),
        "binds": None if choice is None else binds(choice),
        "provenance": provenance(field.scenario.model_copy(update={"deployments": known})),
    }


def _one_of_each_gpu(field: Field) -> list[str]:
    """The first candidate of each GPU type: where nothing holds, no more is told of what the figures rest on."""
    first: dict[str, str] = {}
    for name, spec in field.scenario.deployments.items():
        first.setdefault(spec.gpu, name)
    return list(first.values())


def _counts(points: tuple[Point, ...]) -> dict[str, int]:
    """What became of the candidates."""
    by_method = Counter(point.method for point in points)
    bounded, estimated, simulated = (by_method[method] for method in ("bound", "estimated", "simulated"))
    return {"candidates": len(points), "bounded": bounded, "estimated": estimated, "simulated": simulated}


def _schedule(choice: Point, scenario: Scenario) -> dict[str, Any]:
    """Best K by batch and context of the choice, at the load that it gets."""
    assert choice.replicas is not None
    assert choice.offered_req_per_s is not None
    served = at_rate(alone(scenario, choice.name, choice.replicas), choice.offered_req_per_s)
    return draft_schedule(served, choice.name).as_json()
