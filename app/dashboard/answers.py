"""What pages show of the current scenario: the simulation where there is one, else the estimate."""

from uuid import uuid4

import streamlit as st

from app.dashboard import simulations, state
from app.dashboard.estimates import Answer, estimated
from app.dashboard.jobs import Compute, Job, Jobs
from scenarios.executors import cores
from scenarios.store import point_hash
from simulator.errors import SimulatorError

JOB, OWNER = "specfleet_job", "specfleet_owner"
"""Keys of the session."""


def answer() -> Answer:
    """The best that is known of the current scenario: simulated if that has been done, else estimated."""
    scenario = state.current()
    return all_jobs().kept(point_hash(scenario)) or estimated(scenario)


def estimate() -> Answer:
    """The estimate of the current scenario, whatever has been simulated."""
    return estimated(state.current())


def stale() -> Answer | None:
    """This browser's last simulation, if the scenario has changed since; None where none was done or it still holds."""
    job = last_job()
    if job is None or job.key == point_hash(state.current()):
        return None
    found: Answer | None = job.answer
    return found


def last_job(kind: str = "") -> Job | None:
    """What this browser asked for last: a simulation, or another kind of work."""
    job: Job | None = st.session_state.get(JOB + kind)
    return job


def simulate() -> None:
    """Ask for a simulation of the current scenario, in place of an earlier one."""
    try:
        st.session_state[JOB] = simulations.simulate(all_jobs(), _owner(), state.current())
    except SimulatorError as error:
        state.tell(str(error))


def ask(kind: str, key: str, compute: Compute) -> None:
    """Ask for work of another kind, in place of an earlier one of that kind."""
    try:
        st.session_state[JOB + kind] = all_jobs().submit(_owner() + kind, key, compute)
    except SimulatorError as error:
        state.tell(str(error))


def cancel(kind: str = "") -> None:
    """End this browser's simulation, or its work of another kind."""
    all_jobs().cancel(_owner() + kind)


@st.cache_resource(show_spinner=False)
def all_jobs() -> Jobs:
    """The simulations of all browsers of this server."""
    return Jobs(cores())


def _owner() -> str:
    found: str = st.session_state.setdefault(OWNER, uuid4().hex)
    return found
