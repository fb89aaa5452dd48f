"""The bar on top of every page: how the numbers were found, the simulation that refines them, and the link."""

from collections.abc import Callable

import streamlit as st

from app.dashboard import answers, badges, links, state
from app.dashboard.jobs import Job
from app.format import plural
from app.report.markup import Markup, join, tag
from simulator.errors import SimulatorError

POLL_S = 1.0
"""How often a page asks how far its simulation is [s]."""


def bar(payload: str | None) -> None:
    """Draw the bar.

    payload: the scenario as a link holds it; None when it is too large for one.
    """
    job = answers.last_job()
    running = job is not None and job.state == "running"
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if job is not None and running:
            st.fragment(_progress, run_every=POLL_S)(job)
            st.button("Cancel", key="cancel", on_click=answers.cancel, icon=":material/close:")
        else:
            _offer(job)
        _share(payload)


def _offer(job: Job | None) -> None:
    """How the numbers were found, and the button that has them simulated."""
    found = answers.answer()
    seeds = plural(state.current().replications, "seed")
    st.html(tag("span", badges.method(found), _old(), _failed(job), class_="sf-how"), width="content")
    if found.method == "estimated":
        st.button(
            f"Simulate ({seeds})", key="simulate", on_click=answers.simulate, icon=":material/play_arrow:",
            type="primary", help="Request by request: tails, bursts, intervals. Takes seconds to a minute.",
        )  # fmt: skip


def _old() -> Markup | None:
    if answers.stale() is None or answers.answer().method == "simulated":
        return None
    return join(Markup(" "), badges.badge("simulation is stale", "stale", badges.STALE))


def _failed(job: Job | None) -> Markup | None:
    if job is None or job.state not in ("failed", "cancelled"):
        return None
    return tag("span", f" {job.problem or 'cancelled'}", class_="sf-dim sf-ended")


def _progress(job: Job) -> None:
    """How far a simulation is; the whole page anew once it has ended."""
    if job.state != "running":
        st.rerun()
    others = answers.all_jobs().others(job)
    shared = f" · shared with {plural(others, 'other')}" if others else ""
    share = job.done / job.total if job.total else 0.0
    st.progress(share, f"Simulating: {job.done} of {job.total or '…'} replications{shared}", width=360)


def _share(payload: str | None) -> None:
    with st.popover("Share", icon=":material/link:", help="A link that holds the whole scenario."):
        if payload is None:
            st.write("This scenario is too large for a link: share it as a file, from the page Scenario.")
            return
        st.write("This link opens the same scenario, with every value in it:")
        st.code(links.address(payload), language=None, wrap_lines=True)


def problem() -> None:
    """What could not be done, in a box on top of the page."""
    found = state.take_problem()
    if found:
        st.error("Not taken: the scenario stands as it was.", icon=":material/block:")
        st.code(found, language=None, wrap_lines=True)


def guarded(draw: Callable[[], None]) -> None:
    """Draw a page; what its scenario makes impossible is said, not thrown."""
    try:
        draw()
    except SimulatorError as error:
        st.error("This scenario cannot be computed.", icon=":material/block:")
        st.code(str(error), language=None, wrap_lines=True)
