"""The tornado: what a deployment costs with each input at both ends of its interval, the widest bar on top."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from app.figures.style import LIMIT, figure, safe, upright
from app.format import percent, usd
from app.tables.sensitivity import UNITS, at, drawn_field, ends_of, turned

LOW, HIGH = "#3f8ea8", "#c58a4a"
"""The low and the high end of an input: neither GPU's colour, and told apart by colour-blind eyes."""

BAR_PX = 36
"""Height of a bar with its label, which has two lines."""

LONGEST_ENDS = 18
"""Characters of an interval that has a line of its own."""

Found = Mapping[str, Any]
"""`Sensitivity.as_json()`."""


def tornado(found: Found, deployment: str | None = None) -> go.Figure:
    """Bars around the cost as the scenario says; a cross stands where somebody else becomes the cheapest.

    deployment: whose cost; None: the winner's.
    """
    name = deployment or found["winner"]
    field, bars = drawn_field(found), list(reversed(found["bars"]))
    shown = figure(UNITS[field], "", height=110 + BAR_PX * max(len(bars), 3))
    for place, (says, colour) in enumerate((("low end", LOW), ("high end", HIGH))):
        _side(shown, bars, name, field, place, says=says, colour=colour)
    _crosses(shown, bars, found["winner"], name, field)
    base = found["costs"][name][field]
    if base is not None:
        upright(shown, base, usd(base))
    shown.update_layout(barmode="overlay", bargap=0.35, hovermode="closest")
    shown.update_xaxes(tickprefix="$")
    return shown.update_yaxes(type="category", categoryorder="array", categoryarray=[_label(bar) for bar in bars])


def _side(
    shown: go.Figure, bars: Sequence[Found], name: str, field: str, place: int, *, says: str, colour: str
) -> None:
    """Bars from the cost as the scenario says to that at one end; none where that end does not hold."""
    kept = [(bar, ends_of(bar, name, field)) for bar in bars]
    known = [
        (bar, base, cost)
        for bar, (low, base, high) in kept
        if base is not None and (cost := (low, high)[place]) is not None
    ]
    shown.add_bar(
        y=[_label(bar) for bar, _, _ in known],
        x=[cost - base for _, base, cost in known],
        base=[base for _, base, _ in known],
        orientation="h", name=says, marker={"color": colour, "opacity": 0.85},
        customdata=[_hover(bar, place, cost) for bar, _, cost in known],
        hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip


def _hover(bar: Found, place: int, cost: float) -> str:
    end = bar["ends"][place]
    cheapest = safe(end["winner"] or "nobody holds")
    return (
        f"{safe(bar['says'])}: {safe(at(end['at']))} · {usd(cost)} · cheapest: {cheapest} · "
        f"{safe(bar['basis'])}: {safe(bar['source'])}"
    )


def _crosses(shown: go.Figure, bars: Sequence[Found], winner: str, name: str, field: str) -> None:
    """Ends at which the winner is no longer the cheapest; one that does not hold has no cost to stand at."""
    there = [
        (_label(bar), cost, end["winner"])
        for bar in bars
        for end, cost in zip(bar["ends"], ends_of(bar, name, field)[::2], strict=True)
        if end["winner"] != winner and cost is not None
    ]
    if there:
        shown.add_scatter(
            y=[label for label, _, _ in there], x=[cost for _, cost, _ in there], mode="markers", name="turns",
            marker={"symbol": "x", "size": 10, "color": LIMIT},
            customdata=[f"here {safe(who or 'nobody')} is the cheapest" for _, _, who in there],
            hovertemplate="%{customdata}<extra></extra>",
        )  # fmt: skip


def _label(bar: Found) -> str:
    """An input, with the ends of its interval, in two lines: a phone has no room for one."""
    low, high = (at(end["at"]) for end in bar["ends"])
    lines = (bar["input"], f"{low} … {high}")
    if len(lines[1]) > LONGEST_ENDS:
        lines = (f"{bar['input']}  {low}", f"… {high}")
    return "<br>".join(map(safe, lines))


def tornado_alt(found: Found) -> str:
    """The same in words."""
    said = []
    for bar in found["bars"]:
        others = turned(bar, found["winner"])
        low, _, high = ends_of(bar, found["winner"], drawn_field(found))
        ends = f"{_cost(low)} to {_cost(high)}"
        said.append(f"{bar['input']} {ends}" + (f", where {' or '.join(others)} is cheaper" if others else ""))
    chance = (
        "" if found["stability"] is None else f" It stays so in {percent(found['stability']['chance'])} of the draws."
    )
    return f"Cost of {found['winner']}, the cheapest, with each input at both ends: {'; '.join(said)}.{chance}"


def _cost(cost: float | None) -> str:
    return "does not hold" if cost is None else usd(cost)
