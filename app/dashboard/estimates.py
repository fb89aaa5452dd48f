"""Estimates of a scenario, kept by what they follow from, so that an edit of one deployment costs that one alone."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from simulator.outcome.plain import plain
from simulator.outcome.report import Row
from simulator.planning.comparison import compare
from simulator.planning.context import why_unfit
from simulator.planning.kept import STEADY
from simulator.planning.model_error import ModelError, clusters_of, estimate_from, estimate_with_error
from simulator.planning.provenance import provenance
from simulator.planning.steady_cluster import SteadyCluster
from simulator.spec.scenario import Scenario

Method = Literal["estimated", "simulated"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What is known of a scenario, in the shapes of `run --json`."""

    scenario: Scenario
    rows: list[dict[str, Any]]
    """One a deployment, in the scenario's order."""
    comparison: dict[str, Any]
    provenance: dict[str, Any]
    method: Method
    replications: list[dict[str, Any]] = field(default_factory=list)
    """Rows by replication; empty for an estimate."""
    evidence: dict[str, Any] = field(default_factory=dict)
    """By deployment, what figures draw (simulator/outcome/evidence.py); empty for an estimate."""


def estimated(scenario: Scenario) -> Answer:
    """The steady state of every deployment, as wide as the model has been wrong, and their comparison."""
    return _answer(scenario.model_dump_json(exclude_unset=True))


@lru_cache(maxsize=64)
def _answer(document: str) -> Answer:
    scenario = Scenario.model_validate_json(document)
    known = {name: _row(alone(scenario, name), name) for name in scenario.deployments}
    errors = {name: error for name, (_, error) in known.items() if error is not None}
    rows = [row for row, _ in known.values()]
    origin = provenance(scenario) | {"method": "steady state", "replications": None}
    found = plain({"rows": rows, "comparison": compare(rows, (), errors), "provenance": origin})
    return Answer(scenario, found["rows"], found["comparison"], found["provenance"], "estimated")


def row_of(scenario: Scenario, name: str) -> dict[str, Any]:
    """The estimated row of one deployment, in the shape of `run --json`; SimulatorError where there is none."""
    found: dict[str, Any] = plain(_row(alone(scenario, name), name)[0])
    return found


def alone(scenario: Scenario, name: str) -> str:
    """All that one deployment's estimate follows from, as text."""
    only = {name: scenario.deployments[name]}
    found = scenario.model_copy(update={"deployments": only, "name": "any", "description": ""})
    return found.model_dump_json(exclude_unset=True)


@lru_cache(maxsize=512)
def _row(document: str, name: str) -> tuple[Row, ModelError | None]:
    scenario = Scenario.model_validate_json(document)
    if why_unfit(scenario, name):
        return estimate_with_error(scenario, name)
    return estimate_from(scenario, name, clusters_of(scenario, name))


def steady_state(document: str, name: str) -> SteadyCluster:
    """The steady state of a deployment that fits, by what `without_rate_and_price` says of it."""
    return clusters_of(Scenario.model_validate_json(document), name).middle


def without_rate_and_price(scenario: Scenario, name: str) -> str:
    """What the steady states of a deployment follow from, as text: those moves are the most frequent ones."""
    arrivals, spec = scenario.workload.arrivals, scenario.deployments[name]
    if arrivals.kind in STEADY:
        arrivals = arrivals.model_copy(update={"rate_per_s": 1.0})
    workload = scenario.workload.model_copy(update={"arrivals": arrivals})
    deployments = {name: spec.model_copy(update={"price": 1.0})}
    return alone(scenario.model_copy(update={"workload": workload, "deployments": deployments}), name)
