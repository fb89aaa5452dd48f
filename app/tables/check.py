"""Predicted against measured on this device, on the screen: the goals, the points, what drafts gain."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from app.format import ABSENT, count, cut, duration, significant, times
from app.tables.figures import LATENCIES

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

LEGEND = """\
Error: predicted ÷ measured − 1, the mean of both runs; apart: how far the two runs of a point differ. A goal is the
larger of its figure and 1.5 × apart. At pace: the mean error, had every step been predicted as slow as steps of the
profile were beside that run."""
TIMING = "In brackets: errors with acceptance as measured, that is of timing alone."


def error(value: float | None, *, sign: bool = True) -> str:
    """An error in percent.

    >>> error(0.0123), error(-0.2), error(0.05, sign=False), error(None)
    ('+1.2 %', '-20.0 %', '5.0 %', '–')
    """
    if value is None:
        return ABSENT
    return f"{value * 100:{'+' if sign else ''}.1f} %"


def verdict(line: Mapping[str, Any]) -> str:
    """Whether a goal is met.

    >>> verdict({"passed": True, "by_scatter": 2, "count": 3}), verdict({"passed": None})
    ('yes, 2 only by scatter', 'no points')
    """
    if line["passed"] is None:
        return "no points"
    scatter = f", {line['by_scatter']} only by scatter" if line["passed"] and line["by_scatter"] else ""
    return ("yes" if line["passed"] else "no") + scatter


def goal(line: Mapping[str, Any]) -> str:
    """What a goal asks for.

    >>> goal({"goal": 0.05}), goal({"goal": 0.0})
    ('≤ 5 %', 'exact')
    """
    return f"≤ {line['goal'] * 100:g} %" if line["goal"] else "exact"


def check_blocks(found: Mapping[str, Any]) -> "Iterator[RenderableType]":
    """All that is shown of a check."""
    from rich.text import Text

    yield goals_table(found["lines"])
    yield Text()
    yield points_table(found["points"])
    yield Text(LEGEND, style="dim")
    for name, (before, after) in found["about"]["since_profile"].items():
        yield Text(f"{name}: the profile's own steps now take {error(before)} (before) and {error(after)} (after).")
    if found["best"]:
        yield Text()
        yield gains_table(found)
    yield from (Text(f"Not replayed alike: {one}") for one in differences(found["points"]))


def differences(points: Sequence[Mapping[str, Any]]) -> list[str]:
    """Where the simulation planned another step than the engine."""
    return [
        f"{point['key']}: {replay['first_difference']}"
        for point in points
        for replay in point["replay"]
        if replay["first_difference"]
    ]


def goals_table(lines: Sequence[Mapping[str, Any]]) -> "Table":
    """A line a goal."""
    table = _table("Predicted against measured on this device")
    for name in ("goal", "", "points held", "mean error", "worst", "worst at", "runs apart", "at pace", "met"):
        table.add_column(name, justify="left" if name in ("goal", "worst at", "met") else "right", overflow="fold")
    for line in lines:
        if line["count"]:
            table.add_row(
                line["what"], goal(line), f"{count(line['held'])} of {count(line['count'])}",
                error(line["mean_error"], sign=False), error(line["worst_error"]), cut(line["worst_at"], 30),
                error(line["apart"], sign=False),
                error(line["at_pace"]["mean_error"], sign=False), verdict(line),
            )  # fmt: skip
    return table


def points_table(points: Sequence[Mapping[str, Any]]) -> "Table":
    """A line a point."""
    table = _table("Points: measured, error of the prediction")
    for name in ("point", "rate/s", "TTFT", "TPOT", "out tokens/s", "tokens/step", "step MAPE"):
        table.add_column(name, justify="left" if name == "point" else "right", overflow="fold")
    for point in points:
        of = point["figures"]
        table.add_row(
            point["key"],
            significant(point["rate_per_s"]),
            *(figure_text(of, name, timing=False) for name in ("ttft_s.mean", "tpot_s.mean", "output_tokens_per_s")),
            figure_text(of, "tokens_per_step", timing=False) if point["draft_tokens"] else ABSENT,
            error(point["steps"]["mape"], sign=False),
        )
    return table


def figure_text(figures: Mapping[str, Any], name: str, *, timing: bool = True) -> str:
    """What was measured of a figure, and how far off its prediction is; timing: with the error of timing alone.

    >>> figure_text({"ttft_s.mean": {"measured": [2.5], "error": 0.1}}, "ttft_s.mean", timing=False)
    '2.50 s +10.0 %'
    """
    figure = figures[name]
    known = [value for value in figure["measured"] if value is not None]
    if not known:
        return ABSENT
    mean = sum(known) / len(known)
    shown = duration(mean) if name.partition(".")[0] in LATENCIES else significant(mean)
    alone = f" ({error(figure['error_of_timing'])})" if timing else ""
    return f"{shown} {error(figure['error'])}{alone}"


def gains_table(found: Mapping[str, Any]) -> "Table":
    """What each K gains at each load, and which is best."""
    table = _table("Speed against plain decoding: predicted, measured")
    table.add_column("load", overflow="fold")
    columns = sorted({gain["draft_tokens"] for gain in found["gains"]})
    for k in columns:
        table.add_column(f"K = {k}", justify="right", no_wrap=True)
    table.add_column("best K", justify="right")
    of = {(gain["load"], gain["draft_tokens"]): gain for gain in found["gains"]}
    for best in found["best"]:
        cells = [of.get((best["load"], k)) for k in columns]
        told = [f"{times(g['predicted'])}, {times(g['measured'])}" if g else ABSENT for g in cells]
        table.add_row(best["load"], *told, f"{best['predicted']}, {best['measured']}")
    return table


def _table(title: str) -> "Table":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    return Table(
        title=Text(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, show_edge=False,
        pad_edge=False, header_style="bold",
    )  # fmt: skip
