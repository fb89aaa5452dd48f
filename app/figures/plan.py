"""What a plan weighs: dollars per hour against latency, and as size the GPUs; one mark a candidate."""

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite, sqrt
from typing import Any

import plotly.graph_objects as go

from app.figures.load import Measure
from app.figures.style import FAINT, GRID, across, figure, gpu_look, log_axis, safe
from app.format import duration, plural, usd
from app.format import limit as limit_text

Point = Mapping[str, Any]
"""A candidate, as in `plan --json`."""

SMALLEST_PX, LARGEST_PX = 8.0, 30.0
"""Width of a mark of one GPU, and of the most GPUs of the plan."""

CHOICE = "#f2c200"
"""Ring round the choice."""


def pareto_figure(points: Sequence[Point], pareto: Sequence[str], choice: str | None, measure: Measure) -> go.Figure:
    """Cost against latency: full marks cannot be beaten in cost, latency and GPUs at once, faint ones can.

    A cross is no answer. Marks are hollow without speculation; their size is the number of GPUs.
    """
    shown = figure("$/h at the load", measure.name, height=420)
    known = [point for point in points if latency(point, measure) is not None and point.get("usd_per_hour")]
    _front(shown, [point for point in known if point["name"] in pareto], measure)
    for gpu in dict.fromkeys(str(point["gpu"]) for point in known):
        for beaten in (True, False):
            some = [p for p in known if p["gpu"] == gpu and (p["name"] not in pareto) == beaten]
            _marks(shown, some, known, measure, beaten=beaten)
    _ring(shown, [point for point in known if point["name"] == choice], known, measure)
    values = [value for point in known if (value := latency(point, measure)) is not None]
    shown.update_yaxes(**log_axis([*values, *([measure.limit_s] if measure.limit_s else [])] or [1.0], limit_text))
    shown.update_xaxes(tickprefix="$", rangemode="tozero")
    if measure.limit_s:
        across(shown, measure.limit_s, f"target {limit_text(measure.limit_s)}")
    return shown


def latency(point: Point, measure: Measure) -> float | None:
    """A candidate's latency [s]; None where it is not known, as of one that was ruled out by a bound."""
    value = (point.get(measure.metric) or {}).get(measure.statistic)
    return float(value) if value and isfinite(value) else None


def _front(shown: go.Figure, best: Sequence[Point], measure: Measure) -> None:
    line = sorted((float(point["usd_per_hour"]), latency(point, measure)) for point in best)
    shown.add_scatter(
        x=[x for x, _ in line], y=[y for _, y in line], mode="lines", line={"color": GRID, "width": 2, "dash": "dot"},
        hoverinfo="skip", showlegend=False,
    )  # fmt: skip


def _marks(shown: go.Figure, some: Sequence[Point], known: Sequence[Point], measure: Measure, *, beaten: bool) -> None:
    if not some:
        return
    gpu = str(some[0]["gpu"])
    colour, symbol = gpu_look(gpu, [str(point["gpu"]) for point in known])
    shown.add_scatter(
        x=[point["usd_per_hour"] for point in some], y=[latency(point, measure) for point in some], mode="markers",
        name=safe(gpu) + (", can be beaten" if beaten else ""), opacity=0.35 if beaten else 1.0,
        marker={
            "color": colour, "symbol": [_symbol(point, symbol) for point in some],
            "size": [size_px(point, known) for point in some], "line": {"width": 1.5, "color": colour},
        },
        customdata=[[str(point["name"]), _says(point, measure)] for point in some],
        hovertemplate="%{customdata[1]}<extra></extra>",
    )  # fmt: skip


def _symbol(point: Point, symbol: str) -> str:
    """Plotly's marker of a candidate."""
    if point.get("why_not"):
        return "x-thin"
    return symbol if speculates(point) else f"{symbol}-open"


def speculates(point: Point) -> bool:
    """Whether drafts are part of a candidate."""
    return bool(point.get("speculation"))


def size_px(point: Point, known: Sequence[Point]) -> float:
    """Width of a candidate's mark: its area grows with its GPUs."""
    most = max(float(other["num_gpus"]) for other in known)
    share = sqrt(float(point["num_gpus"]) / most) if most else 0.0
    return SMALLEST_PX + (LARGEST_PX - SMALLEST_PX) * share


def _ring(shown: go.Figure, chosen: Sequence[Point], known: Sequence[Point], measure: Measure) -> None:
    for point in chosen:
        shown.add_scatter(
            x=[point["usd_per_hour"]], y=[latency(point, measure)], mode="markers+text", hoverinfo="skip",
            text=["choice"], textposition="top center", textfont={"color": FAINT}, showlegend=False,
            marker={"symbol": "circle-open", "size": size_px(point, known) + 10, "color": CHOICE,
                    "line": {"width": 3, "color": CHOICE}},
        )  # fmt: skip


def _says(point: Point, measure: Measure) -> str:
    return "<br>".join(safe(line) for line in _lines(point, measure))


def _lines(point: Point, measure: Measure) -> Iterator[str]:
    yield str(point["name"])
    yield f"{point['num_gpus']:,} × {point['gpu']}, {plural(int(point['replicas']), 'replica')}"
    yield f"{usd(point['usd_per_hour'])}/h, {usd(point.get('usd_per_million_output_tokens'))} per M output tokens"
    yield f"{measure.name} {duration(latency(point, measure))}, {point['method']}"
    if point.get("why_not"):
        yield f"no answer: {point['why_not']}"


def pareto_alt(points: Sequence[Point], pareto: Sequence[str], choice: str | None, measure: Measure) -> str:
    """The same as `pareto_figure` in words."""
    drawn = [point for point in points if latency(point, measure) is not None and point.get("usd_per_hour")]
    best = sorted((p for p in drawn if p["name"] in pareto), key=lambda point: float(point["usd_per_hour"]))
    said = "; ".join(
        f"{point['name']} {usd(point['usd_per_hour'])}/h, {duration(latency(point, measure))}, {point['num_gpus']} GPUs"
        for point in best
    )
    chosen = f" The choice is {choice}." if choice else " There is no choice."
    return (
        f"$ per hour against {measure.name} of {plural(len(drawn), 'candidate')}; not beaten: {said or 'none'}.{chosen}"
    )
