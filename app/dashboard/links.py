"""The address of a page holds the whole scenario, so that a copied link, a reload and the back button work."""

import streamlit as st

from app.dashboard import state
from app.dashboard.share import PARAMETER, decode, encode
from simulator.errors import ScenarioError, SimulatorError

WRITTEN = "specfleet_link"
"""Key of the session: the payload that the address was given last."""


def follow() -> None:
    """Open the scenario of the address, if it is another one than this browser was given."""
    given = st.query_params.get(PARAMETER)
    if not given or given == st.session_state.get(WRITTEN):
        return
    try:
        state.replace(decode(given), "link")
    except SimulatorError as error:
        state.tell(f"This link opens no scenario, so the one before it stands.\n{error}")


def write() -> str | None:
    """Give the address the scenario as it is now; None, and no link, when it is too large for one."""
    try:
        payload = encode(state.mapping())
    except ScenarioError:
        st.query_params.pop(PARAMETER, None)
        st.session_state[WRITTEN] = None
        return None
    if st.query_params.get(PARAMETER) != payload:
        st.query_params[PARAMETER] = payload
    st.session_state[WRITTEN] = payload
    return payload


def address(payload: str) -> str:
    """The whole link of this page."""
    here = (st.context.url or "").partition("?")[0]
    return f"{here}?{PARAMETER}={payload}"
