"""Scenarios as a command takes them: loaded, and possible on their hardware."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scenarios.load import LoadedScenario


def load(path_or_name: str, sets: Sequence[str] = ()) -> "LoadedScenario":
    """Load a scenario; ScenarioError also for what no hardware can do, at any point of the sweep."""
    from scenarios.load import load_scenario
    from simulator.errors import ScenarioError
    from simulator.outcome.cost import resolve_price
    from simulator.physics.checks import check_deployment

    loaded = load_scenario(path_or_name, sets)
    problems: dict[str, None] = {}
    for point in loaded.points:
        for name, deployment in point.scenario.deployments.items():
            resolve_price(deployment)
            problems |= dict.fromkeys(check_deployment(name, deployment))
    if problems:
        where = loaded.path.name if loaded.path is not None else loaded.name
        raise ScenarioError("\n".join(f"{where}: deployments.{problem}" for problem in problems))
    return loaded


def expand(arguments: Sequence[str]) -> tuple[list[str], bool]:
    """The scenarios that arguments name, and whether they are a batch: a folder, or several of them."""
    from pathlib import Path

    from scenarios.files import find_scenarios

    found = list(dict.fromkeys(path for argument in arguments for path in find_scenarios(argument)))
    return found, len(found) > 1 or any(Path(argument).is_dir() for argument in arguments)
