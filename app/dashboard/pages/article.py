"""The page Article: what an article says of speculative decoding, what is predicted, and its systems to open."""

from typing import Any

import streamlit as st

from app.dashboard import answers, claimed, links, waiting
from app.dashboard.explained import beside
from app.dashboard.jobs import Job
from app.report.markup import tag
from simulator.planning.claims.article import TITLE
from simulator.planning.claims.claim import VERDICTS

KIND = " claims"
"""Of work, as jobs are told apart."""


def page() -> None:
    """Draw the page."""
    st.html(tag("p", "The claims of “", tag("em", TITLE), "”, each beside what is predicted.", class_="sf-dim"))
    found = _known()
    if found is None and answers.last_job(KIND) is None:
        _ask()
        found = _known()
    if found is None:
        _wait(answers.last_job(KIND))
        return
    _shown(found)


def _known() -> dict[str, Any] | None:
    """The claims, once they are checked."""
    job = answers.last_job(KIND)
    found: dict[str, Any] | None = job.answer if job is not None else None
    return found or answers.all_jobs().kept(claimed.KEY)


def _ask() -> None:
    answers.ask(KIND, claimed.KEY, claimed.checking)


def _wait(job: Job | None) -> None:
    """How far the check is, or why there is none."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if job is not None and job.running:
            waiting.wait_for(job, "Checking every claim", "claims", KIND)
            return
        st.button("Check the claims", key="article_ask", on_click=_ask, type="primary", icon=":material/play_arrow:")
        waiting.say_ended(job)


def _shown(found: claimed.Found) -> None:
    """The verdicts, the claims, the systems, and where the figures come from."""
    st.html(claimed.counts(found))
    rows = _filtered(found)
    if rows:
        st.html(claimed.claims_table(found, rows, links.address_in_compare))
    else:
        st.info("No claim about this has this verdict: choose others.")
    _take(found, rows)
    st.subheader("The systems that the article describes", anchor=False)
    st.caption(
        "An opened system is on all pages. Comments in its file, in scenarios/article, say what is public, what is the "
        "article's word and what is assumed."
    )
    st.html(claimed.systems_table(found, links.address_in_compare))


def _filtered(found: claimed.Found) -> list[claimed.Row]:
    verdicts = st.pills(
        "Verdict", list(VERDICTS), selection_mode="multi", key="article_verdicts", persist_state="session",
        format_func=lambda name: f"{claimed.named(name)} · {found['verdicts'][name]}", help="None chosen: all.",
    )  # fmt: skip
    topics = st.pills(
        "About", claimed.topics(found), selection_mode="multi", key="article_topics", persist_state="session",
        help="None chosen: everything.",
    )  # fmt: skip
    return claimed.filtered(found, verdicts, topics)


def _take(found: claimed.Found, rows: list[claimed.Row]) -> None:
    """How the figures were computed, and those of the claims that are shown, a line for each."""
    beside("claims", claimed.origin(found), lambda: claimed.as_csv(rows), "Claims (CSV)")
