"""The bar on top of every page: how the numbers were found, the simulation that refines them, link and questions."""

from collections.abc import Callable, Sequence

import streamlit as st

from app.dashboard import answers, badges, links, questions, state, waiting
from app.dashboard.jobs import Job
from app.format import plural
from app.report.markup import Markup, join, tag
from simulator.errors import SimulatorError


def bar(query: str | None, pages: Sequence[st.Page]) -> None:
    """Draw the bar.

    query: what follows the `?` of a link to the page; None when no link can hold the scenario.
    pages: those of the navigation, to which common questions lead.
    """
    job = answers.last_job()
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if job is not None and job.running:
            waiting.wait_for(job, "Simulating", "replications")
        else:
            _offer(job)
        _share(query)
        questions.menu(pages)


def _offer(job: Job | None) -> None:
    """How the numbers were found, and the button that has them simulated."""
    found = answers.answer()
    seeds = plural(state.current().replications, "seed")
    st.html(tag("span", badges.method(found), _old(), waiting.ended(job), class_="sf-how"), width="content")
    if found.method == "estimated":
        st.button(
            f"Simulate ({seeds})", key="simulate", on_click=answers.simulate, icon=":material/play_arrow:",
            type="primary", help="Request by request: tails, bursts, intervals. Takes seconds to a minute.",
        )  # fmt: skip


def _old() -> Markup | None:
    if answers.stale() is None or answers.answer().method == "simulated":
        return None
    return join(Markup(" "), badges.badge("simulation is stale", "stale", badges.STALE))


def _share(query: str | None) -> None:
    with st.popover("Share", icon=":material/link:", help="A link that holds the whole scenario."):
        if query is None:
            too_large = "This scenario is too large for a link: share it as a file, from the page Scenario."
            st.write(links.why_none() or too_large)
            return
        st.write("This link opens the same scenario, with every value in it:")
        st.code(links.address(query), language=None, wrap_lines=True)


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
