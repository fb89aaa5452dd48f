"""A heading above numbers, with how they were found beside it. Every text is escaped."""

import streamlit as st

from app.report.markup import Markup, tag


def titled(text: str, badge: Markup, says: str = "") -> None:
    """What the numbers below are, how they were found, and in small what to know of them."""
    small = tag("small", f" {says}", class_="sf-dim") if says else None
    st.html(tag("div", tag("strong", text), " ", badge, small))
