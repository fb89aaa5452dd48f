"""Predicted against measured, point by point, and the error of each profile on rows that it was not fitted on."""

from collections.abc import Callable, Sequence
from math import isfinite
from statistics import fmean, median
from typing import NamedTuple

import plotly.graph_objects as go

from app.figures.style import FAINT, figure, gpu_look, log_axis, safe
from app.format import duration, percent, signed, significant
from app.format import limit as limit_text
from app.report.parity import WITHIN
from app.report.scales import plain_number

ENGINE_MARKS = {"vllm": "", "trtllm": "-x", "sglang": "-cross"}
"""Engine → what its marker has inside."""

INSIDE = "#ffffff"
"""Outline of a filled marker, and what it has inside."""


class Pair(NamedTuple):
    """One measurement and its prediction."""

    id: str
    engine: str
    gpu: str
    says: str
    """Its configuration in a line."""
    predicted: float
    measured: float
    fitted: bool
    """Whether a constant of its engine was fitted on its group."""
    source: str


class Errors(NamedTuple):
    """How far predictions lie from measurements, as fractions."""

    num_rows: int
    median_ape: float | None
    mean_ape: float | None
    bias: float | None
    """Mean of predicted ÷ measured − 1."""


class HeldOutError(NamedTuple):
    """Error of a profile on a group of rows that no constant was fitted on."""

    profile: str
    engine: str
    gpu: str
    group: str
    num_rows: int
    median_ape: float
    mean_ape: float
    bias: float


def errors(pairs: Sequence[Pair]) -> Errors:
    """Median and mean absolute percentage error, and bias.

    >>> pair = Pair("a", "vllm", "h200-sxm", "", 1.1, 1.0, False, "")
    >>> round(errors([pair]).bias, 3)
    0.1
    """
    ratios = [one.predicted / one.measured for one in pairs if isfinite(one.predicted) and one.measured > 0]
    if not ratios:
        return Errors(0, None, None, None)
    apart = [abs(ratio - 1.0) for ratio in ratios]
    return Errors(len(ratios), median(apart), fmean(apart), fmean(ratios) - 1.0)


def parity_figure(pairs: Sequence[Pair], *, seconds: bool) -> go.Figure:
    """Predicted against measured on logarithmic axes; filled: a constant was fitted on the group, hollow: none was."""
    label: Callable[[float], str] = duration if seconds else significant
    unit = "" if seconds else " [output tokens/s per GPU]"
    shown = figure(f"measured{unit}", f"predicted{unit}", height=430)
    values = [value for one in pairs for value in (one.predicted, one.measured) if value > 0]
    axis = log_axis(values, limit_text if seconds else plain_number)
    ends = [10 ** axis["range"][0], 10 ** axis["range"][1]]
    for factor, dash in ((1.0, "solid"), (WITHIN, "dot"), (1 / WITHIN, "dot")):
        shown.add_scatter(
            x=ends, y=[end * factor for end in ends], mode="lines", line={"color": FAINT, "dash": dash, "width": 1},
            hoverinfo="skip", showlegend=False,
        )  # fmt: skip
    gpus = [one.gpu for one in pairs]
    for engine, gpu in sorted({(one.engine, one.gpu) for one in pairs}):
        _dots(shown, [one for one in pairs if (one.engine, one.gpu) == (engine, gpu)], gpus, label)
    shown.update_xaxes(**axis)
    shown.update_yaxes(**axis)
    return shown


def _dots(shown: go.Figure, pairs: Sequence[Pair], gpus: Sequence[str], label: Callable[[float], str]) -> None:
    """All points of one engine on one GPU."""
    engine, gpu = pairs[0].engine, pairs[0].gpu
    colour, symbol = gpu_look(gpu, gpus)
    mark = symbol + (ENGINE_MARKS.get(engine, "-dot") if symbol in ("circle", "diamond", "square") else "")
    text = [
        f"{safe(one.says)}: {label(one.predicted)} predicted, {label(one.measured)} measured, "
        f"{signed(one.predicted / one.measured - 1)} · {safe(one.source)}"
        for one in pairs
    ]
    shown.add_scatter(
        x=[one.measured for one in pairs], y=[one.predicted for one in pairs], mode="markers", text=text,
        name=safe(f"{engine} {gpu}"), hovertemplate="%{text}<extra></extra>",
        marker={"symbol": [mark if one.fitted else f"{mark}-open" for one in pairs], "color": colour, "size": 10,
                "line": {"width": 1.3, "color": [INSIDE if one.fitted else colour for one in pairs]}},
    )  # fmt: skip


def held_out_figure(found: Sequence[HeldOutError]) -> go.Figure:
    """Median and mean error of each profile and group: a dot, and a line on to the mean."""
    names = [f"{safe(one.group)}<br>{safe(one.profile)}" for one in found]
    shown = figure("absolute error", "", height=130 + 38 * len(found))
    gpus = [one.gpu for one in found]
    for gpu in dict.fromkeys(gpus):
        mine = [(name, one) for name, one in zip(names, found, strict=True) if one.gpu == gpu]
        colour, symbol = gpu_look(gpu, gpus)
        gaps = [max(one.mean_ape - one.median_ape, 0.0) for _, one in mine]
        shown.add_scatter(
            x=[one.median_ape for _, one in mine], y=[name for name, _ in mine], mode="markers", name=safe(gpu),
            marker={"symbol": symbol, "color": colour, "size": 10},
            error_x={"type": "data", "symmetric": False, "array": gaps, "arrayminus": [0.0] * len(mine), "width": 0,
                     "color": colour, "thickness": 2},
            text=[_held_out_says(one) for _, one in mine], hovertemplate="%{text}<extra></extra>",
        )  # fmt: skip
    shown.update_xaxes(tickformat=".0%", rangemode="tozero")
    shown.update_yaxes(autorange="reversed")
    return shown


def _held_out_says(one: HeldOutError) -> str:
    return (
        f"{safe(one.group)}: median {percent(one.median_ape)}, mean {percent(one.mean_ape)}, bias {signed(one.bias)} "
        f"over {one.num_rows} rows · |predicted ÷ measured − 1|"
    )


def parity_alt(pairs: Sequence[Pair], metric: str) -> str:
    """The same as `parity_figure` in words."""
    found = errors(pairs)
    if not found.num_rows:
        return f"{metric}: nothing to compare."
    return (
        f"{metric}, predicted against measured over {found.num_rows} rows: median error {percent(found.median_ape)}, "
        f"mean {percent(found.mean_ape)}, bias {signed(found.bias)}."
    )


def held_out_alt(found: Sequence[HeldOutError]) -> str:
    """The same as `held_out_figure` in words."""
    said = (f"{one.group}, {one.profile}: {percent(one.median_ape)} median" for one in found)
    return f"Error on held-out rows. {'; '.join(said)}."
