"""The page Compare: the answer first, then the figures that it rests on."""

import streamlit as st

from app.dashboard import answers, badges, cards, tour
from app.dashboard.computed import COMPARISON, computed_by
from app.dashboard.estimates import Answer
from app.dashboard.explained import as_csv, beside, explained
from app.dashboard.layout import side_by_side
from app.dashboard.sides import sides, tie_of
from app.dashboard.terms import head
from app.figures.price_ratio import price_ratio, price_ratio_alt
from app.report.markup import Markup, join, tag
from app.report.tables import comparison as comparison_table
from app.tables.figures import limits_of, shown_percentiles
from app.tables.verdict import notes

TIE = (
    "cost of the winner × price ratio ÷ its price ratio now, against the cost of the other, which stays; they tie "
    "where the ratio of prices is that of now × cost of the other ÷ cost of the winner; shaded: its 95 % interval"
)


def page() -> None:
    """Draw the page."""
    found = cards.with_totals(answers.answer())
    tour.offer()
    st.html(join(cards.winner(found), cards.cards(found), badges.origins(found.provenance)))
    _earlier()
    left, right = side_by_side()
    with left:
        _flip(found)
    with right:
        _notes(found)
    _figures(found)


def _earlier() -> None:
    """What was simulated before the scenario changed, marked as such."""
    earlier = answers.stale()
    if earlier is not None:
        with st.expander("Simulated before the scenario changed", icon=":material/history:"):
            found = cards.with_totals(earlier)
            st.html(tag("div", badges.stale(), cards.winner(found), cards.cards(found), class_="sf-stale"))


def _figures(found: Answer) -> None:
    st.subheader("Latency, load and cost", anchor=False)
    st.html(
        tag(
            "div",
            comparison_table(found.rows, limits_of(found.scenario.slo), found.comparison, head),
            class_="sf-table",
        )
    )
    beside("Latency, load and cost", computed_by(COMPARISON, found), lambda: as_csv(found.rows))


def _flip(found: Answer) -> None:
    """The price ratio at which the winner flips, and the line that leads there."""
    flip, tie = found.comparison.get("flip") or {}, tie_of(found)
    st.subheader("When does the winner flip?", anchor=False)
    st.html(tag("p", flip.get("sentence") or "Nothing is there to win against.", class_="sf-dim"))
    if tie is not None:
        explained("Cost against the price ratio", price_ratio(tie), price_ratio_alt(tie), computed_by(TIE, found))


def _notes(found: Answer) -> None:
    """What must be known before a figure is believed."""
    limits = limits_of(found.scenario.slo)
    unfit = [(str(row["deployment"]), str(row["reason"])) for row in found.rows if row.get("reason")]
    lines = [
        join(tag("dt", names), tag("dd", text))
        for names, text in (*unfit, *notes(found.rows, shown_percentiles(limits)))
    ]
    assumed = [tag("li", text) for text in found.provenance.get("assumptions") or ()]
    st.subheader("To know", anchor=False)
    st.html(
        tag("dl", *lines, class_="sf-why sf-notes") if lines else tag("p", "Nothing in particular.", class_="sf-dim")
    )
    with st.expander(f"Assumptions ({len(assumed)}) and what is compared", icon=":material/info:"):
        st.html(join(_compared(found), tag("ul", *assumed, class_="sf-list")))


def _compared(found: Answer) -> Markup:
    names = " and ".join(str(row["deployment"]) for row in sides(found))
    return tag("p", f"Cards show {names}: the cheapest deployment of each GPU type (of one type: the two cheapest).")
