"""Survival by draft position, as counters have it."""

from collections.abc import Sequence

import plotly.graph_objects as go

from app.figures.style import figure
from app.format import percent

COLOUR = "#3c9d6f"


def survival_figure(survival: Sequence[float], intervals: Sequence[tuple[float, float]] | None) -> go.Figure:
    """Chance that each draft position is accepted at all, with its 95 % interval where steps were counted."""
    shown = figure("draft position", "accepted at all", height=260)
    positions = list(range(1, len(survival) + 1))
    ends = intervals or [(share, share) for share in survival]
    text = [
        f"position {i}: {percent(share)}, 95 % {percent(low)} to {percent(high)} · steps that accepted it ÷ steps"
        for i, share, (low, high) in zip(positions, survival, ends, strict=True)
    ]
    shown.add_bar(
        x=positions, y=list(survival), marker={"color": COLOUR, "opacity": 0.75}, text=[percent(s) for s in survival],
        textposition="inside", insidetextanchor="start", customdata=text, hovertemplate="%{customdata}<extra></extra>",
        error_y={
            "type": "data", "symmetric": False, "thickness": 1.5,
            "array": [high - share for share, (_, high) in zip(survival, ends, strict=True)],
            "arrayminus": [share - low for share, (low, _) in zip(survival, ends, strict=True)],
        },
    )  # fmt: skip
    shown.update_xaxes(dtick=1)
    shown.update_yaxes(range=[0, 1], tickformat=".0%")
    return shown.update_layout(margin={"t": 10})


def survival_alt(survival: Sequence[float]) -> str:
    """The same as `survival_figure` in words."""
    return f"Survival by draft position: {', '.join(percent(share) for share in survival)}."
