"""What came of a scenario file: its points put together, what it asserts, and the exit code that follows.

Lists over the points of a sweep are gone through and never held: a point's result may lie on disk until it is read.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from app.exits import ASSERT_FAILED, NOTHING_HOLDS, OK

LEADING = ("leader", "runner_up", "basis", "ratio", "close_call")
"""Of a comparison, what counts over the points of a sweep."""


@dataclass(frozen=True, slots=True)
class PointResult:
    """A finished point of a sweep."""

    label: str
    values: Mapping[str, Any]
    """Dotted path → value; empty without a sweep."""
    digest: str
    result: Mapping[str, Any]
    """The study as plain JSON values."""
    seconds: float
    """That its tasks took."""
    found: bool = False
    """Whether it was read from an earlier run."""


def put_together(name: str, points: Sequence[PointResult], asserts: Sequence[str]) -> dict[str, Any]:
    """The summary of a scenario file from its finished points, in the shape of `run --json`; its lists are `Each`."""
    from app.tables.sweep import over_points
    from scenarios.streamed import Counted, Each

    first = points[0].result
    several = len(points) > 1
    rows = Each(partial(_rows, points))
    leaders, drafts = _overview(points)
    summary: dict[str, Any] = {
        "scenario": name,
        "provenance": first.get("provenance") or {},
        "rows": rows,
        "replications": Each(partial(_rows, points, "replications")),
        "comparison": over_points(leaders) if several else first["comparison"],
        "economics": [] if several else first.get("economics") or [],
        "drafts": drafts,
        "asserts": _asserted(asserts, rows),
    }
    if several or points[0].values:
        summary["points"] = Counted(partial(_swept, points, summary["provenance"]), len(points))
    return summary


def _rows(points: Sequence[PointResult], of: str = "rows") -> Iterator[dict[str, Any]]:
    for point in points:
        yield from labelled(point, of)


def labelled(point: PointResult, of: str = "rows") -> list[dict[str, Any]]:
    """A point's rows under its own label: one that was found again may have been swept under another name."""
    return [{**row, "point": point.label} for row in point.result.get(of) or ()]


def _overview(points: Sequence[PointResult]) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """What a comparison over all points follows from, and notes on several drafts: both from one look at each point."""
    leaders, notes = [], []
    for point in points:
        compared = point.result["comparison"]
        leaders.append({"values": point.values, "comparison": {key: compared.get(key) for key in LEADING}})
        notes += _of_several(point)
    return leaders, notes


def _swept(points: Sequence[PointResult], common: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Each point without its rows; its provenance where that is not the common one."""
    for point in points:
        swept = {"point": point.label, "values": dict(point.values), "comparison": point.result["comparison"]}
        swept["economics"] = point.result.get("economics") or []
        own = point.result.get("provenance") or {}
        yield swept if own == common else swept | {"provenance": own}


def _of_several(point: PointResult) -> list[dict[str, str]]:
    """What is to be known of several drafts beside single ones at a point, as it is on screen."""
    from app.tables.drafts import draft_notes

    return [{"point": point.label, "deployments": of, "note": note} for of, note in draft_notes(labelled(point))]


def _asserted(asserts: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    if not asserts:
        return []
    from scenarios.asserts import check_asserts

    return [result._asdict() for result in check_asserts(asserts, rows)]


def any_holds(rows: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a deployment fits and holds the load at some point."""
    return any(row.get("fits", True) and row.get("holds_slo") for row in rows)


def exit_code(summary: Mapping[str, Any], *, batch: bool) -> int:
    """What the summary means for a shell; in a batch, what does not fit is a result."""
    if not batch and not any_holds(summary["rows"]):
        return NOTHING_HOLDS
    return OK if all(result["ok"] for result in summary["asserts"]) else ASSERT_FAILED
