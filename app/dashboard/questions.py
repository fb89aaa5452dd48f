"""Common questions: each opens a built-in scenario on the page that answers it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import streamlit as st

from app.dashboard import state


class Preset(NamedTuple):
    """A question, where its answer stands, and what has to be open for it."""

    asks: str
    page: str
    """Title of the page that answers it."""
    read: str
    """What to read there, told when it opens."""
    scenario: str
    """Name of the built-in scenario."""
    changes: Mapping[str, Any]
    """Dotted path → value, put into the scenario."""
    deployments: Sequence[str] = ()
    """Those of its deployments that are kept; none named: all."""


CLIENTS = 64
"""Requests in flight at once, of which a draft is asked whether it pays."""

HEAD = ("plain", "eagle3-chain-5")
"""Deployments of `eagle_heads` that are asked about; one replica of each has all the clients."""

PRESETS = (
    Preset(
        "Which GPU for a 70B chat at 20 requests/s?", "Plan", "The first sentence of the plan says what to buy.",
        "h200_vs_b200_chat", {"workload.arrivals.rate_per_s": 20},
    ),
    Preset(
        f"Does an EAGLE head pay at concurrency {CLIENTS}?", "Speculation",
        "Speed-up at your point; the sentence below says up to which batch it pays.",
        "eagle_heads",
        {
            "sweep": {},
            "workload.arrivals": {"kind": "closed_loop", "concurrency": CLIENTS},
            **{f"deployments.{name}.replicas": 1 for name in HEAD},
        },
        HEAD,
    ),
    Preset(
        "Why do 400B in FP4 and four drafts not fit one B200?", "Memory",
        "The red box says how much one-b200 lacks, bars and table what for.",
        "article/four_drafts_400b", {},
    ),
    Preset(
        "What K for which batch?", "Speculation", "The table “Fastest K by batch”, below the maps.",
        "h200_vs_b200_chat", {},
    ),
)  # fmt: skip


KEY = "questions"
"""Key of the menu."""


def menu(pages: Sequence[st.Page]) -> None:
    """The questions; one that is chosen opens its scenario and goes to the page that answers it.

    pages: those of the navigation, one of them by the title of each question's page.
    """
    chosen = st.menu_button(
        "Questions", range(len(PRESETS)), key=KEY, icon=":material/help:", on_click=_open,
        format_func=lambda number: PRESETS[number].asks, help="Common questions, each with its scenario and its page.",
    )  # fmt: skip
    if chosen is not None:
        preset = PRESETS[chosen]
        st.toast(preset.read, icon=":material/help:", duration="long")
        st.switch_page(next(page for page in pages if page.title == preset.page))


def _open() -> None:
    """Take the scenario of the question that was chosen."""
    preset = PRESETS[st.session_state[KEY]]
    state.open_built_in(preset.scenario)
    if preset.deployments:
        found = state.mapping()
        kept = {name: found["deployments"][name] for name in preset.deployments}
        state.replace(found | {"deployments": kept}, preset.scenario)
    if preset.changes:
        state.apply(preset.changes)
