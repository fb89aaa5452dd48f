"""What the sections of the page Speculation share: where numbers come from, what is left out, what is taken over."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from app.dashboard import state
from app.dashboard.computed import ESTIMATED, How, computed_by
from app.dashboard.estimates import estimated
from app.dashboard.terms import unmarked
from simulator.spec.scenario import Scenario


def how_of(scenario: Scenario, name: str, formula: str) -> How:
    """How a figure of one deployment was computed, always by estimate."""
    alone = scenario.model_copy(update={"deployments": {name: scenario.deployments[name]}})
    return computed_by(formula, estimated(alone), method=ESTIMATED)


def left_out(those: Sequence[tuple[str, str]]) -> None:
    """What is not drawn, and why."""
    if those:
        st.caption("Not drawn: " + "; ".join(f"{unmarked(name)}: {unmarked(why)}" for name, why in those) + ".")


def taking(kind: str, deployment: str, found: Mapping[str, Mapping[str, Any]]) -> None:
    """A menu that takes one of several ways to speculate into the deployment; nothing where there is none.

    found: name → the speculation, as a file says it.
    """
    if not found:
        return
    key = f"speculation_take_{kind}"
    st.menu_button(
        f"Take into {deployment}", list(found), key=key, icon=":material/check:", on_click=_take,
        args=(key, deployment, found),
        help="Sets the deployment's speculation in the scenario; Compare, Load and Memory follow.",
    )  # fmt: skip


def take(deployment: str, speculation: Mapping[str, Any]) -> None:
    """Have a deployment speculate so; it is written out whole, so that no draft of one that it extends is left."""
    written_out = state.loaded().base["deployments"][deployment]
    state.apply({f"deployments.{deployment}": {**written_out, "speculation": dict(speculation)}})


def _take(key: str, deployment: str, found: Mapping[str, Mapping[str, Any]]) -> None:
    chosen = st.session_state[key]
    if chosen in found:
        take(deployment, found[chosen])
