"""How every figure looks: a GPU has one colour and one marker wherever it is drawn, and speculation a full one.

Nothing here is light or dark: the page's theme colours text and grid.
"""

from collections.abc import Mapping, Sequence
from html import escape, unescape
from math import ceil, log10
from typing import Any, NamedTuple

import plotly.graph_objects as go

from app.figures.names import short
from app.report.scales import Label, log_scale, log_ticks

GPU_LOOKS = {"h200-sxm": ("#2f86d1", "circle"), "b200-sxm": ("#dd6b20", "diamond")}
"""GPU → colour and marker: blue circles and orange diamonds read on white, on black, and to colour-blind eyes."""

OTHER_LOOKS = (("#8b6fd6", "square"), ("#22a06b", "triangle-up"), ("#c2549a", "pentagon"), ("#9a7b1f", "star"))
"""For GPUs beyond those, in the order in which they come."""

DASHES = {False: ("dash", "dot", "dashdot"), True: ("solid", "longdash", "longdashdot")}
"""Speculates → lines of the first, second, … such deployment of a GPU."""
SHADES = (1.0, 0.62, 1.42)
"""Brightness ÷ the GPU's colour: of the first, second, … round of those lines."""

LEGEND_PX, ENTRY_PX, LETTER_PX, ROW_PX = 480.0, 42.0, 6.6, 19
"""Width that a legend has at least, of an entry without its letters and of a letter; height of a row of entries."""

GRID = "rgba(128, 128, 128, 0.22)"
FAINT = "rgba(128, 128, 128, 0.75)"
LIMIT = "#d1495b"
"""Targets and limits."""

CONFIG = {"displaylogo": False, "modeBarButtons": [["toImage"]]}
"""What a page hands to Plotly beside the figure: figures are read and kept, not zoomed."""


class Look(NamedTuple):
    """How a deployment is drawn: never told apart by colour alone."""

    colour: str
    symbol: str
    """Plotly's marker: hollow without speculation."""
    dash: str

    @property
    def line(self) -> dict[str, Any]:
        """A line of this look."""
        return {"color": self.colour, "dash": self.dash, "width": 2}

    @property
    def marker(self) -> dict[str, Any]:
        """A marker of this look."""
        return {"color": self.colour, "symbol": self.symbol, "size": 9, "line": {"width": 1.5, "color": self.colour}}


def gpu_look(gpu: str, others: Sequence[str] = ()) -> tuple[str, str]:
    """Colour and marker of a GPU.

    others: GPUs without a look of their own, in the order in which they come.
    """
    if gpu in GPU_LOOKS:
        return GPU_LOOKS[gpu]
    unknown = [name for name in dict.fromkeys(others) if name not in GPU_LOOKS]
    return OTHER_LOOKS[unknown.index(gpu) % len(OTHER_LOOKS) if gpu in unknown else 0]


def looks(deployments: Mapping[str, tuple[str, bool]]) -> dict[str, Look]:
    """Deployment → its look, from its GPU and whether it speculates.

    >>> looks({"a": ("h200-sxm", False), "b": ("h200-sxm", True)})["a"]
    Look(colour='#2f86d1', symbol='circle-open', dash='dash')
    """
    gpus = [gpu for gpu, _ in deployments.values()]
    seen: dict[tuple[str, bool], int] = {}
    found = {}
    for name, (gpu, speculates) in deployments.items():
        number = seen[gpu, speculates] = seen.get((gpu, speculates), -1) + 1
        colour, symbol = gpu_look(gpu, gpus)
        dashes = DASHES[speculates]
        own = _shaded(colour, SHADES[number // len(dashes) % len(SHADES)])
        found[name] = Look(own, symbol if speculates else f"{symbol}-open", dashes[number % len(dashes)])
    return found


def _shaded(colour: str, brightness: float) -> str:
    """A colour made darker (< 1) or lighter (> 1).

    >>> _shaded("#2f86d1", 1.0), _shaded("#204060", 0.5), _shaded("#204060", 2.0)
    ('#2f86d1', '#102030', '#8f9faf')
    """
    levels = [int(colour[place : place + 2], 16) for place in (1, 3, 5)]
    towards = 0 if brightness <= 1.0 else 255
    share = 1.0 - brightness if brightness <= 1.0 else min(brightness - 1.0, 1.0) / 2
    return "#" + "".join(f"{int(level + share * (towards - level)):02x}" for level in levels)


def figure(x_title: str, y_title: str, *, height: int = 360) -> go.Figure:
    """An empty figure with titled axes."""
    drawn = go.Figure()
    drawn.update_layout(
        height=height,
        margin={"l": 8, "r": 12, "t": 34, "b": 8},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        legend={
            "orientation": "h",
            "x": 0,
            "y": 1.02,
            "yanchor": "bottom",
            "font": {"size": 12},
            "itemsizing": "constant",
            "tracegroupgap": 0,
        },
        hoverlabel={"align": "left"},
        hovermode="closest",
        dragmode=False,
    )
    drawn.update_xaxes(title=x_title, gridcolor=GRID, zeroline=False, automargin=True)
    drawn.update_yaxes(title=y_title, gridcolor=GRID, zeroline=False, automargin=True)
    return drawn


def safe(text: str) -> str:
    """A user's text for a figure: Plotly reads a few tags.

    >>> safe("<b>x</b>")
    '&lt;b&gt;x&lt;/b&gt;'
    """
    return escape(text, quote=False)


def with_room(drawn: go.Figure) -> go.Figure:
    """The figure with long names shortened in its legend, and as much higher as the legend has rows.

    The figure itself keeps the whole names, as do the notes of its points.
    """
    listed = [trace.name for trace in drawn.data if trace.name and trace.showlegend is not False]
    whole = list(dict.fromkeys(unescape(name) for name in listed))
    told = dict(zip(whole, short(whole), strict=True))
    rows = _rows(list(told.values()))
    if rows == 1 and list(told.values()) == whole:
        return drawn
    shown = go.Figure(drawn)
    for trace in shown.data:
        name = unescape(trace.name or "")
        if told.get(name, name) != name:
            note = (trace.hovertemplate or "").replace("%{fullData.name}", safe(name))
            trace.update(name=safe(told[name]), hovertemplate=note)
    return shown.update_layout(height=drawn.layout.height + ROW_PX * (rows - 1))


def _rows(entries: Sequence[str]) -> int:
    """Rows of a legend, whose entries stand in columns as wide as the longest.

    >>> _rows(["h200-plain", "h200-spec", "b200-plain", "b200-spec"]), _rows(["n" * 34] * 8)
    (1, 8)
    """
    widest = max((ENTRY_PX + LETTER_PX * len(entry) for entry in entries), default=LEGEND_PX)
    return max(ceil(len(entries) / max(int(LEGEND_PX / widest), 1)), 1)


def log_axis(values: Sequence[float], label: Label, most: int = 8) -> dict[str, Any]:
    """Settings of a logarithmic axis with ticks at round values, labelled by a function."""
    scale = log_scale(values, 0.0, 1.0)
    ticks = log_ticks(scale.low, scale.high, most)
    return {
        "type": "log",
        "range": [log10(scale.low), log10(scale.high)],
        "tickvals": ticks,
        "ticktext": [label(tick) for tick in ticks],
    }


def across(shown: go.Figure, at: float, says: str = "", colour: str = LIMIT) -> None:
    """A dotted line across at a value of the vertical axis."""
    line = {"color": colour, "dash": "dot", "width": 1.5}
    shown.add_shape(type="line", xref="paper", x0=0, x1=1, yref="y", y0=at, y1=at, line=line, layer="below")
    if says:
        shown.add_annotation(
            xref="paper", x=0, xanchor="left", yref="y", y=_place(shown.layout.yaxis, at), yanchor="bottom",
            text=safe(says), showarrow=False, font={"size": 12, "color": colour},
        )  # fmt: skip


def upright(shown: go.Figure, at: float, says: str = "", colour: str = FAINT) -> None:
    """A dotted upright at a value of the horizontal axis."""
    line = {"color": colour, "dash": "dot", "width": 1.5}
    shown.add_shape(type="line", yref="paper", y0=0, y1=1, xref="x", x0=at, x1=at, line=line, layer="below")
    if says:
        shown.add_annotation(
            yref="paper", y=0, yanchor="bottom", xref="x", x=_place(shown.layout.xaxis, at),
            xanchor="right" if _far_right(shown.layout.xaxis, at) else "left",
            text=safe(says), showarrow=False, font={"size": 12, "color": colour},
        )  # fmt: skip


def _place(axis: Any, at: float) -> float:
    """Where an annotation stands: on a logarithmic axis Plotly wants the exponent, unlike for lines."""
    return log10(at) if axis.type == "log" else at


def _far_right(axis: Any, at: float) -> bool:
    """Whether a text that begins there would leave the figure."""
    return axis.range is not None and _place(axis, at) > axis.range[0] + 0.6 * (axis.range[1] - axis.range[0])
