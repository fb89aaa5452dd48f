"""Curves, ledgers and speculation maps of a scenario, kept by what they follow from; pages only draw them."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from app.dashboard.estimates import alone, steady_state, without_rate_and_price
from simulator.physics.ledger import memory_ledger
from simulator.planning.load_curve import LoadCurve, curve_at, steady_loads
from simulator.planning.speculation_gain import SpeculationGrid, speculation_grid
from simulator.planning.steady_cluster import Load
from simulator.spec.deployment import Deployment
from simulator.spec.scenario import Scenario


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
    steady = without_rate_and_price(scenario, name)
    return curve_at(steady_state(steady, name), _loads(steady, name), scenario, name)


@lru_cache(maxsize=128)
def _loads(document: str, name: str) -> list[Load]:
    return steady_loads(steady_state(document, name))


@lru_cache(maxsize=256)
def _grid(document: str, name: str) -> SpeculationGrid:
    return speculation_grid(Scenario.model_validate_json(document), name)
