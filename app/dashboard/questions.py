"""Common questions: each opens a built-in scenario on the page that answers it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import streamlit as st

from app.dashboard import state
from simulator.spec.plan import Plan


class Preset(NamedTuple):
    """A question, where its answer stands, and what has to be open for it."""

    asks: str
    page: str
    """Title of the page that answers it."""
    read: str
    """What to read there, told when it opens."""
    scenario: str
    """Name of the built-in scenario."""
    changes: Mapping[str, Any] = {}
    """Dotted path → value, put into the scenario."""
    deployments: Sequence[str] = ()
    """Those of its deployments that are kept; none named: all."""
    plan: Mapping[str, Any] = {}
    """What is asked of a plan beyond what is asked at first."""
    shows: Mapping[str, Any] = {}
    """Key of a control of the page → where it stands."""


CHAT = "h200_vs_b200_chat"
"""The scenario that most questions are asked of."""

CLIENTS = 64
"""Requests in flight at once, of which a draft is asked whether it pays."""

HEAD = ("plain", "eagle3-chain-5")
"""Deployments of `eagle_heads` that are asked about; one replica of each has all the clients."""

LONG_TOKENS = 131_072
"""The long context that is asked about."""

JOB = {"requests": 5_000_000, "within_hours": 12}
"""Of requests as the chat's are: some 1.1 billion output tokens."""

PRESETS = (
    Preset(
        "Which GPU for a 70B chat at 20 requests/s?", "Plan", "The first sentence of the plan says what to buy.",
        CHAT, {"workload.arrivals.rate_per_s": 20},
    ),
    Preset(
        "A job of 5 million requests in 12 hours: on what, at least cost?", "Plan",
        "The line Job, below “A month of it”: the fewest GPUs that are done in time, and where that costs least.",
        CHAT, plan={"fleet": {"job": JOB}},
    ),
    Preset(
        "How sure is the winner?", "Sensitivity", "The first sentence: in how many draws the winner stays the winner.",
        CHAT,
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
        "When does a draft stop paying?", "Speculation",
        "The sentence below your point says up to how many sequences; the figure “Where it stops paying” shows it.",
        CHAT,
    ),
    Preset("What K for which batch?", "Speculation", "The table “Fastest K by batch”, below the maps.", CHAT),
    Preset(
        "Does a mixture of experts draft well with a few of its experts?", "Compare",
        "The winner: subset drafts with a part of its own experts, mtp with its module.", "moe_subset",
    ),
    Preset(
        "Draft GPUs of their own, or drafts beside the target?", "Compare",
        "The winner: beside-the-target shares its GPUs, the draft-gpu deployments pay for more of them.",
        "article/gpt_5_like_h200",
    ),
    Preset(
        "How many sequences of 128K tokens does a GPU hold?", "Memory",
        "The cards say how many a replica holds; “Sequences at context” has the other lengths.",
        "long_context", {f"deployments.{name}.engine.max_model_len": LONG_TOKENS for name in ("h200", "b200")},
        shows={"memory_context": LONG_TOKENS},
    ),
    Preset(
        "Why do 400B in FP4 and four drafts not fit one B200?", "Memory",
        "The red box says how much one-b200 lacks, bars and table what for.",
        "article/four_drafts_400b",
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
        wanted = next(page for page in pages if page.title == preset.page)
        st.switch_page(wanted, query_params=st.query_params.to_dict())


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
    if preset.plan:
        first = state.question()
        state.ask(first.model_copy(update={"plan": Plan.model_validate({**first.plan.model_dump(), **preset.plan})}))
    for key, value in preset.shows.items():
        st.session_state[key] = value
