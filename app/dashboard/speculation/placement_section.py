"""The section of the page Speculation that asks where the draft should run."""

import streamlit as st

from app.dashboard import cards, tables
from app.dashboard.computed import computed_by
from app.dashboard.estimates import estimated
from app.dashboard.explained import explained
from app.dashboard.speculation import kept, placing, rows
from app.dashboard.speculation.placing import BONUS_GUESS, Pool
from app.dashboard.speculation.point import point_draft
from app.dashboard.speculation.shown import left_out, taking
from app.dashboard.speculation_inputs import View
from app.dashboard.terms import tip
from app.figures import ways as figures
from app.format import percent
from simulator.spec.draft import Draft
from simulator.spec.scenario import Scenario

LINKS = ("nvlink", "pcie", "internode")
COPIES = (1, 2, 4, 8)
"""Of a draft in a pool."""
MOST_SHARING = 8
"""Replicas that share a pool, at most."""

FORMULA = (
    "the steady state of the scenario's load for each placement: co-located, a step is K draft passes and the "
    "verifying pass; dedicated, the target waits for the drafts and two messages; ahead, a step is the longer of both, "
    "and a sequence whose guess was wrong is verified with its last token only; $/M = $/h of all GPUs, draft GPUs "
    "included, ÷ 3,600 ÷ output tokens/s at capacity × 10⁶"
)


def section(scenario: Scenario, view: View) -> None:
    """Draw the section."""
    draft = point_draft(scenario, view)
    why = placing.why_not_apart(draft)
    if why:
        st.info(f"This draft stays on the target's GPUs: {why}. Only a draft model can have GPUs of its own.")
        return
    pool = _pool(scenario, view, draft)
    found = estimated(placing.placements(scenario, view, pool))
    st.html(cards.winner(found))
    shown = rows.measures(found)
    explained(
        "Where the draft runs", figures.side_by_side(shown), figures.side_by_side_alt(shown),
        computed_by(FORMULA, found), says="95 % intervals hold the model's error", rows=rows.csv_rows(found),
    )  # fmt: skip
    tables.show(rows.table_of(found, "placement"))
    left_out(rows.unfit(found))
    st.caption(
        "Drafts made ahead run on GPUs of their own while the target verifies; that they begin with the token which "
        f"the target adds is assumed to have a chance of {percent(pool.bonus_guess)}, and their K and tokens per step "
        "count the steps that missed. Draft GPUs are of the deployment's type and price. What replicas wait for each "
        "other at a shared pool is an expectation here; Simulate has it step by step, once the placement is in the "
        "scenario."
    )
    taking("placement", view.name, placing.speculations(scenario, view, pool))


def _pool(scenario: Scenario, view: View, draft: Draft) -> Pool:
    split, depth = draft.tensor_parallel, view.choice.draft_tokens
    grid = st.grid(3, min_column_width=220, gap=("small", "medium"))
    with grid.cell():
        gpus = kept.select_slider(
            "GPUs of a draft pool", "pool_gpus", [split * copies for copies in COPIES], split,
            help=tip("dedicated", "Copies of the draft share the sequences."),
        )  # fmt: skip
        shared = _shared_by(scenario.deployments[view.name].replicas)
    with grid.cell():
        link = kept.segments(
            "Link to the target", "pool_link", LINKS, LINKS[0], help="With the catalog's figures of its slower end."
        )
        guess = kept.slider(
            "Target's token guessed", "bonus_guess", BONUS_GUESS, (0.0, 1.0), 0.05,
            help=tip("asynchronous", "Chance that the token which the target adds was prepared for. Assumed."),
        )  # fmt: skip
    with grid.cell():
        outcomes = kept.slider(
            "Outcomes prepared for", "outcomes", depth + 1, (1, depth + 1), 1,
            help=tip("asynchronous", "Numbers of accepted tokens that drafts are made for. 1: all (PEARL); K + 1: "
            "each (SSD), with as many rows of the draft."),
        )  # fmt: skip
    return Pool(gpus, shared, link, guess, outcomes)


def _shared_by(replicas: int) -> int:
    if replicas < 2:
        return 1
    most = min(replicas, MOST_SHARING)
    found: int = kept.slider(
        "Replicas that share a pool",
        "shared_by",
        1,
        (1, most),
        1,
        help=tip("dedicated", "They wait for each other."),
    )
    return found
