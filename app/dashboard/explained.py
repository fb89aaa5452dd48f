"""A figure on a page with what belongs to it: its words, how it was computed, and its numbers as CSV.

Every figure of every page is drawn by `explained`, so that none lacks one of them.
"""

import io
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from app.dashboard import cards
from app.dashboard.computed import How
from app.dashboard.terms import tip
from app.figures.points import names, no_points, points
from app.figures.style import CONFIG, with_room
from app.glossary import named
from scenarios.columns import flat_row
from scenarios.csv_file import write_csv

Rows = Sequence[Mapping[str, Any]]
"""Lines of a CSV; a column that a line lacks stays empty."""

LABEL = "How this was computed"


def explained(
    title: str, drawn: go.Figure, alt: str, how: How, *, says: str = "", key: str = "", rows: Rows | None = None,
    empty: str = "Nothing to draw.", **options: Any,
) -> Any:  # fmt: skip
    """A figure under its title, which says what its word means, and below it how it was computed and its numbers.

    alt: the same in words, for those who cannot see it. how: `computed_by(formula, answer)`, or sentences of its own.
    says: what to know of it, in small beside the title. key: of its parts; the title where no other figure has that.
    rows: lines of its CSV, where they are more than the points that are drawn. empty: what stands in place of a figure
    without a point. options: of `st.plotly_chart`.
    """
    word = named(title)
    told = f"**{title}** :small[:gray[{says}]]" if says else f"**{title}**"
    st.markdown(told, help=None if word is None else tip(word.key))
    event = None
    if no_points(drawn):
        st.info(empty, icon=":material/visibility_off:")
    else:
        event = st.plotly_chart(with_room(drawn), config=CONFIG, alt=alt, key=f"chart {key or title}", **options)
    beside(key or title, how, lambda: as_csv(points(drawn) if rows is None else rows))
    return event


def beside(key: str, how: How, data: Callable[[], bytes], label: str = "CSV") -> None:
    """What stands below a figure or a table: how it was computed, and its numbers as a file."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        with st.popover(LABEL, type="tertiary", icon=":material/calculate:", key=f"how {key}"):
            st.html(cards.labelled(how))
        st.download_button(
            label, data, f"{slug(key)}.csv", "text/csv", on_click="ignore", key=f"csv {key}", type="tertiary",
            icon=":material/download:",
        )  # fmt: skip


def as_csv(rows: Rows) -> bytes:
    """Lines as a CSV, unrounded, nested fields as `ttft_s.p95`; a text that a spreadsheet would compute is quoted."""
    flat, out = [flat_row(row) for row in rows], io.StringIO(newline="")
    write_csv(names(flat), flat, out)
    return out.getvalue().encode()


def slug(title: str) -> str:
    """A title as the name of a file.

    >>> slug("$/M output by batch")
    'm-output-by-batch'
    """
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
