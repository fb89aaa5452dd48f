"""Tables in HTML: read by screen readers, copied as text, narrow on a phone. Every text is escaped."""

from collections.abc import Mapping, Sequence

import streamlit as st

from app.dashboard import terms
from app.report.markup import table, tag


def show(rows: Sequence[Mapping[str, str]]) -> None:
    """Rows with equal columns; the first column names the row. Columns that are words lead to the glossary."""
    if rows:
        head = [terms.head(title) for title in rows[0]]
        st.html(tag("div", table(head, [tuple(row.values()) for row in rows]), class_="sf-table"))
