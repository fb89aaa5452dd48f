"""Curves, ledgers and speculation maps of a scenario, kept by what they follow from; pages only draw them."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from app.dashboard.estimates import alone
from simulator.physics.ledger import memory_ledger
from simulator.planning.load_curve import LoadCurve, SteadyLoads, curve_at, steady_loads
from simulator.planning.speculation_gain import SpeculationGrid, speculation_grid
from simulator.spec.deployment import Deployment
from simulator.spec.scenario import Scenario

STEADY = ("poisson", "constant", "gamma")
"""Arrivals at one rate."""


def curve_of(scenario: Scenario, name: str) -> LoadCurve:
    """The estimated load curve of a deployment that fits."""
    return _curve(alone(scenario, name), name)


def grid_of(scenario: Scenario, name: str) -> SpeculationGrid:
    """Step times of a deployment by sequences and K; ScenarioError when it does not fit."""
    return _grid(alone(scenario, name), name)


def ledger_of(deployments: Mapping[str, Deployment]) -> list[dict[str, Any]]:
    """The HBM ledger of each GPU role, as plain values."""
    return [asdict(row) for name, deployment in deployments.items() for row in memory_ledger(name, deployment)]


@lru_cache(maxsize=256)
def _curve(document: str, name: str) -> LoadCurve:
    scenario = Scenario.model_validate_json(document)
    return curve_at(_steady(alone(_whatever_load(scenario, name), name), name), scenario, name)


@lru_cache(maxsize=128)
def _steady(document: str, name: str) -> SteadyLoads:
    return steady_loads(Scenario.model_validate_json(document), name)


def _whatever_load(scenario: Scenario, name: str) -> Scenario:
    """The scenario with a price of 1, and a rate of 1 where arrivals are steady: neither moves a steady state."""
    spec, workload = scenario.deployments[name], scenario.workload
    if workload.arrivals.kind in STEADY:
        arrivals = workload.arrivals.model_copy(update={"rate_per_s": 1.0})
        workload = workload.model_copy(update={"arrivals": arrivals})
    deployments = {name: spec.model_copy(update={"price": 1.0})}
    return scenario.model_copy(update={"workload": workload, "deployments": deployments})


@lru_cache(maxsize=256)
def _grid(document: str, name: str) -> SpeculationGrid:
    return speculation_grid(Scenario.model_validate_json(document), name)
