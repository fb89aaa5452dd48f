"""Estimates of a scenario, kept by what they follow from, so that an edit of one deployment costs that one alone."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from simulator.outcome.plain import plain
from simulator.outcome.report import Row
from simulator.planning.comparison import compare
from simulator.planning.model_error import ModelError, estimate_with_error
from simulator.planning.provenance import provenance
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
    known = {name: _row(alone(scenario, name), name) for name in scenario.deployments}
    errors = {name: error for name, (_, error) in known.items() if error is not None}
    rows = [row for row, _ in known.values()]
    origin = provenance(scenario) | {"method": "steady state", "replications": None}
    found = plain({"rows": rows, "comparison": compare(rows, (), errors), "provenance": origin})
    return Answer(scenario, found["rows"], found["comparison"], found["provenance"], "estimated")


def alone(scenario: Scenario, name: str) -> str:
    """All that one deployment's estimate follows from, as text."""
    only = {name: scenario.deployments[name]}
    found = scenario.model_copy(update={"deployments": only, "name": "any", "description": ""})
    return found.model_dump_json(exclude_unset=True)


@lru_cache(maxsize=1024)
def _row(document: str, name: str) -> tuple[Row, ModelError | None]:
    return estimate_with_error(Scenario.model_validate_json(document), name)
