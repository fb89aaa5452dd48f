"""The tour: the four numbers of the first page in four sentences, at a first visit and whenever it is asked for."""

from collections.abc import Sequence

import streamlit as st

from app.dashboard.cards import CARDS
from app.dashboard.terms import linked
from app.glossary import term
from app.report.markup import Markup, join, tag

SHOWN, SEEN = "specfleet_tour", "specfleet_tour_seen"
"""Keys of the session: whether the tour is shown, and whether it was closed in the run before."""

COOKIE = "specfleet_tour"
"""Set in a browser that has closed the tour: it holds nothing but that."""

REMEMBER = f"<script>document.cookie = '{COOKIE}=closed; max-age=31536000; path=/; samesite=lax';</script>"
"""What a browser is told once the tour is closed, so that it is not shown at the next visit."""


def begin() -> None:
    """Decide, when a browser comes, whether it is shown the tour; before its address is written.

    It is at a first visit to the bare address: a link says what somebody else wants to be seen.
    """
    if SHOWN not in st.session_state:
        st.session_state[SHOWN] = not st.query_params and COOKIE not in st.context.cookies.to_dict()


def offer() -> None:
    """The tour, if this browser is to be shown it."""
    if st.session_state.pop(SEEN, False):
        st.html(REMEMBER, unsafe_allow_javascript=True)
    if not st.session_state.get(SHOWN):
        return
    with st.container(border=True, key="tour"):
        st.html(sentences())
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button("Got it", key="tour_close", on_click=_close, icon=":material/check:")
            st.caption("Every control beside the page moves them. Again: Help, at the end of the sidebar.")


def sentences() -> Markup:
    """The four numbers of the first page, a sentence each."""
    lines = (
        join(tag("dt", linked(card.title, card.word)), tag("dd", term(card.word).first)) for card in CARDS
    )  # fmt: skip
    return tag(
        "section",
        tag("p", tag("strong", "Four numbers answer this page"), class_="sf-tour-title"),
        tag("dl", *lines, class_="sf-why"),
        aria_label="What the four numbers say", class_="sf-tour",
    )  # fmt: skip


def help_place(pages: Sequence[st.Page]) -> None:
    """Where help is found: the tour again, and the glossary.

    pages: those of the navigation, the one first that the tour is on.
    """
    with st.expander("Help", icon=":material/help:"):
        called = st.button("What the four numbers say", key="tour_call", on_click=_call, type="tertiary",
                           icon=":material/tour:")  # fmt: skip
        st.page_link(next(page for page in pages if page.title == "Glossary"), label="Every word, with its formula")
        st.caption("A question mark, and each underlined word, leads to its place in the glossary.")
    if called:
        st.switch_page(pages[0], query_params=st.query_params.to_dict())


def _call() -> None:
    st.session_state[SHOWN] = True


def _close() -> None:
    st.session_state[SHOWN], st.session_state[SEEN] = False, True
