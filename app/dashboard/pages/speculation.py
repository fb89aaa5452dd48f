"""The page Speculation: does a draft pay, which way to draft, where it runs, which K, and when to speculate at all."""

import streamlit as st

from app.dashboard import state
from app.dashboard.curves import grid_of
from app.dashboard.speculation import (
    draft_section,
    kept,
    pays_section,
    placement_section,
    schedule_section,
    ways_section,
)
from app.dashboard.speculation.shown import take
from app.dashboard.speculation_controls import controls, deployment
from app.dashboard.speculation_inputs import View, adopted, tried
from app.dashboard.terms import unmarked
from simulator.errors import SimulatorError
from simulator.spec.scenario import Scenario

SECTIONS = {
    "Does a draft pay?": draft_section.section,
    "Ways to draft": ways_section.section,
    "Placement": placement_section.section,
    "K by batch": schedule_section.section,
    "When to speculate": pays_section.section,
}
"""Title → the section; only the one that is open is computed."""


def page() -> None:
    """Draw the page."""
    scenario = state.current()
    name = deployment(scenario)
    try:
        with st.container(border=True):
            view = controls(scenario, name)
            _adopt(scenario, view)
        grid_of(tried(scenario, name, view.choice.ratios, draft_name=view.draft), name)
    except SimulatorError as error:
        st.error("With this draft the deployment does not fit: see Memory.", icon=":material/memory:")
        st.code(str(error), language=None, wrap_lines=True)
        return
    for tab, draw in zip(kept.tabs(list(SECTIONS)), SECTIONS.values(), strict=True):
        if tab.open:
            with tab:
                try:
                    draw(scenario, view)
                except SimulatorError as error:
                    st.info(f"Nothing to draw here: {unmarked(str(error))}", icon=":material/info:")


def _adopt(scenario: Scenario, view: View) -> None:
    taken = adopted(scenario, view.name, view.choice, view.draft)
    st.button(
        f"Take this point into {view.name}", key="speculation_adopt", icon=":material/check:", on_click=take,
        args=(view.name, taken),
        help="Sets the deployment's speculation in the scenario, one draft and a chain; Compare and Load follow.",
    )  # fmt: skip
