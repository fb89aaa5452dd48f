"""A sweep at a glance: who wins at each point, by how much, and where that changes."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from app.format import ABSENT, low_high, times, usd

MOST_POINT_TABLES = 12
"""Points up to which each has a table of its own."""
MOST_LINES = 500
"""Points that have a line in a table."""
MOST_CHANGES = 12
"""Changes of the leader along a sweep that are told."""


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """Dotted paths → their shortest endings that tell them apart.

    >>> short_names(["a.b.rate", "seed"]), short_names(["a.k", "b.k"])
    ({'a.b.rate': 'rate', 'seed': 'seed'}, {'a.k': 'a.k', 'b.k': 'b.k'})
    """
    found: dict[str, str] = {}
    for path in paths:
        parts = path.split(".")
        endings = [".".join(parts[start:]) for start in range(len(parts) - 1, -1, -1)]
        others = [f".{other}" for other in paths if other != path]
        found[path] = next(
            (ending for ending in endings if not any(other.endswith(f".{ending}") for other in others)), path
        )
    return found


def point_title(values: Mapping[str, Any]) -> str:
    """A point's values by short names."""
    names = short_names(list(values))
    return ", ".join(f"{names[path]} = {value}" for path, value in values.items())


def sweep_table(points: Sequence[Mapping[str, Any]]) -> Table:
    """A line per point: `values`, `rows` and `comparison` of each."""
    table = Table(
        title=Text("Over the sweep"),
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
    )
    names = short_names(list(points[0]["values"]))
    for path in names:
        table.add_column(names[path], overflow="fold")
    for label in ("winner", "its cost", "cheaper by", "95 % interval", "held by", "best $/M out at capacity"):
        table.add_column(label, justify="left" if label in ("winner", "held by") else "right", overflow="fold")
    for point in points:
        table.add_row(*(Text(str(value)) for value in point["values"].values()), *_cells(point))
    return table


def _cells(point: Mapping[str, Any]) -> list[Text]:
    comparison, rows = point["comparison"], point["rows"]
    leader, close = comparison.get("leader"), comparison.get("close_call")
    winner = "none" if leader is None else f"{leader} (too close)" if close else str(leader)
    return [
        Text(winner, style="red" if leader is None else "" if close else "bold"),
        Text(_cost(comparison)),
        Text(times(comparison.get("ratio"))),
        Text(low_high(comparison.get("interval")) or ABSENT),
        Text(_held(rows)),
        Text(_best(comparison)),
    ]


def _cost(comparison: Mapping[str, Any]) -> str:
    for name, unit in (("by_load", "/h"), ("by_capacity", "/M out")):
        ranking = comparison.get(name) or {}
        if ranking.get("basis") == comparison.get("basis") and comparison.get("leader") in (ranking.get("costs") or {}):
            return f"{usd(ranking['costs'][comparison['leader']])}{unit}"
    return ABSENT


def _held(rows: Sequence[Mapping[str, Any]]) -> str:
    held = [str(row["deployment"]) for row in rows if row.get("holds_slo") and row.get("fits", True)]
    if len(held) == len(rows):
        return f"all {len(rows)}"
    return f"{len(held)} of {len(rows)}" + (f": {', '.join(held)}" if 0 < len(held) <= 3 else "")


def _best(comparison: Mapping[str, Any]) -> str:
    ranking = comparison.get("by_capacity") or {}
    leader = ranking.get("leader")
    return ABSENT if leader is None else f"{leader} {usd(ranking['costs'][leader])}"


def over_points(points: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One comparison for a whole sweep: the winner leads at every point, the flip is where that changes."""
    leaders = [point["comparison"].get("leader") for point in points]
    bases = {point["comparison"].get("basis") for point in points}
    same = len(set(leaders)) == 1
    leader = leaders[0] if same else None
    close = any(point["comparison"].get("close_call") for point in points)
    winner = leader if same and not close else "too close to call" if same and leader else None
    ratios = [ratio for point in points if (ratio := point["comparison"].get("ratio")) is not None]
    spread = f"{times(min(ratios))} to {times(max(ratios))} cheaper than the runner-up" if ratios else "alone"
    why = f"cheapest at all {len(points)} points, {spread}" if same and leader else _whys(points, leaders)
    runners_up = {point["comparison"].get("runner_up") for point in points}
    return {
        "winner": winner,
        "leader": leader,
        "basis": bases.pop() if len(bases) == 1 else None,
        "runner_up": runners_up.pop() if same and len(runners_up) == 1 else None,
        "ratio": None,
        "interval": None,
        "flip": _changes(points, leaders),
        "why": why,
    }


def _whys(points: Sequence[Mapping[str, Any]], leaders: Sequence[str | None]) -> str:
    led = {leader: leaders.count(leader) for leader in leaders}
    return "; ".join(f"{leader or 'none'} at {number} of {len(points)} points" for leader, number in led.items())


def _changes(points: Sequence[Mapping[str, Any]], leaders: Sequence[str | None]) -> dict[str, Any] | None:
    """Where the leader changes along the grid."""
    found = [
        f"{before or 'none'} → {after or 'none'} at {point_title(point['values'])}"
        for before, after, point in zip(leaders, leaders[1:], points[1:], strict=False)
        if before != after
    ]
    more = [f"and {len(found) - MOST_CHANGES} times more"] if len(found) > MOST_CHANGES else []
    return {"kind": "sweep", "sentence": "; ".join([*found[:MOST_CHANGES], *more])} if found else None


def left_out(num_points: int, shown: int = MOST_LINES) -> str:
    """Where the points are that a table leaves out; empty where it has all.

    >>> left_out(501), left_out(12)
    ('The first 500 of 501 points are shown; summary.parquet has all.', '')
    """
    return (
        f"The first {shown} of {num_points:,} points are shown; summary.parquet has all." if num_points > shown else ""
    )
