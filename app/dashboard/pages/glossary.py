"""The page Glossary: what every word means, with unit and formula; tooltips and heads of tables lead here."""

import streamlit as st

from app.dashboard.terms import WORD, in_words
from app.glossary import Term, terms
from app.report.markup import Markup, join, tag


def page() -> None:
    """Draw the page."""
    wanted = terms().get(st.query_params.get(WORD, ""))
    if wanted is not None:
        with st.container(border=True, key="glossary_word"):
            _drawn(wanted)
    asked = st.text_input(
        "Find a word", key="glossary_find", placeholder="TPOT, capacity, tree …", max_chars=60, width=360,
    )  # fmt: skip
    shown = found(asked)
    if not shown:
        st.info("No word here is called or explained so: try a shorter one.")
    with st.container(key="glossary", gap="small"):
        for group in dict.fromkeys(one.group for one in shown):
            st.header(group, anchor=False)
            for one in (one for one in shown if one.group == group):
                _drawn(one)


def _drawn(one: Term) -> None:
    st.subheader(one.title, anchor=False)
    st.html(_meaning(one))


def found(asked: str) -> list[Term]:
    """Words whose names hold what is asked, or else those whose meaning does; all where nothing is."""
    wanted = asked.strip().lower()
    by_name = [one for one in terms().values() if wanted in " ".join((one.title, *one.also)).lower()]
    return by_name or [one for one in terms().values() if wanted in in_words(one).lower()]


def _meaning(one: Term) -> Markup:
    """What a word means, its formula, its unit, its other names."""
    small = (("Formula", one.formula), ("Unit", one.unit), ("Also", ", ".join(one.also)))
    facts = [join(tag("dt", label), tag("dd", text)) for label, text in small if text]
    return tag("div", tag("p", one.says), tag("dl", *facts, class_="sf-why") if facts else None, class_="sf-meaning")
