"""The address of a page holds the whole scenario, and what is asked of it, so that links, reloads and "back" work."""

from typing import Any

import streamlit as st

from app.dashboard import own_traces, state
from app.dashboard.plan_question import mapping_of, question_of
from app.dashboard.share import PARAMETER, decode, encode
from app.dashboard.speculation import kept
from simulator.errors import ScenarioError, SimulatorError

PLAN_PARAMETER = "p"
"""The question of the page Plan, where it is not the one at first."""
VIEW_PARAMETER = "v"
"""Controls of the page Speculation that were moved."""

WRITTEN = {
    PARAMETER: "specfleet_link", PLAN_PARAMETER: "specfleet_plan_link", VIEW_PARAMETER: "specfleet_view_link",
}  # fmt: skip
"""Parameter → key of the session: the payload that the address was given last."""


def follow() -> None:
    """Open the scenario of the address and what is asked of it, if they are others than this browser was given.

    An address without a scenario, as a page has it that was just chosen, changes nothing; nor does one of which any
    part cannot be read.
    """
    given, asked, viewed = map(st.query_params.get, WRITTEN)
    if not given:
        return
    other = {name for name, key in WRITTEN.items() if st.query_params.get(name) != st.session_state.get(key)}
    try:
        question = question_of(decode(asked)) if asked else None
        moved = decode(viewed) if viewed else {}
        if PARAMETER in other:
            state.replace(decode(given), "link")
        if other & {PARAMETER, PLAN_PARAMETER}:
            state.ask(question)
        if other & {PARAMETER, VIEW_PARAMETER}:
            kept.take(moved)
    except SimulatorError as error:
        state.tell(f"This link opens no scenario, so the one before it stands.\n{error}")


def write() -> str | None:
    """Give the address the scenario and what is asked of it as they are now.

    What follows the `?` of a link; None, and no link, where `why_none` says why.
    """
    payloads = {} if why_none() else _payloads()
    for parameter, key in WRITTEN.items():
        _set(parameter, payloads.get(parameter))
        st.session_state[key] = payloads.get(parameter)
    return "&".join(f"{name}={payload}" for name, payload in payloads.items()) or None


def _payloads() -> dict[str, str]:
    question, moved = state.asked(), kept.mapping()
    try:
        payloads = {PARAMETER: encode(state.mapping())}
        if question is not None:
            payloads[PLAN_PARAMETER] = encode(mapping_of(question))
        if moved:
            payloads[VIEW_PARAMETER] = encode(moved)
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
