"""What came of a scenario file: its points put together, what it asserts, and the exit code that follows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.exits import ASSERT_FAILED, NOTHING_HOLDS, OK


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
    found: bool = False
    """Whether it was read from an earlier run."""


def put_together(name: str, points: Sequence[PointResult], asserts: Sequence[str]) -> dict[str, Any]:
    """The summary of a scenario file from its finished points, in the shape of `run --json`."""
    from app.tables.sweep import over_points

    first = points[0].result
    swept = [_swept(point, first) for point in points]
    rows = [row for point in swept for row in point["rows"]]
    sweep = len(points) > 1 or bool(points[0].values)
    summary: dict[str, Any] = {
        "scenario": name,
        "provenance": first.get("provenance") or {},
        "rows": rows,
        "replications": [
            _labelled(row, point.label) for point in points for row in point.result.get("replications", ())
        ],
        "comparison": over_points(swept) if len(points) > 1 else first["comparison"],
        "economics": [] if len(points) > 1 else first.get("economics") or [],
        "drafts": [note for point in swept for note in _of_several(point)],
        "asserts": _asserted(asserts, rows),
    }
    if sweep:
        summary["points"] = [{key: value for key, value in point.items() if key != "rows"} for point in swept]
    return summary


def _swept(point: PointResult, first: Mapping[str, Any]) -> dict[str, Any]:
    rows = [_labelled(row, point.label) for row in point.result["rows"]]
    swept = {"point": point.label, "values": dict(point.values), "comparison": point.result["comparison"], "rows": rows}
    swept["economics"] = point.result.get("economics") or []
    own = point.result.get("provenance")
    return swept if own == first.get("provenance") else swept | {"provenance": own}


def _labelled(row: Mapping[str, Any], label: str) -> dict[str, Any]:
    return {**row, "point": label}


def _of_several(point: Mapping[str, Any]) -> list[dict[str, str]]:
    """What is to be known of several drafts beside single ones at a point, as it is on screen."""
    from app.tables.drafts import draft_notes

    return [{"point": point["point"], "deployments": of, "note": note} for of, note in draft_notes(point["rows"])]


def _asserted(asserts: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    if not asserts:
        return []
    from scenarios.asserts import check_asserts

    return [result._asdict() for result in check_asserts(asserts, rows)]


def any_holds(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a deployment fits and holds the load at some point."""
    return any(row.get("fits", True) and row.get("holds_slo") for row in rows)


def exit_code(summary: Mapping[str, Any], *, batch: bool) -> int:
    """What the summary means for a shell; in a batch, what does not fit is a result."""
    if not batch and not any_holds(summary["rows"]):
        return NOTHING_HOLDS
    return OK if all(result["ok"] for result in summary["asserts"]) else ASSERT_FAILED
