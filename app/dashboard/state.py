"""The scenario that a browser looks at: one mapping, which controls, files and links edit alike.

Widgets show what the mapping says and edit it by `apply`; they hold nothing of their own.
"""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from app.dashboard.document import FILE, checked, edited, from_mapping, mapping_of
from scenarios.files import builtin_names
from scenarios.load import LoadedScenario, load_scenario
from simulator.errors import SimulatorError
from simulator.spec.scenario import Scenario

DEFAULT = "h200_vs_b200_chat"
"""What is open at first."""

LOADED, ORIGIN, POINT, PROBLEM = "specfleet_loaded", "specfleet_origin", "specfleet_point", "specfleet_problem"
"""Keys of the session."""


def loaded() -> LoadedScenario:
    """The checked scenario of this browser; a built-in one until it opens another."""
    if LOADED not in st.session_state:
        open_built_in(DEFAULT)
    found: LoadedScenario = st.session_state[LOADED]
    return found


def current() -> Scenario:
    """The scenario that pages show: the chosen point of the sweep, or the only one."""
    points = loaded().points
    return points[min(point(), len(points) - 1)].scenario


def point() -> int:
    """Number of the chosen point of the sweep."""
    return int(st.session_state.get(POINT, 0))


def choose_point(number: int) -> None:
    """Show another point of the sweep."""
    st.session_state[POINT] = number


def origin() -> str:
    """Where the scenario was opened from: the name of a built-in one, `link`, or the name of a file."""
    loaded()
    return str(st.session_state[ORIGIN])


def mapping() -> dict[str, Any]:
    """The scenario as a mapping, deployments written out: what a file and a link hold."""
    return mapping_of(loaded())


def apply(changes: Mapping[str, Any]) -> None:
    """Put values at dotted paths, all or none; the reason on top of the page when the scenario does not take them."""
    try:
        st.session_state[LOADED] = edited(loaded(), changes)
    except SimulatorError as error:
        tell(str(error))


def replace(new: Mapping[str, Any], origin: str = FILE) -> None:
    """Take another scenario; SimulatorError when it is not a valid one."""
    _open(from_mapping(new), origin)


def replace_text(text: str, file: str = FILE) -> None:
    """Take another scenario from the text of a file; SimulatorError when it is not a valid one."""
    _open(from_mapping(mapping_of(checked(text, file))), file)


def open_built_in(name: str) -> None:
    """Take a built-in scenario."""
    _open(from_mapping(mapping_of(load_scenario(name))), name)


def built_ins() -> list[str]:
    """Names of the built-in scenarios."""
    return builtin_names()


def tell(problem: str) -> None:
    """Say on top of the page what could not be done."""
    st.session_state[PROBLEM] = problem


def take_problem() -> str | None:
    """What could not be done, once."""
    problem: str | None = st.session_state.pop(PROBLEM, None)
    return problem


def _open(found: LoadedScenario, origin: str) -> None:
    st.session_state[LOADED], st.session_state[ORIGIN], st.session_state[POINT] = found, origin, 0
