"""The section of the page Speculation that draws when to speculate, with the reader's own point on it."""

import streamlit as st

from app.dashboard.explained import explained
from app.dashboard.speculation.found import surface_of
from app.dashboard.speculation.paying import point_of, rows_of, sentence
from app.dashboard.speculation.shown import how_of
from app.dashboard.speculation_inputs import View, tried
from app.figures import ways as figures
from app.figures.ways import PayMap
from simulator.planning.when import ACCEPTANCES, LATENCY_RATIOS
from simulator.spec.scenario import Scenario

FORMULA = (
    "X at the best K of 1 to 8 ÷ X without a draft, X = n·L ÷ ((L − 1) ÷ Ω·T(n, K) + n·Δ(n, K)), Ω = 1 + α + … + αᴷ: "
    "acceptance α alike at every position; even: the least α at which some K is no slower"
)


def section(scenario: Scenario, view: View) -> None:
    """Draw the section."""
    asked = tried(scenario, view.name, view.choice.ratios, draft_name=view.draft)
    found, own = surface_of(asked, view.name), point_of(asked, view)
    said = sentence(own)
    st.markdown(said)
    table = PayMap(
        found.sequences.tolist(), ACCEPTANCES, found.speedup[-1], found.best_draft_tokens[-1],
        found.break_even[-1].tolist(), (own.sequences, own.acceptance),
    )  # fmt: skip
    explained(
        "When to speculate", figures.pay_map(table), figures.pay_alt(table, said), how_of(scenario, view.name, FORMULA),
        says="output tokens/s ÷ plain decoding, at the best K", rows=rows_of(found),
    )  # fmt: skip
    ratios = ", ".join(f"{ratio:g}" for ratio in LATENCY_RATIOS)
    st.caption(
        "Your point stands at the acceptance, alike at every position, that gives as many tokens per step as yours. "
        f"The CSV holds the same for draft passes of {ratios} of a plain step beside your draft's own, as `specfleet "
        "estimate --surface` prints them. Maps over K are under *Does a draft pay?*"
    )
