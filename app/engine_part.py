"""Parts of the project that run its engine: imported only by the commands that need them."""

from importlib import import_module
from typing import Any


def engine_part(name: str) -> Any:
    """A module that runs the engine, by its full name; without PyTorch, what to install."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        from simulator.errors import ScenarioError

        raise ScenarioError(
            f"this needs the engine, which needs {error.name}: pip install 'specfleet[engine]'"
        ) from None
