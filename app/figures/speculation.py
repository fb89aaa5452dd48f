"""Where speculation pays: maps of speed-up and cost over draft tokens, and speed-up against sequences in flight."""

from collections.abc import Callable, Sequence
from math import isfinite, log
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from app.figures.style import FAINT, Look, across, figure, log_axis, safe
from app.format import significant, times, usd
from app.report.scales import plain_number

Floats = NDArray[np.float64]

LOSS_TO_GAIN = ((0.0, "#7a3e12"), (0.25, "#c58a4a"), (0.5, "#f1efe9"), (0.75, "#55b3a6"), (1.0, "#0b5f57"))
"""Brown loses, white is even, green gains: neither GPU's colour, and told apart by colour-blind eyes."""

CHEAP_TO_DEAR = ((0.0, "#0b4f6c"), (0.35, "#3f8ea8"), (0.7, "#b9d7df"), (1.0, "#f6f3ec"))
"""Dark is cheap."""


class GainMap(NamedTuple):
    """A table to be coloured: a row each acceptance or number of sequences, a column each K from 0 on."""

    row_title: str
    rows: Sequence[float]
    values: Floats
    """[rows, K]; NaN: no such point."""
    own_row: float
    """The reader's own point: its row's value, between two rows or on one."""
    own_draft_tokens: int
    says: str
    """Under which conditions, and by which formula."""


def speedup_map(table: GainMap) -> go.Figure:
    """Speed-up over plain decoding; the star is the reader's own point."""
    known = table.values[np.isfinite(table.values)]
    most = max(float(np.abs(np.log(known)).max()) if known.size else 0.0, log(1.25))
    shown = _map(table, np.log(table.values), times, "speed-up")
    shown.update_traces(
        selector={"type": "heatmap"}, colorscale=LOSS_TO_GAIN, zmin=-most, zmax=most, showscale=False
    )  # fmt: skip
    return shown


def cost_map(table: GainMap) -> go.Figure:
    """Dollars per million output tokens; the star is the reader's own point."""
    known = table.values[np.isfinite(table.values)]
    shown = _map(table, np.log(table.values), usd, "$/M output")
    low, high = (float(np.log(known.min())), float(np.log(known.max()))) if known.size else (0.0, 1.0)
    shown.update_traces(
        selector={"type": "heatmap"}, colorscale=CHEAP_TO_DEAR, zmin=low, zmax=max(high, low + 0.1), showscale=False
    )  # fmt: skip
    return shown


def _map(table: GainMap, colour: Floats, label: Callable[[float | None], str], what: str) -> go.Figure:
    shown = figure("draft tokens K", table.row_title, height=max(330, 60 + 24 * len(table.rows)))
    values = table.values.tolist()
    cells = [[_short(value) for value in row] for row in values]
    hover = [
        [_cell(table, f"{what} {label(value)}" if isfinite(value) else "", row, k) for k, value in enumerate(line)]
        for row, line in zip(table.rows, values, strict=True)
    ]
    shown.add_heatmap(
        z=colour, x=list(range(table.values.shape[1])), y=list(range(len(table.rows))), text=cells,
        texttemplate="%{text}", textfont={"size": 11}, customdata=hover, xgap=2, ygap=2,
        hovertemplate="%{customdata}<extra></extra>", hoverongaps=True,
    )  # fmt: skip
    shown.add_scatter(
        x=[table.own_draft_tokens + 0.43], y=[_index(table.rows, table.own_row)], mode="markers",
        marker={"symbol": "star", "size": 12, "color": "#f2c200", "line": {"width": 1.2, "color": "#222"}},
        hovertemplate="your point<extra></extra>", showlegend=False,
    )  # fmt: skip
    shown.update_xaxes(dtick=1, showgrid=False)
    labels = [significant(row, 2) if row < 1 else plain_number(row) for row in table.rows]
    shown.update_yaxes(tickvals=list(range(len(labels))), ticktext=labels, showgrid=False)
    return shown.update_layout(margin={"t": 12})


def _short(value: float) -> str:
    """A cell's text: no unit, so that it fits on a phone.

    >>> _short(1.234), _short(234.5), _short(float("nan"))
    ('1.23', '234', '')
    """
    return "" if not isfinite(value) else f"{value:.2f}" if value < 100 else f"{value:,.0f}"


def _cell(table: GainMap, says: str, row: float, draft_tokens: int) -> str:
    where = f"{safe(table.row_title)} {significant(row, 2) if row < 1 else plain_number(row)}, K = {draft_tokens}"
    return f"{where}: {says} · {safe(table.says)}" if says else f"{where}: no place for it"


def _index(rows: Sequence[float], value: float) -> float:
    """Where a value stands between rows that are drawn at equal distances."""
    return float(np.interp(value, rows, np.arange(len(rows))))


class GainLine(NamedTuple):
    """The speed-up of one deployment against the sequences that a replica holds."""

    name: str
    look: Look
    sequences: Sequence[float]
    speedup: Sequence[float]
    """With the chosen K; NaN where there is no place."""
    best: Sequence[float]
    """With the best K at each number of sequences, 0 included: never below 1."""
    pays_up_to: float | None
    """Sequences up to which the chosen K pays; inf: as far as there is place; None: nowhere."""


def pays_figure(lines: Sequence[GainLine], draft_tokens: int) -> go.Figure:
    """Speed-up against sequences in flight: the chosen K, and thin the best K at each point."""
    shown = figure("sequences in flight per replica", "speed-up over plain decoding")
    for line in lines:
        for values, what, width, opacity in (
            (line.speedup, f"K = {draft_tokens}", 2.5, 1.0), (line.best, "best K", 1.2, 0.55),
        ):  # fmt: skip
            says = [
                f"{what}, {plain_number(n)} sequences: {times(gain)} · output tokens/s ÷ those without a draft"
                for n, gain in zip(line.sequences, values, strict=True)
            ]
            shown.add_scatter(
                x=line.sequences, y=values, mode="lines", opacity=opacity, name=safe(line.name),
                line={**line.look.line, "width": width}, legendgroup=line.name, showlegend=opacity == 1.0, text=says,
                hovertemplate="%{fullData.name}: %{text}<extra></extra>",
            )  # fmt: skip
        if line.pays_up_to is not None and isfinite(line.pays_up_to):
            shown.add_scatter(
                x=[line.pays_up_to], y=[1.0], mode="markers", marker=line.look.marker, legendgroup=line.name,
                text=[f"pays up to {plain_number(round(line.pays_up_to))} sequences"], showlegend=False,
                name=safe(line.name), hovertemplate="%{fullData.name}: %{text}<extra></extra>",
            )  # fmt: skip
    reach = [n for line in lines for n in line.sequences]
    shown.update_xaxes(**log_axis(reach, plain_number))
    shown.update_yaxes(ticksuffix="×", tickformat=".1f")
    across(shown, 1.0, "", FAINT)
    return shown


def map_alt(table: GainMap, what: str, label: Callable[[float | None], str]) -> str:
    """A map in words: its range, and the value at the reader's own point."""
    known = table.values[np.isfinite(table.values)]
    if not known.size:
        return f"{what} by {table.row_title} and draft tokens: no point has a place."
    row = round(_index(table.rows, table.own_row))
    own = float(table.values[row, table.own_draft_tokens])
    here = label(own) if isfinite(own) else "without a place"
    return (
        f"{what} by {table.row_title} ({significant(table.rows[0])} to {significant(table.rows[-1])}) and draft tokens "
        f"(0 to {table.values.shape[1] - 1}): from {label(float(known.min()))} to {label(float(known.max()))}; "
        f"at your point {here}."
    )


def pays_alt(lines: Sequence[GainLine], draft_tokens: int) -> str:
    """The same as `pays_figure` in words."""
    return f"Speed-up against sequences in flight with K = {draft_tokens}. " + " ".join(
        f"{line.name}: {pays(line.pays_up_to)}." for line in lines
    )


def pays(up_to: float | None) -> str:
    """Up to where it pays, as a sentence without a subject.

    >>> pays(None), pays(float("inf")), pays(96.4)
    ('never pays', 'pays as far as there is place', 'pays up to 96 sequences per replica')
    """
    if up_to is None:
        return "never pays"
    if not isfinite(up_to):
        return "pays as far as there is place"
    return f"pays up to {round(up_to):,} sequences per replica"


def schedule(sequences: Sequence[float], best: Sequence[int]) -> list[tuple[int, int, int]]:
    """Runs of equal K: from so many sequences, to so many, draft tokens.

    >>> schedule([1, 2, 4, 8], [5, 5, 3, 0])
    [(1, 3, 5), (4, 7, 3), (8, 8, 0)]
    """
    found: list[tuple[int, int, int]] = []
    for n, k in zip(sequences, best, strict=True):
        if found and found[-1][2] == k:
            continue
        if found:
            found[-1] = (found[-1][0], int(n) - 1, found[-1][2])
        found.append((int(n), int(n), k))
    if found:
        found[-1] = (found[-1][0], int(sequences[-1]), found[-1][2])
    return found
