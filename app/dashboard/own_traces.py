"""The traces that a browser may name: what it uploaded, what the server has, and the sample."""

from contextlib import suppress
from pathlib import Path

import streamlit as st

from app.dashboard.traces import SAMPLE, TraceStore, folder_traces, without_folders
from simulator.errors import ScenarioError
from simulator.spec.scenario import Scenario

UPLOADED = "specfleet_traces"
"""Key of the session: the traces that this browser uploaded, by name."""


@st.cache_resource(show_spinner=False)
def _store() -> TraceStore:
    """The uploaded traces of all browsers of this server."""
    return TraceStore()


def known() -> dict[str, Path]:
    """Name → file of all that this browser may replay; its own take the place of the server's."""
    sample: dict[str, Path] = {}
    with suppress(OSError):
        sample = {SAMPLE: _store().sample()}
    return sample | folder_traces() | uploaded()


def uploaded() -> dict[str, Path]:
    """What this browser uploaded, as far as the server still has it."""
    found: dict[str, Path] = st.session_state.get(UPLOADED, {})
    return {name: path for name, path in found.items() if path.exists()}


def named(text: str) -> str:
    """A file to take away, which names a trace and not where it lies on the server."""
    return without_folders(text, known())


def add(name: str, data: bytes) -> str:
    """Keep an uploaded trace; the name by which a scenario may say it. ScenarioError where that cannot be done."""
    try:
        path = _store().add(name, data)
    except OSError as error:
        way_out = "free room in its temporary folder, or put the trace into the folder of --traces"
        raise ScenarioError(f"{name}: this server cannot keep it: {error.strerror}; {way_out}") from None
    st.session_state[UPLOADED] = {**st.session_state.get(UPLOADED, {}), path.name: path}
    return path.name


def replayed(scenario: Scenario) -> str | None:
    """Name of the trace that a scenario replays; None where its requests are drawn."""
    arrivals = scenario.workload.arrivals
    return Path(arrivals.file).name if arrivals.kind == "trace" else None


def is_uploaded(scenario: Scenario) -> bool:
    """Whether a scenario replays what this browser uploaded, which nobody else has."""
    arrivals = scenario.workload.arrivals
    return arrivals.kind == "trace" and Path(arrivals.file) in uploaded().values()


def is_gone(scenario: Scenario) -> bool:
    """Whether a scenario replays a trace that the server no longer has."""
    arrivals = scenario.workload.arrivals
    return arrivals.kind == "trace" and not Path(arrivals.file).is_file()
