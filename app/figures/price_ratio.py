"""Where the winner flips: the cost of two deployments against the ratio of their GPUs' prices."""

from functools import lru_cache
from typing import Any, NamedTuple

import plotly.graph_objects as go

from app.figures import style
from app.format import significant, usd

BASES = {
    "usd_per_hour_for_offered": "$/h for the load",
    "usd_per_million_output_tokens_at_capacity": "$ per M output tokens at capacity",
}


class Side(NamedTuple):
    """A deployment, and what it costs on the basis of the comparison."""

    deployment: str
    gpu: str
    speculates: bool
    cost: float


class Tie(NamedTuple):
    """Two deployments on different GPU types, and the ratio of prices at which they cost the same."""

    winner: Side
    other: Side
    basis: str
    """Field of the row by which they are compared."""
    now: float
    """Price of the winner's GPU ÷ price of the other's."""
    at: float
    """The same where they tie."""
    interval: tuple[float, float] | None
    """Where the tie lies with a chance of 95 %; None where it is not known."""


@lru_cache(maxsize=64)
def price_ratio(tie: Tie) -> go.Figure:
    """Cost of both where the other's GPU keeps its price; shaded: where the tie lies with a chance of 95 %."""
    winner, other = tie.winner, tie.other
    now, most = tie.now, 1.35 * max(tie.now, tie.at)
    looks = style.looks({side.deployment: (side.gpu, side.speculates) for side in (winner, other)})
    own = looks[winner.deployment]
    drawn = style.figure(f"price of {winner.gpu} ÷ {other.gpu}", BASES[tie.basis], height=250)
    drawn.add_scatter(
        x=[0, most], y=[0, winner.cost * most / now], mode="lines", line=own.line, name=style.safe(winner.deployment),
        hoverinfo="skip",
    )  # fmt: skip
    drawn.add_scatter(
        x=[0, most], y=[other.cost] * 2, mode="lines", line=looks[other.deployment].line,
        name=style.safe(other.deployment), hoverinfo="skip",
    )  # fmt: skip
    _point(drawn, now, winner.cost, f"now {significant(now)}×", own.marker, "bottom right")
    _point(drawn, tie.at, other.cost, f"tie {significant(tie.at)}×", own.marker | {"symbol": "x-thin"}, "top left")
    if tie.interval is not None:
        low, high = tie.interval
        drawn.add_vrect(x0=low, x1=min(high, most), fillcolor=style.GRID, line_width=0, layer="below")
    drawn.update_xaxes(range=[0, most])
    drawn.update_yaxes(rangemode="tozero", tickprefix="$")
    return drawn


def _point(drawn: go.Figure, x: float, y: float, says: str, marker: dict[str, Any], where: str) -> None:
    drawn.add_scatter(
        x=[x], y=[y], mode="markers+text", marker=marker | {"size": 11}, text=[says], textposition=where,
        showlegend=False, hovertemplate=f"{says}, {usd(y)}<extra></extra>",
    )  # fmt: skip


def price_ratio_alt(tie: Tie) -> str:
    """The same in words."""
    return (
        f"Cost of {tie.winner.deployment} and {tie.other.deployment} against the price ratio of "
        f"{tie.winner.gpu} to {tie.other.gpu}: they tie at {significant(tie.at)} times, now it is "
        f"{significant(tie.now)} times."
    )
