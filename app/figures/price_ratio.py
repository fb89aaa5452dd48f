"""Where the winner flips: the cost of two deployments against the ratio of their GPUs' prices."""

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from app.figures import style
from app.format import significant, usd

BASES = {
    "usd_per_hour_for_offered": "$/h for the load",
    "usd_per_million_output_tokens_at_capacity": "$ per M output tokens at capacity",
}


def price_ratio(winner: Mapping[str, Any], other: Mapping[str, Any], comparison: Mapping[str, Any]) -> go.Figure:
    """Cost of both where the other's GPU keeps its price, up to beyond the ratio at which they tie."""
    basis, flip = str(comparison["basis"]), comparison["flip"]
    now, tie, most = flip["now"], flip["tie"], 1.35 * max(flip["now"], flip["tie"])
    gpus = {row["deployment"]: (row["gpu"], bool(row.get("draft_tokens_mean"))) for row in (winner, other)}
    looks = style.looks(gpus)
    drawn = style.figure(
        f"price of a {winner['gpu']} ÷ price of a {other['gpu']}, per GPU-hour", BASES[basis], height=250
    )
    own, cost = looks[winner["deployment"]], winner[basis]
    drawn.add_scatter(
        x=[0, most], y=[0, cost * most / now], mode="lines", line=own.line, name=style.safe(winner["deployment"]),
        hoverinfo="skip",
    )  # fmt: skip
    drawn.add_scatter(
        x=[0, most], y=[other[basis]] * 2, mode="lines", line=looks[other["deployment"]].line,
        name=style.safe(other["deployment"]), hoverinfo="skip",
    )  # fmt: skip
    drawn.add_scatter(
        x=[now], y=[cost], mode="markers", marker=own.marker | {"size": 12}, showlegend=False,
        hovertemplate=f"now: {significant(now)} times, {usd(cost)}<extra></extra>",
    )  # fmt: skip
    style.upright(drawn, tie, f"tie at {significant(tie)}×")
    style.upright(drawn, now, f"now {significant(now)}×")
    drawn.update_xaxes(range=[0, most])
    drawn.update_yaxes(rangemode="tozero", tickprefix="$")
    return drawn


def price_ratio_alt(winner: Mapping[str, Any], other: Mapping[str, Any], comparison: Mapping[str, Any]) -> str:
    """The same in words."""
    flip = comparison["flip"]
    return (
        f"Cost of {winner['deployment']} and {other['deployment']} against the price ratio of {winner['gpu']} to "
        f"{other['gpu']}: they tie at {significant(flip['tie'])} times, now it is {significant(flip['now'])} times."
    )
