"""The page Sensitivity: what moves the answer, how safe the winner is, and the intervals that this rests on."""

from typing import Any

import streamlit as st

from app.dashboard import answers, cards, state, tables, varied, waiting
from app.dashboard.computed import computed_by
from app.dashboard.explained import explained
from app.dashboard.jobs import Job
from app.dashboard.layout import side_by_side
from app.figures.sensitivity import tornado, tornado_alt

KIND = " sensitivity"
"""Of work, as jobs are told apart."""

WITHIN = "specfleet_within"
"""Key of the session: intervals that the reader states, by input."""

TITLE = "What moves the cost of the winner"
FORMULA = (
    "cost of the winner with one input at either end of its interval, all others as the scenario has them; a cross: "
    "another deployment is the cheapest there"
)

MOST = 100.0
"""Largest factor that an interval may hold."""

END_PX = 140
"""Width below which both ends of an interval do not stand beside each other."""


def page() -> None:
    """Draw the page."""
    scenario, within = state.current(), _within()
    key = varied.key_of(scenario, within)
    job = answers.last_job(KIND)
    found: dict[str, Any] | None = answers.all_jobs().kept(key)
    if found is None and (job is None or job.key != key):
        _ask()
        job, found = answers.last_job(KIND), answers.all_jobs().kept(key)
    if found is None:
        _wait(job)
        return
    if job is not None and job.key != key:
        answers.cancel(KIND)
    _shown(found)


def _within() -> dict[str, tuple[float, float]]:
    """Intervals that the reader states."""
    found: dict[str, tuple[float, float]] = st.session_state.setdefault(WITHIN, {})
    return found


def _ask() -> None:
    scenario, within = state.current(), dict(_within())
    answers.ask(KIND, varied.key_of(scenario, within), varied.varying(scenario, within))


def _wait(job: Job | None) -> None:
    """How far the draws are, or why there are none."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if job is not None and job.running:
            waiting.wait_for(job, "Varying every input", "draws", KIND)
            return
        st.button("Vary the inputs", key="sensitivity_ask", on_click=_ask, type="primary", icon=":material/play_arrow:")
        if _within():
            st.button("Forget my intervals", key="sensitivity_reset", on_click=_forget, icon=":material/restart_alt:")
        waiting.say_ended(job)


def _shown(found: dict[str, Any]) -> None:
    st.html(varied.claim(found))
    if not found["bars"]:
        return
    left, right = side_by_side()
    with left:
        how = computed_by(FORMULA, answers.estimate(), method=varied.method(state.current()))
        says = f"{found['winner']}, each input alone"
        explained(TITLE, tornado(found), tornado_alt(found), how, says=says, rows=varied.end_rows(found))
        tables.show(varied.bar_rows(found))
    with right:
        _intervals(found)
        with st.expander("Where each interval comes from", icon=":material/source:"):
            st.html(cards.labelled(varied.sources(found)))


def _intervals(found: dict[str, Any]) -> None:
    """The interval of each input, to edit."""
    st.markdown("**How far may each input be off?**")
    st.caption(
        "Factors on what the scenario says; 95 % lie between them. What is not measured is assumed: put in what you "
        "know."
    )
    for name, (low, high) in varied.intervals(found).items():
        grid = st.grid(2, min_column_width=END_PX)
        with grid.cell():
            _end(f"{name}, from", name, 0, (low, high), min_value=0.01, max_value=1.0)
        with grid.cell():
            _end(f"{name}, to", name, 1, (low, high), min_value=1.0, max_value=MOST)
    if _within():
        st.button("Forget my intervals", key="sensitivity_reset", on_click=_forget, icon=":material/restart_alt:")


def _end(label: str, name: str, place: int, ends: tuple[float, float], **reach: Any) -> None:
    """One end of an interval, as a field for a number."""
    key, value = f"within {name} {place}", round(ends[place], 4)
    if st.session_state.get(key) != value:
        st.session_state[key] = value
    st.number_input(
        label, value=value, key=key, step=0.05, format="%g", on_change=_stated, args=(key, name, place, ends), **reach
    )  # fmt: skip


def _stated(key: str, name: str, place: int, ends: tuple[float, float]) -> None:
    value = st.session_state[key]
    if value is not None:
        both = list(ends)
        both[place] = float(value)
        st.session_state[WITHIN] = {**_within(), name: (both[0], both[1])}


def _forget() -> None:
    st.session_state[WITHIN] = {}
