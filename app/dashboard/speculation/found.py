"""What the sections of the page Speculation show, kept by what it follows from. Knows nothing of pages."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic import ValidationError

from app.dashboard.estimates import alone
from scenarios.possible_drafts import impossible_drafts
from simulator.errors import ScenarioError
from simulator.planning.draft_schedule import DraftSchedule, draft_schedule
from simulator.planning.in_flight import InFlight, in_flight
from simulator.planning.speculation_gain import without_draft
from simulator.planning.when import Surface, surface
from simulator.spec.deployment import Deployment
from simulator.spec.scenario import Scenario
from simulator.spec.speculation import DraftSpeculation

PLAIN = "no-draft"
"""Name of the deployment that the others are held against."""


def with_speculation(scenario: Scenario, name: str, speculation: object) -> Scenario:
    """The scenario with one deployment alone, that drafts as a file says; ScenarioError where that is not possible."""
    return scenario.model_copy(update={"deployments": {name: _drafting(scenario, name, speculation)}})


def each(scenario: Scenario, name: str, speculations: Mapping[str, Mapping[str, Any]]) -> Scenario:
    """The scenario with a deployment without a draft, and one for each way to speculate, else like the named one.

    Raises ScenarioError where one is not possible.
    """
    found = {PLAIN: without_draft(scenario.deployments[name])}
    for way, speculation in speculations.items():
        found[way] = _drafting(scenario, name, speculation).model_copy(update={"economics": None})
    changed = scenario.model_copy(update={"deployments": found})
    return _read(changed.model_dump_json(exclude_unset=True))


def flight_of(scenario: Scenario, name: str) -> InFlight:
    """What a replica of a deployment does by the sequences that it holds; ScenarioError when it does not fit."""
    return _flight(alone(scenario, name), name)


def schedule_of(scenario: Scenario, name: str) -> DraftSchedule:
    """The best K of a deployment by batch and context; ScenarioError when it does not fit."""
    return _schedule(alone(scenario, name), name)


def surface_of(scenario: Scenario, name: str) -> Surface:
    """When one draft pays, by batch and acceptance; ScenarioError when it does not fit."""
    return _surface(alone(scenario, name), name)


@lru_cache(maxsize=256)
def _flight(document: str, name: str) -> InFlight:
    return in_flight(_read(document), name)


@lru_cache(maxsize=64)
def _schedule(document: str, name: str) -> DraftSchedule:
    return draft_schedule(_read(document), name)


@lru_cache(maxsize=64)
def _surface(document: str, name: str) -> Surface:
    return surface(_read(document), name)


def _drafting(scenario: Scenario, name: str, speculation: object) -> Deployment:
    try:
        drafting = DraftSpeculation.model_validate(speculation)
    except ValidationError as error:
        raise ScenarioError(_said(error)) from None
    changed = scenario.deployments[name].model_copy(update={"speculation": drafting})
    for _, told in impossible_drafts(changed, scenario.workload):
        raise ScenarioError(told)
    return changed


def _read(document: str) -> Scenario:
    try:
        return Scenario.model_validate_json(document)
    except ValidationError as error:
        raise ScenarioError(_said(error)) from None


def _said(error: ValidationError) -> str:
    """What is wrong, without the place, which the reader has not written."""
    return "; ".join(str(one["msg"]).removeprefix("Value error, ") for one in error.errors())
