"""What arrives: requests per second over time, and how long prompts and outputs are."""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from app.figures.style import FAINT, LIMIT, Look, figure, log_axis, safe, upright
from app.format import count, duration, percent, significant
from app.report.scales import plain_number

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WINDOWS_S = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400)
"""Lengths of a bar [s]."""
MOST_BARS = 120

COLOUR = "#4f7f9d"
LENGTHS = (("prompt", "#2f86d1", "solid", "circle"), ("output", "#c2549a", "dash", "diamond"))
"""Name, colour, line, marker: never told apart by colour alone."""
LEVELS = np.concatenate((np.linspace(0.0, 0.95, 77), np.linspace(0.955, 1.0, 10)))
"""Shares of requests at which lengths are told."""
MARKED = {"p50": 0.50, "p95": 0.95}


def window_s(span_s: float) -> float:
    """Length of a bar such that a span takes at most 120 of them, round where it can be [s].

    >>> window_s(600.0), window_s(0.0)
    (5, 0.1)
    """
    return next((w for w in WINDOWS_S if span_s <= MOST_BARS * w), float(ceil(span_s / MOST_BARS)))


def by_window(times_s: Floats) -> tuple[float, Floats]:
    """Length of a window [s], and requests per second in each, from the first request to the last whole window."""
    since = times_s - times_s[0]
    window = window_s(float(since[-1]))
    counts = np.bincount((since / window).astype(np.int64))
    whole = counts[:-1] if counts.size > 1 else counts
    return window, whole / window


def arrivals_figure(times_s: Floats, capacities: Mapping[str, tuple[float, Look]]) -> go.Figure:
    """Requests per second over time, their mean, and the rates that deployments hold.

    capacities: deployment → its capacity [requests/s] and its look.
    """
    window, rates = by_window(times_s)
    at = (np.arange(rates.size) * window).tolist()
    shown = figure("time [s]", "requests/s", height=300)
    shown.add_bar(
        x=at, y=rates.tolist(), width=window, offset=0, name=f"in {duration(window)}", showlegend=False,
        marker={"color": COLOUR, "line": {"width": 0}},
        customdata=[f"{significant(rate)} requests/s from {duration(begin)} on, in {duration(window)}"
                    for begin, rate in zip(at, rates.tolist(), strict=True)],
        hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip
    end = float(at[-1] + window)
    for name, (capacity, look) in capacities.items():
        shown.add_scatter(
            x=[0.0, end], y=[capacity, capacity], mode="lines", line=look.line, name=f"capacity of {safe(name)}",
            text=[f"{significant(capacity)} requests/s"] * 2, hovertemplate="%{fullData.name}: %{text}<extra></extra>",
        )  # fmt: skip
    mean = float(rates.mean())
    shown.add_scatter(
        x=[0.0, end], y=[mean, mean], mode="lines", line={"color": FAINT, "dash": "dot", "width": 2},
        name=f"mean {significant(mean)}", hoverinfo="skip",
    )  # fmt: skip
    shown.update_xaxes(range=[0.0, end])
    shown.update_yaxes(rangemode="tozero")
    return shown.update_layout(bargap=0)


def arrivals_alt(times_s: Floats, capacities: Mapping[str, tuple[float, Look]]) -> str:
    """The same as `arrivals_figure` in words."""
    window, rates = by_window(times_s)
    over = (
        f"{name} holds {significant(capacity)}, exceeded in {percent(float((rates > capacity).mean()))} of them"
        for name, (capacity, _) in capacities.items()
    )
    said = "; ".join(over)
    return (
        f"Requests per second in {count(rates.size)} windows of {duration(window)}: mean {significant(rates.mean())}, "
        f"highest {significant(rates.max())}{f'. {said}' if said else ''}."
    )


def lengths_figure(prompts: Ints, outputs: Ints, longest: Mapping[str, int]) -> go.Figure:
    """Share of requests within a length; uprights where deployments end a sequence.

    longest: deployment → most tokens of prompt and output together.
    """
    shown = figure("tokens", "share of requests", height=300)
    for tokens, (name, colour, dash, symbol) in zip((prompts, outputs), LENGTHS, strict=True):
        values = np.quantile(tokens, LEVELS)
        _line(shown, values.tolist(), name, {"color": colour, "dash": dash, "width": 2})
        marked = {said: float(np.quantile(tokens, share)) for said, share in MARKED.items()}
        shown.add_scatter(
            x=list(marked.values()), y=list(MARKED.values()), mode="markers", showlegend=False, name=name,
            marker={"color": colour, "symbol": symbol, "size": 9},
            text=[f"{said} {count(value)} tokens" for said, value in marked.items()],
            hovertemplate="%{fullData.name}: %{text}<extra></extra>",
        )  # fmt: skip
    ends = [float(end) for tokens in (prompts, outputs) for end in (tokens.min(), tokens.max())]
    shown.update_xaxes(**log_axis([*ends, *map(float, longest.values())], plain_number, most=7), tickangle=0)
    for most in sorted(set(longest.values())):
        upright(shown, most, f"longest {count(most)}", LIMIT)
    return shown.update_yaxes(range=[0, 1.02], tickformat=".0%")


def _line(shown: go.Figure, values: Sequence[float], name: str, line: Mapping[str, Any]) -> None:
    shown.add_scatter(
        x=values, y=LEVELS.tolist(), mode="lines", name=name, line=line,
        text=[f"{share:.1%} have at most {count(value)} tokens" for share, value in zip(LEVELS, values, strict=True)],
        hovertemplate="%{fullData.name}: %{text}<extra></extra>",
    )  # fmt: skip


def lengths_alt(prompts: Ints, outputs: Ints, longest: Mapping[str, int]) -> str:
    """The same as `lengths_figure` in words."""
    said = []
    for tokens, (name, *_) in zip((prompts, outputs), LENGTHS, strict=True):
        p50, p95 = np.quantile(tokens, list(MARKED.values()))
        said.append(
            f"{name} mean {count(float(tokens.mean()))}, p50 {count(p50)}, p95 {count(p95)}, "
            f"longest {count(float(tokens.max()))}"
        )
    ends = "; ".join(f"{name} ends a sequence at {count(most)}" for name, most in longest.items())
    return f"Tokens of prompts and outputs: {'; '.join(said)}{f'. {ends}' if ends else ''}."
