"""Latency, goodput and cost against the load, and latency distributions: estimated lines, simulated points."""

from collections.abc import Mapping, Sequence
from itertools import chain
from math import isfinite
from typing import Any, Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go

from app.figures.style import LIMIT, Look, across, figure, log_axis, safe, upright
from app.format import duration, significant, usd
from app.format import limit as limit_text
from app.report.knee import knee
from simulator.planning.load_curve import CurvePoint, LoadCurve

Metric = Literal["ttft_s", "tpot_s", "e2e_s"]

NAMES = {"ttft_s": "TTFT", "tpot_s": "TPOT", "e2e_s": "E2E"}
SAYS = {
    "ttft_s": "arrival to first token, queueing included",
    "tpot_s": "(last − first token) ÷ (output tokens − 1)",
    "e2e_s": "arrival to last token",
}
"""Metric → its formula in a line."""

MARKED = {"p50": 0.50, "p95": 0.95, "p99": 0.99}
STRETCH = 1.05
"""How far beyond the largest load the axis goes."""


class Drawn(NamedTuple):
    """A deployment to draw."""

    name: str
    look: Look
    curve: LoadCurve
    source: str
    """Where its step times come from."""
    row: Mapping[str, Any] | None = None
    """Its simulated row; None: not simulated."""
    evidence: Mapping[str, Any] | None = None
    """What the simulation kept to be drawn."""


class Measure(NamedTuple):
    """What stands on the vertical axis."""

    metric: Metric
    statistic: str
    limit_s: float | None
    """The target; None without one."""

    @property
    def name(self) -> str:
        """As a title says it."""
        return f"{NAMES[self.metric]} {self.statistic}"


def latency_figure(drawn: Sequence[Drawn], measure: Measure) -> go.Figure:
    """A latency against the load: bright up to a dot at the capacity, faint beyond; the knee is a triangle."""
    shown = figure("requests/s", f"{measure.name} [s]")
    for one in drawn:
        points = [(p.req_per_s, p.latencies[measure.metric][measure.statistic]) for p in one.curve.points]
        says = [f"{measure.name} {duration(y)}" for _, y in points]
        _line(shown, one, points, [f"{text}: {SAYS[measure.metric]}" for text in says])
        _knee(shown, one, points)
        _trials(shown, one, measure)
        _at_offered(shown, one, measure)
    values = [value for trace in shown.data for value in trace.y if value and isfinite(value)]
    shown.update_yaxes(**log_axis([*values, *([measure.limit_s] if measure.limit_s else [])], limit_text))
    shown.update_yaxes(title=measure.name)
    if measure.limit_s:
        across(shown, measure.limit_s, f"target {limit_text(measure.limit_s)}")
    return _with_load(shown, drawn)


def goodput_figure(drawn: Sequence[Drawn]) -> go.Figure:
    """Good requests per second against the load; all that are served where there is no target."""
    stated = any(point.good_req_per_s is not None for one in drawn for point in one.curve.points)
    shown = figure("requests/s", "good requests/s" if stated else "served requests/s")
    for one in drawn:
        points = [(p.req_per_s, _good(p)) for p in one.curve.points]
        _line(shown, one, points, [f"{significant(y)} of {significant(x)} requests/s are good" for x, y in points])
        _good_trials(shown, one)
    shown.update_yaxes(rangemode="tozero")
    return _with_load(shown, drawn)


def cost_figure(drawn: Sequence[Drawn]) -> go.Figure:
    """What a million output tokens cost against the load: the cluster costs the same whatever it serves."""
    shown = figure("requests/s", "$ per million output tokens")
    for one in drawn:
        points = [(p.req_per_s, p.usd_per_million_output_tokens) for p in one.curve.points]
        _line(shown, one, points, [f"{usd(y)}: cluster $/h ÷ 3,600 ÷ output tokens/s × 10⁶" for _, y in points])
    values = [value for trace in shown.data for value in trace.y]
    shown.update_yaxes(**log_axis(values, usd))
    return _with_load(shown, drawn)


def distribution_figure(drawn: Sequence[Drawn], metric: Metric, limit_s: float | None = None) -> go.Figure:
    """Share of requests within a latency: simulated where there is a run, else the estimate's sample of requests."""
    shown = figure(NAMES[metric], "share of requests")
    for one in drawn:
        simulated, shares, values = _distribution(one, metric)
        says = "simulated, replication 0" if simulated else "estimated"
        text = [f"{share:.1%} within {duration(value)} · {says}" for share, value in zip(shares, values, strict=True)]
        shown.add_scatter(
            x=values, y=shares, name=safe(one.name), mode="lines", line=one.look.line, text=text,
            hovertemplate="%{fullData.name}: %{text}<extra></extra>", legendgroup=one.name,
        )  # fmt: skip
        marked = [(float(np.interp(share, shares, values)), share, name) for name, share in MARKED.items() if values]
        shown.add_scatter(
            x=[x for x, *_ in marked], y=[y for _, y, _ in marked], mode="markers", marker=one.look.marker,
            text=[f"{name} {duration(x)}" for x, _, name in marked], legendgroup=one.name, showlegend=False,
            name=safe(one.name), hovertemplate="%{fullData.name}: %{text}<extra></extra>",
        )  # fmt: skip
    values = [value for trace in shown.data for value in trace.x if value and value > 0]
    shown.update_xaxes(**log_axis(values, limit_text, most=6), tickangle=0)
    shown.update_yaxes(range=[0, 1.02], tickformat=".0%")
    if limit_s:
        upright(shown, limit_s, f"target {limit_text(limit_s)}", LIMIT)
    return shown


def knee_of(curve: LoadCurve) -> float | None:
    """Load with the most throughput for its mean response time, within the curve [requests/s]."""
    return knee([(point.req_per_s, point.latencies["e2e_s"]["mean"] or 0.0) for point in curve.points])


def between(x: float, points: Sequence[tuple[float, float]]) -> float | None:
    """Value at a place between known points; None without any.

    >>> between(1.5, [(1.0, 10.0), (2.0, 20.0)])
    15.0
    """
    return float(np.interp(x, [at for at, _ in points], [y for _, y in points])) if points else None


def latency_alt(drawn: Sequence[Drawn], measure: Measure) -> str:
    """The same as `latency_figure` in words."""
    said = []
    for one in drawn:
        points = [(p.req_per_s, p.latencies[measure.metric][measure.statistic] or 0.0) for p in one.curve.points]
        at = between(one.curve.offered_req_per_s, points)
        bend = knee_of(one.curve)
        said.append(
            f"{one.name}: {duration(at)} at {significant(one.curve.offered_req_per_s)} requests/s, capacity "
            f"{significant(one.curve.capacity_req_per_s)}, knee {significant(bend)}"
        )
    target = f", target {limit_text(measure.limit_s)}" if measure.limit_s else ""
    return f"{measure.name} against requests per second{target}. {'; '.join(said)}."


def goodput_alt(drawn: Sequence[Drawn]) -> str:
    """The same as `goodput_figure` in words."""
    best = ((one.name, max((_good(point) for point in one.curve.points), default=0.0)) for one in drawn)
    return f"Good requests per second against load. Most: {'; '.join(f'{n} {significant(y)}' for n, y in best)}."


def cost_alt(drawn: Sequence[Drawn]) -> str:
    """The same as `cost_figure` in words."""
    said = []
    for one in drawn:
        known = [(p.req_per_s, p.usd_per_million_output_tokens or 0.0) for p in one.curve.points]
        at = between(one.curve.capacity_req_per_s, known)
        said.append(f"{one.name} {usd(at)} at its capacity of {significant(one.curve.capacity_req_per_s)} requests/s")
    return f"Dollars per million output tokens against load. {'; '.join(said)}."


def distribution_alt(drawn: Sequence[Drawn], metric: Metric) -> str:
    """The same as `distribution_figure` in words."""
    said = []
    for one in drawn:
        _, shares, values = _distribution(one, metric)
        marked = (f"{name} {duration(float(np.interp(share, shares, values)))}" for name, share in MARKED.items())
        said.append(f"{one.name}: {', '.join(marked) if values else 'nothing known'}")
    return f"Distribution of {NAMES[metric]}. {'; '.join(said)}."


def _good(point: CurvePoint) -> float:
    return point.req_per_s if point.good_req_per_s is None else point.good_req_per_s


def _line(shown: go.Figure, one: Drawn, points: Sequence[tuple[float, float | None]], says: Sequence[str]) -> None:
    """An estimated line, in two traces: up to the capacity, and beyond it."""
    capacity = one.curve.capacity_req_per_s * (1 + 1e-9)
    split = sum(1 for x, _ in points if x <= capacity)
    parts = ((0, split, 1.0), (max(split - 1, 0), len(points), 0.35))
    for begin, end, opacity in parts:
        if end - begin < (1 if opacity == 1.0 else 2):
            continue
        shown.add_scatter(
            x=[x for x, _ in points[begin:end]], y=[y for _, y in points[begin:end]],
            mode="lines+markers" if opacity == 1.0 else "lines", opacity=opacity, name=safe(one.name),
            marker={**one.look.marker, "size": [0] * (end - begin - 1) + [9]},
            line={**one.look.line, "shape": "spline", "smoothing": 0.4},
            legendgroup=one.name, showlegend=opacity == 1.0 or split == 0,
            text=[
                f"{text} at {significant(x)} requests/s · estimated, {safe(one.source)}"
                for text, (x, _) in zip(says[begin:end], points[begin:end], strict=True)
            ],
            hovertemplate="%{fullData.name}: %{text}<extra></extra>",
        )  # fmt: skip


def _knee(shown: go.Figure, one: Drawn, points: Sequence[tuple[float, float | None]]) -> None:
    bend = knee_of(one.curve)
    if bend is None:
        return
    at = between(bend, [(x, y or 0.0) for x, y in points]) or 0.0
    _marker(
        shown, one, [bend], [at], symbol="triangle-up",
        says=[f"knee {significant(bend)} requests/s: the most throughput ÷ mean E2E (Kleinrock 1979)"],
    )  # fmt: skip


def _marker(
    shown: go.Figure, one: Drawn, x: Sequence[float], y: Sequence[float], *, says: Sequence[str],
    symbol: str | None = None, faint: bool = False, error: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    if not x:
        return
    marker = one.look.marker | ({} if symbol is None else {"symbol": symbol}) | ({"size": 6} if faint else {})
    shown.add_scatter(
        x=x, y=y, mode="markers", marker=marker, opacity=0.5 if faint else 1.0, error_y=error, text=says,
        name=safe(one.name), legendgroup=one.name, showlegend=False,
        hovertemplate="%{fullData.name}: %{text}<extra></extra>",
    )  # fmt: skip


def _known_trials(one: Drawn, field: str) -> list[Mapping[str, Any]]:
    """Simulated loads of which a field is known."""
    trials = (one.evidence or {}).get("trials") or ()
    return [trial for trial in trials if trial.get(field) is not None and trial["req_per_s"]]


def _trials(shown: go.Figure, one: Drawn, measure: Measure) -> None:
    """The loads that a simulation tried, saturated ones left out: what their latencies are grows with the run."""
    known = [t for t in _known_trials(one, f"{measure.metric}_{measure.statistic}") if not t["saturated"]]
    values = [float(trial[f"{measure.metric}_{measure.statistic}"]) for trial in known]
    says = [
        f"{measure.name} {duration(value)} at {significant(trial['req_per_s'])} requests/s · simulated, "
        f"replication {trial['replication']}"
        for trial, value in zip(known, values, strict=True)
    ]
    _marker(shown, one, [float(trial["req_per_s"]) for trial in known], values, says=says, faint=True)


def _good_trials(shown: go.Figure, one: Drawn) -> None:
    known = _known_trials(one, "goodput_req_per_s")
    says = [f"{significant(t['goodput_req_per_s'])} good requests/s · simulated" for t in known]
    values = [float(trial["goodput_req_per_s"]) for trial in known]
    _marker(shown, one, [float(trial["load"]) for trial in known], values, says=says, faint=True)


def _at_offered(shown: go.Figure, one: Drawn, measure: Measure) -> None:
    """The simulated figure at the offered load with its 95 % interval over replications."""
    value = ((one.row or {}).get(measure.metric) or {}).get(measure.statistic)
    if one.row is None or value is None or not one.row.get("req_per_s") or one.row.get("saturated"):
        return
    ends = (one.row.get("interval") or {}).get(f"{measure.metric}.{measure.statistic}")
    said = f", 95 % {duration(ends[0])} to {duration(ends[1])}" if ends else ""
    error = None
    if ends:
        up, down = max(ends[1] - value, 0.0), max(value - ends[0], 0.0)
        error = {"type": "data", "array": [up], "arrayminus": [down], "color": one.look.colour, "thickness": 1.5}
    _marker(
        shown, one, [one.row["req_per_s"]], [value], error=error,
        says=[f"{measure.name} {duration(value)}{said} at the offered load · simulated"],
    )  # fmt: skip


def _distribution(one: Drawn, metric: Metric) -> tuple[bool, list[float], list[float]]:
    """Whether it was simulated, shares, and the latencies that they stay within."""
    run = (one.evidence or {}).get("run")
    if run and run["quantiles"].get(metric):
        return True, list(run["shares"]), list(run["quantiles"][metric])
    values = one.curve.quantiles[metric]
    return False, one.curve.shares if values else [], values


def _with_load(shown: go.Figure, drawn: Sequence[Drawn]) -> go.Figure:
    """The offered load as an upright, and an axis that ends a little beyond the last capacity."""
    offered = max((one.curve.offered_req_per_s for one in drawn), default=0.0)
    reach = chain((offered,), (point.req_per_s for one in drawn for point in one.curve.points))
    shown.update_xaxes(range=[0.0, max(reach, default=1.0) * STRETCH])
    if offered > 0:
        upright(shown, offered, "offered")
    return shown
