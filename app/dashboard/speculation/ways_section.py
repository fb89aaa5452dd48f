"""The section of the page Speculation that holds ways to draft against each other."""

import streamlit as st

from app.dashboard import cards, tables
from app.dashboard.explained import as_csv, beside, explained
from app.dashboard.speculation import compared, kept
from app.dashboard.speculation import ways as known
from app.dashboard.speculation.shown import how_of, left_out, taking
from app.dashboard.speculation.ways import Asked, Knobs
from app.dashboard.speculation_inputs import View
from app.dashboard.terms import tip
from app.figures import ways as figures
from simulator.spec.scenario import Scenario
from simulator.spec.speculation import DraftSpeculation

FORMULA = (
    "speed-up = X(n) ÷ X of plain decoding, X = n·L ÷ (R·T(n) + n·Δ(n)): n sequences in flight, L output tokens and R "
    "steps a request (from the acceptance of each way), T a step with drafting and verification, Δ what a prompt adds; "
    "$/M = replica $/h ÷ 3,600 ÷ X × 10⁶"
)


def section(scenario: Scenario, view: View) -> None:
    """Draw the section."""
    chosen = kept.pills(
        "Ways", "ways", list(known.choices(scenario, view.name)), known.AT_FIRST,
        help="Each at this deployment, in place of what it does now.",
    )  # fmt: skip
    asked = Asked(scenario, view, _knobs(scenario, view))
    found = compared.compared(asked, chosen)
    if not found.shown:
        st.info("Nothing to draw: choose a way.")
        left_out(found.left_out)
        return
    rows, lines = compared.at_batch(found, view.sequences), compared.lines_of(found)
    st.markdown(compared.said(rows, view.sequences))
    how = how_of(scenario, view.name, FORMULA)
    explained(
        "Ways to draft", figures.ways_figure(lines, view.sequences), figures.ways_alt(lines, view.sequences), how,
        says="one replica that always holds so many sequences", rows=compared.over_batches(found),
    )  # fmt: skip
    tables.show(compared.table_of(rows))
    beside("Ways at your batch", how, lambda: as_csv(rows))
    st.caption(
        "HBM taken: weights of drafts and router on the fullest GPU; KV left: tokens of KV ÷ those without a draft. "
        "The grey line is the baseline of several drafts: one draft that proposes as many tokens as all of them. A "
        "router is assumed to have 150 million parameters and to add 2 ms to a prompt."
    )
    left_out(found.left_out)
    st.markdown("**Where each acceptance comes from**")
    st.html(cards.labelled(compared.sources(rows)))
    taking("way", view.name, compared.speculations(found))


def _knobs(scenario: Scenario, view: View) -> Knobs:
    """The controls of several drafts and of the tree, at first as the deployment has them."""
    own, classes = scenario.deployments[view.name].speculation, len(scenario.workload.classes)
    stated = own if isinstance(own, DraftSpeculation) else None
    most = max(min(classes, known.MOST_DRAFTS), 2)
    grid = st.grid(3, min_column_width=220, gap=("small", "medium"))
    with grid.cell():
        accuracy = kept.slider(
            "Router accuracy", "accuracy", known.own_accuracy(stated), (0.0, 1.0), 0.01,
            help=tip("router-of-drafts", "The others get the draft of the commonest class."),
        )  # fmt: skip
    with grid.cell():
        drafts = kept.slider(
            "Specialised drafts", "drafts", most, (1, most), 1, disabled=classes < 2,
            help="Copies of your draft, each trained for one class of requests or more.",
        )  # fmt: skip
    with grid.cell():
        tree = kept.choice(
            "Tree", "tree", list(known.TREES), known.BEST_TREE,
            help=tip("tree", "Children of the root, of each node below it, …; the best: most tokens per second at your "
            "batch, at most K deep and 64 nodes."),
        )  # fmt: skip
    return Knobs(drafts, accuracy, *_assumed(stated), tree)


def _assumed(stated: DraftSpeculation | None) -> tuple[float, float, float]:
    """What is assumed of specialised drafts: correlation, and factors inside and outside their classes."""
    with st.expander("What is assumed of several drafts", icon=":material/tune:"):
        grid = st.grid(3, min_column_width=220, gap=("small", "medium"))
        with grid.cell():
            correlation = kept.slider(
                "Drafts reject alike", "correlation", known.own_correlation(stated), (0.0, 1.0), 0.05,
                help=tip("union", "0: independent, an optimistic case; 1: what the first misses, all miss. Assumed."),
            )  # fmt: skip
        with grid.cell():
            inside = kept.slider(
                "Acceptance in a draft's own class, ×", "inside", known.INSIDE, (1.0, 1.5), 0.01,
                help=tip("acceptance", "A factor on each position. Assumed; Ge et al. (2025) report 1.06 to 1.5."),
            )  # fmt: skip
        with grid.cell():
            outside = kept.slider(
                "Acceptance elsewhere, ×",
                "outside",
                known.OUTSIDE,
                (0.5, 1.0),
                0.01,
                help=tip("acceptance", "A factor on each position. Assumed."),
            )
    return correlation, inside, outside
