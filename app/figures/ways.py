"""Ways to speculate side by side: over sequences in flight, in what they serve and cost, by batch and context."""

from collections.abc import Mapping, Sequence
from math import isfinite, log
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from app.figures.speculation import LOSS_TO_GAIN, Floats
from app.figures.style import FAINT, LIMIT, Look, across, figure, log_axis, safe, upright
from app.format import Formatter, count, times, usd
from app.report.scales import plain_number
from simulator.planning.when import ARTICLE_ACCEPTANCE

COLOURS = ("#8b6fd6", "#22a06b", "#c2549a", "#9a7b1f", "#1b8fa3", "#b4533a", "#7d8fb3")
SYMBOLS = ("circle", "square", "triangle-up", "diamond", "pentagon", "star", "x", "triangle-down", "hexagon", "cross")
DASHES = ("solid", "longdash", "dashdot")
"""Of ways, in their order; no colour is that of the H200 or the B200."""
BASELINE = Look(FAINT, "circle-open", "dash")

STAR = {"symbol": "star", "size": 14, "color": "#f2c200", "line": {"width": 1.2, "color": "#222"}}
"""The reader's own point."""

SPEEDUPS = (0.25, 0.5, 0.7, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0)
FEW_SPEEDUPS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""Ticks of a colour scale, and of one that reaches beyond twice."""


class WayLine(NamedTuple):
    """One way, by the sequences that a replica holds."""

    name: str
    sequences: Sequence[float]
    speedup: Sequence[float]
    """Output tokens/s ÷ those of plain decoding with as many; NaN where they have no place."""
    usd_per_million: Sequence[float]
    """Of output tokens."""
    baseline: bool = False
    """Whether the others are held against it."""


def ways_figure(lines: Sequence[WayLine], at: float) -> go.Figure:
    """Speed-up above, cost below, over sequences in flight; at: the reader's own batch."""
    shown = figure("sequences in flight per replica", "speed-up over plain decoding", height=660)
    for line, look in zip(lines, _looks(lines), strict=True):
        for values, show, axis in ((line.speedup, times, "y"), (line.usd_per_million, usd, "y2")):
            says = [
                f"{plain_number(n)} sequences: {show(value)}" for n, value in zip(line.sequences, values, strict=True)
            ]
            shown.add_scatter(
                x=line.sequences, y=values, yaxis=axis, mode="lines+markers", name=safe(line.name), line=look.line,
                marker=look.marker | {"size": 7}, legendgroup=line.name, showlegend=axis == "y", text=says,
                hovertemplate="%{fullData.name}: %{text}<extra></extra>",
            )  # fmt: skip
    costs = [cost for line in lines for cost in line.usd_per_million if isfinite(cost)]
    reach = [n for line in lines for n in line.sequences]
    shown.update_layout(yaxis2={"title": "$ per M output tokens", "domain": [0.0, 0.46], "gridcolor": _grid(shown)})
    shown.update_layout(yaxis2=log_axis(costs, usd), yaxis={"domain": [0.54, 1.0], "ticksuffix": "×"})
    shown.update_xaxes(anchor="y2", **log_axis(reach, plain_number))
    across(shown, 1.0, "", FAINT)
    upright(shown, at, "your batch")
    return shown


def ways_alt(lines: Sequence[WayLine], at: float) -> str:
    """The same in words, at the reader's own batch."""
    return f"Speed-up and cost against sequences in flight, with {plain_number(at)} sequences: " + "; ".join(
        f"{line.name} {_said(line, at)}" for line in lines
    )


def _said(line: WayLine, at: float) -> str:
    gain, cost = _at(line, line.speedup, at), _at(line, line.usd_per_million, at)
    return f"{times(gain)}, {usd(cost)} per million" if isfinite(gain) else "without a place"


def _looks(lines: Sequence[WayLine]) -> list[Look]:
    """A colour and a marker for each way, grey for the baseline."""
    free = iter([Look(COLOURS[n % 7], SYMBOLS[n % 10], DASHES[n // 7 % 3]) for n in range(len(lines))])
    return [BASELINE if line.baseline else next(free) for line in lines]


def _grid(shown: go.Figure) -> str:
    return str(shown.layout.yaxis.gridcolor)


def _at(line: WayLine, values: Sequence[float], at: float) -> float:
    return float(values[int(np.abs(np.array(line.sequences) - at).argmin())])


class Measure(NamedTuple):
    """One figure of several deployments."""

    title: str
    values: Mapping[str, float | None]
    intervals: Mapping[str, Sequence[float] | None]
    show: Formatter


def side_by_side(measures: Sequence[Measure]) -> go.Figure:
    """A panel of bars for each measure, one below the other, a bar for each deployment with its 95 % interval."""
    bars = len(measures[0].values)
    shown = figure("", "", height=70 + len(measures) * (50 + 28 * bars))
    colours = [COLOURS[place % len(COLOURS)] for place in range(bars)]
    for number, measure in enumerate(measures):
        axis = "" if number == 0 else str(number + 1)
        low, high = zip(*(_arms(measure, name) for name in measure.values), strict=True)
        shown.add_bar(
            x=list(measure.values.values()), orientation="h", xaxis=f"x{axis}", yaxis=f"y{axis}",
            y=[f"{safe(name)} · {measure.show(value)}" for name, value in measure.values.items()],
            name=safe(measure.title), marker={"color": colours}, showlegend=False,
            error_x={"array": high, "arrayminus": low, "color": FAINT, "thickness": 1.5},
            hovertemplate="%{y}<extra>%{fullData.name}</extra>",
        )  # fmt: skip
        _panel(shown, axis, measure.title, 1.0 - number / len(measures), 1.0 / len(measures))
    return shown


def _panel(shown: go.Figure, axis: str, title: str, top: float, part: float) -> None:
    """The axes of a panel, and its title above them; names hold the values, so that no tick need to."""
    across_it = {"anchor": f"y{axis}", "rangemode": "tozero", "showticklabels": False, "title": "", "showgrid": False}
    domain = [top - 0.96 * part, top - 0.16 * part]
    up_it = {"anchor": f"x{axis}", "domain": domain, "autorange": "reversed", "automargin": True, "showgrid": False}
    shown.update_layout({f"xaxis{axis}": across_it, f"yaxis{axis}": up_it})
    shown.add_annotation(
        xref="paper", yref="paper", x=0.0, y=domain[1], xanchor="left", yanchor="bottom", showarrow=False,
        text=safe(title), font={"size": 13},
    )  # fmt: skip


def _arms(measure: Measure, name: str) -> tuple[float, float]:
    """How far an interval reaches below and above its value."""
    value, ends = measure.values[name], measure.intervals.get(name)
    if value is None or not ends or not all(map(isfinite, ends)):
        return 0.0, 0.0
    return max(value - ends[0], 0.0), max(ends[1] - value, 0.0)


def side_by_side_alt(measures: Sequence[Measure]) -> str:
    """The same in words."""
    return " ".join(
        f"{measure.title}: {', '.join(f'{name} {measure.show(value)}' for name, value in measure.values.items())}."
        for measure in measures
    )


def schedule_figure(found: Mapping[str, Any]) -> go.Figure:
    """The best K by sequences in flight and context, coloured by what it gains; found: `DraftSchedule.as_json`."""
    columns, sequences = found["contexts"], found["sequences"]
    shown = figure("context of a sequence [tokens]", "sequences in flight", height=max(330, 60 + 26 * len(sequences)))
    gains = np.array([[_gain(column, row) for column in columns] for row in range(len(sequences))])
    texts = [[_best(column, row) for column in columns] for row in range(len(sequences))]
    most = _reach(gains)
    shown.add_heatmap(
        z=np.log(gains), x=[_context(column) for column in columns], y=[count(n) for n in sequences], text=texts,
        texttemplate="%{text}", textfont={"size": 12}, xgap=2, ygap=2, colorscale=list(LOSS_TO_GAIN), zmin=-most,
        zmax=most, showscale=False, hovertemplate="%{y} sequences of %{x} tokens: %{text}<extra></extra>",
    )  # fmt: skip
    shown.update_xaxes(type="category", showgrid=False)
    shown.update_yaxes(type="category", showgrid=False)
    return shown.update_layout(margin={"t": 12})


def _reach(gains: Floats) -> float:
    """How far colours reach on both sides of even, on logarithms."""
    known = gains[np.isfinite(gains)]
    return max(float(np.abs(np.log(known)).max(initial=0.0)), log(1.25))


def _gain(column: Mapping[str, Any], row: int) -> float:
    found = column["gain"][row]
    return float("nan") if found is None else max(float(found), 1e-9)


def _best(column: Mapping[str, Any], row: int) -> str:
    k, gain = column["best_draft_tokens"][row], column["gain"][row]
    return "" if k is None else f"K {k} · {times(gain)}" if k else "off"


def _context(column: Mapping[str, Any]) -> str:
    return f"{count(column['context_tokens'])}{' (yours)' if column['own'] else ''}"


class PayMap(NamedTuple):
    """When one draft pays."""

    sequences: Sequence[float]
    acceptances: Sequence[float]
    speedup: Floats
    """[acceptances, sequences] with the best K of at least 1."""
    best: Floats
    """That K."""
    break_even: Sequence[float]
    """By sequences, the lowest acceptance at which some K is no slower than plain decoding; NaN: at none."""
    own: tuple[float, float]
    """The reader's sequences and acceptance."""


def pay_map(table: PayMap) -> go.Figure:
    """Speed-up by batch and acceptance; the line is where it is even, the star the reader's own point."""
    shown = figure("sequences in flight per replica", "acceptance α, alike at every position", height=470)
    logs = np.log(table.speedup)
    most = _reach(table.speedup)
    ticks = [tick for tick in (FEW_SPEEDUPS if most > log(2.0) else SPEEDUPS) if abs(log(tick)) <= most]
    places = list(range(len(table.sequences)))
    shown.add_heatmap(
        z=logs, x=places, y=list(table.acceptances), customdata=_pay_cells(table), xgap=1, ygap=1, name="speed-up",
        colorscale=list(LOSS_TO_GAIN), zmin=-most, zmax=most, hovertemplate="%{customdata}<extra></extra>",
        colorbar={
            "orientation": "h", "y": -0.22, "yanchor": "top", "thickness": 12, "tickfont": {"size": 12},
            "tickvals": [log(tick) for tick in ticks], "ticktext": [f"{tick:g}×" for tick in ticks], "tickangle": 0,
        },
    )  # fmt: skip
    shown.add_scatter(
        x=places, y=list(table.break_even), mode="lines", line={"color": LIMIT, "width": 3}, connectgaps=False,
        name="even, with your draft", hovertemplate="even at α %{y:.2f}<extra></extra>",
    )  # fmt: skip
    shown.add_scatter(
        x=[places[0] - 0.5, places[-1] + 0.5], y=[ARTICLE_ACCEPTANCE] * 2, mode="lines", hoverinfo="skip",
        line={"color": "#808080", "width": 1.5, "dash": "dot"}, name=f"an article's one line, {ARTICLE_ACCEPTANCE:.2f}",
    )  # fmt: skip
    shown.add_scatter(
        x=[_between(table.own[0], table.sequences)], y=[table.own[1]], mode="markers", marker=STAR, name="your point",
        hovertemplate="your point<extra></extra>",
    )  # fmt: skip
    shown.update_xaxes(tickvals=places, ticktext=[plain_number(n) for n in table.sequences], showgrid=False)
    low, high = min(table.acceptances[0], table.own[1]), max(table.acceptances[-1], table.own[1])
    shown.update_yaxes(showgrid=False, range=[low - 0.03, high + 0.03])
    return shown


def _pay_cells(table: PayMap) -> list[list[str]]:
    """What is said at each cell."""
    return [
        [
            f"{plain_number(n)} sequences, α {alpha:.2f}: "
            + (f"{times(float(gain))} with K = {k:.0f}" if isfinite(gain) else "no place")
            for n, gain, k in zip(table.sequences, gains, best, strict=True)
        ]
        for alpha, gains, best in zip(table.acceptances, table.speedup, table.best, strict=True)
    ]


def _between(value: float, known: Sequence[float]) -> float:
    """Where a value stands between columns that are drawn at equal distances."""
    return float(np.interp(value, known, np.arange(len(known))))


def pay_alt(table: PayMap, said: str) -> str:
    """The same in words; said: the sentence about the reader's own point."""
    known = table.speedup[np.isfinite(table.speedup)]
    if not known.size:
        return "Speed-up by sequences in flight and acceptance: no point has a place."
    return (
        f"Speed-up by sequences in flight and acceptance, from {times(float(known.min()))} to "
        f"{times(float(known.max()))}. {said}"
    )
