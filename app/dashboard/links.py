"""The address of a page holds the whole scenario, and what is asked of it, so that links, reloads and "back" work."""

from typing import Any

import streamlit as st

from app.dashboard import own_traces, state
from app.dashboard.plan_question import mapping_of, question_of
from app.dashboard.share import PARAMETER, decode, encode
from simulator.errors import ScenarioError, SimulatorError

PLAN_PARAMETER = "p"
"""The question of the page Plan, where it is not the one at first."""

WRITTEN, WRITTEN_PLAN = "specfleet_link", "specfleet_plan_link"
"""Keys of the session: the payloads that the address was given last."""


def follow() -> None:
    """Open the scenario of the address and its question, if they are others than this browser was given.

    An address without a scenario, as a page has it that was just chosen, changes nothing.
    """
    given, asked = st.query_params.get(PARAMETER), st.query_params.get(PLAN_PARAMETER)
    if not given:
        return
    another = given != st.session_state.get(WRITTEN)
    try:
        if another:
            state.replace(decode(given), "link")
        if another or asked != st.session_state.get(WRITTEN_PLAN):
            state.ask(question_of(decode(asked)) if asked else None)
    except SimulatorError as error:
        state.tell(f"This link opens no scenario, so the one before it stands.\n{error}")


def write() -> str | None:
    """Give the address the scenario and the question as they are now.

    What follows the `?` of a link; None, and no link, where `why_none` says why.
    """
    payloads = {} if why_none() else _payloads()
    for parameter, key in ((PARAMETER, WRITTEN), (PLAN_PARAMETER, WRITTEN_PLAN)):
        _set(parameter, payloads.get(parameter))
        st.session_state[key] = payloads.get(parameter)
    return "&".join(f"{name}={payload}" for name, payload in payloads.items()) or None


def _payloads() -> dict[str, str]:
    question = state.asked()
    try:
        payloads = {PARAMETER: encode(state.mapping())}
        if question is not None:
            payloads[PLAN_PARAMETER] = encode(mapping_of(question))
    except ScenarioError:
        return {}
    return payloads


def why_none() -> str | None:
    """Why nobody else could open a link to the scenario, and what to share in its place; None where a link would do."""
    scenario = state.current()
    if not own_traces.is_uploaded(scenario):
        return None
    name = own_traces.replayed(scenario)
    return (
        f"No link holds the uploaded trace {name}. Share the scenario as a file from the page Scenario, with the trace "
        f"beside it: `specfleet run` replays both. Or fit a workload to the trace on the page Load, which a link holds."
    )


def _set(parameter: str, payload: str | None) -> None:
    if payload is None:
        st.query_params.pop(parameter, None)
    elif st.query_params.get(parameter) != payload:
        st.query_params[parameter] = payload


def address(query: str) -> str:
    """The whole link of this page."""
    here = (st.context.url or "").partition("?")[0]
    return f"{here}?{query}"


def address_in_compare(mapping: dict[str, Any]) -> str:
    """A link that opens a scenario on the page Compare; ScenarioError when it is too large for one."""
    here = (st.context.url or "").partition("?")[0]
    return f"{here.rpartition('/')[0]}/?{PARAMETER}={encode(mapping)}"
