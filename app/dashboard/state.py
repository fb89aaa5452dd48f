"""The scenario that a browser looks at, and what it asks of it: what controls, files and links edit alike.

Widgets show what the mapping says and edit it by `apply`; they hold nothing of their own.
"""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from app.dashboard import own_traces
from app.dashboard.document import FILE, checked, edited, from_mapping, mapping_of, with_named_trace
from app.dashboard.plan_question import Question, first_question
from app.dashboard.planned import read_plan
from scenarios.files import asks_plan, builtin_names, builtin_plans, read_source
from scenarios.load import LoadedScenario
from simulator.errors import SimulatorError
from simulator.spec.scenario import Scenario

DEFAULT = "h200_vs_b200_chat"
"""What is open at first."""

LOADED, ORIGIN, POINT, PROBLEM = "specfleet_loaded", "specfleet_origin", "specfleet_point", "specfleet_problem"
ASKED = "specfleet_question"
"""Keys of the session."""


def loaded() -> LoadedScenario:
    """The checked scenario of this browser; a built-in one until it opens another."""
    if LOADED not in st.session_state:
        open_built_in(DEFAULT)
    elif own_traces.is_gone(st.session_state[LOADED].points[0].scenario):
        open_built_in(DEFAULT)
        tell("The server no longer has the trace that was replayed: upload it once more on the page Load.")
    found: LoadedScenario = st.session_state[LOADED]
    return found


def current() -> Scenario:
    """The scenario that pages show: the chosen point of the sweep, or the only one."""
    return loaded().points[point()].scenario


def point() -> int:
    """Number of the chosen point of the sweep."""
    return min(int(st.session_state.get(POINT, 0)), len(loaded().points) - 1)


def choose_point(number: int) -> None:
    """Show another point of the sweep."""
    st.session_state[POINT] = number


def question() -> Question:
    """What the page Plan asks of the scenario."""
    return asked() or first_question(current())


def asked() -> Question | None:
    """The question that this browser put together or opened; None where it asks what is asked at first."""
    found: Question | None = st.session_state.get(ASKED)
    return found


def ask(question: Question | None) -> None:
    """Take another question; None: what is asked at first."""
    st.session_state[ASKED] = question


def origin() -> str:
    """Where the scenario was opened from: the name of a built-in one, `link`, or the name of a file."""
    loaded()
    return str(st.session_state[ORIGIN])


def mapping() -> dict[str, Any]:
    """The scenario as a mapping, deployments written out: what a file and a link hold."""
    return mapping_of(loaded())


def mapping_of_point() -> dict[str, Any]:
    """The scenario of the chosen point alone, as a mapping."""
    found = loaded()
    base = with_named_trace({key: value for key, value in found.base.items() if key != "sweep"})
    label, traces = found.points[point()].label, own_traces.known()
    return mapping_of(edited(from_mapping(base, traces), label, traces)) if label else base


def apply(changes: Mapping[str, Any]) -> None:
    """Put values at dotted paths, all or none; the reason on top of the page when the scenario does not take them."""
    try:
        st.session_state[LOADED] = edited(loaded(), changes, own_traces.known())
    except SimulatorError as error:
        tell(str(error))


def replace(new: Mapping[str, Any], origin: str = FILE) -> None:
    """Take another scenario; SimulatorError when it is not a valid one."""
    _open(from_mapping(new, own_traces.known()), origin)


def replace_text(text: str, file: str = FILE) -> None:
    """Take another scenario, or a plan, from the text of a file; SimulatorError when it is not a valid one."""
    traces = own_traces.known()
    if asks_plan(text):
        scenario, asks = read_plan(text, file, traces)
        _open(from_mapping(with_named_trace(scenario), traces), file, asks)
    else:
        _open(from_mapping(mapping_of(checked(text, file, traces)), traces), file)


def open_built_in(name: str) -> None:
    """Take a built-in scenario, or a built-in plan."""
    replace_text(read_source(name).text, name)


def built_ins() -> list[str]:
    """Names of the built-in scenarios, then of the built-in plans."""
    return [*builtin_names(), *builtin_plans()]


def tell(problem: str) -> None:
    """Say on top of the page what could not be done."""
    st.session_state[PROBLEM] = problem


def take_problem() -> str | None:
    """What could not be done, once."""
    problem: str | None = st.session_state.pop(PROBLEM, None)
    return problem


def _open(found: LoadedScenario, origin: str, asks: Question | None = None) -> None:
    st.session_state[LOADED], st.session_state[ORIGIN], st.session_state[POINT] = found, origin, 0
    st.session_state[ASKED] = asks
