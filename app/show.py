"""A summary on the screen: tables, the verdict, where the numbers come from, what was asserted."""

from collections.abc import Iterator, Mapping
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any

from app.console import out_console
from app.format import plural

if TYPE_CHECKING:
    from rich.console import Console

    from app.tables.figures import Limits
    from scenarios.load import LoadedScenario


def show(
    loaded: "LoadedScenario",
    summary: Mapping[str, Any],
    what: str = "simulated",
    console: "Console | None" = None,
) -> None:
    """Print a scenario's summary, by default to stdout."""
    from app.tables.figures import limits_of, shown_percentiles
    from app.tables.sweep import MOST_LINES
    from app.tables.verdict import asserts_block, notes_block, provenance_block
    from scenarios.asserts import AssertResult

    console = console or out_console()
    limits = limits_of(loaded.points[0].scenario.slo)
    title = f"{loaded.name} — {what}"
    points = list(islice(_points(summary), MOST_LINES))
    rows = [row for point in points for row in point["rows"]]
    if len(points) > 1:
        _show_sweep(console, summary, points, limits, title)
    else:
        _show_point(console, {**summary, "rows": rows}, limits, title)
    notes = notes_block(rows, shown_percentiles(limits))
    console.print()
    if notes is not None:
        console.print(notes)
    console.print(provenance_block(summary["provenance"]))
    if summary["asserts"]:
        console.print()
        console.print(asserts_block([AssertResult(**result) for result in summary["asserts"]]))


def _points(summary: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Each point with its rows; the one of a scenario that sweeps nothing has nothing else."""
    rows = groupby(summary["rows"], key=lambda row: row["point"])
    for point, (_, own) in zip(summary.get("points") or ({},), rows, strict=False):
        yield {**point, "rows": list(own)}


def _show_point(console: "Console", summary: Mapping[str, Any], limits: "Limits", title: str) -> None:
    from app.tables.comparison import comparison_table
    from app.tables.verdict import verdict_block

    console.print(comparison_table(summary["rows"], limits, summary["comparison"], title))
    console.print()
    console.print(verdict_block(summary["comparison"], summary.get("economics") or ()))


def _show_sweep(
    console: "Console", summary: Mapping[str, Any], points: list[dict[str, Any]], limits: "Limits", title: str
) -> None:
    from app.tables.comparison import lines_table
    from app.tables.sweep import MOST_POINT_TABLES, left_out, point_title, sweep_table
    from app.tables.verdict import point_block, verdict_block

    num_points = len(summary["points"])
    console.print(f"{title}, {plural(num_points, 'point')}", style="bold")
    if len(points) <= MOST_POINT_TABLES:
        for point in points:
            console.print()
            console.print(lines_table(point["rows"], limits, point["comparison"], point_title(point["values"])))
            console.print(point_block(point["comparison"], point["rows"], point.get("economics") or ()))
    console.print()
    console.print(sweep_table(points))
    if rest := left_out(num_points):
        console.print(rest)
    console.print()
    console.print(verdict_block(summary["comparison"]))
