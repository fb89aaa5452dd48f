"""Scenarios as a command takes them: loaded, and possible on their hardware."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scenarios.load import LoadedScenario


def load(path_or_name: str, sets: Sequence[str] = ()) -> "LoadedScenario":
    """Load a scenario; ScenarioError for all that is wrong with it, what no hardware can do included."""
    from scenarios.load import load_scenario

    return load_scenario(path_or_name, sets)


def expand(arguments: Sequence[str]) -> tuple[list[str], bool]:
    """The scenarios that arguments name, and whether they are a batch: a folder, or several of them."""
    from pathlib import Path

    from scenarios.files import find_scenarios

    found = list(dict.fromkeys(path for argument in arguments for path in find_scenarios(argument)))
    return found, len(found) > 1 or any(Path(argument).is_dir() for argument in arguments)
