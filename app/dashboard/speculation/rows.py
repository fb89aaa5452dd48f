"""Deployments that differ in how they draft, as an estimate has them: figures side by side. Knows nothing of pages."""

from collections.abc import Mapping
from typing import Any

from app.dashboard.estimates import Answer
from app.figures.ways import Measure
from app.format import Formatter, count, duration, plus_minus, significant, usd
from app.tables.figures import limits_of
from simulator.spec.scenario import Scenario

COST = "usd_per_million_output_tokens_at_capacity"
CAPACITY = "capacity_req_per_s"


def tpot_field(scenario: Scenario) -> str:
    """The field of TPOT that is shown: that of its highest target."""
    stated = limits_of(scenario.slo).get("tpot_s", {})
    return f"tpot_s.{max(stated) if stated else 'p95'}"


def measures(found: Answer) -> list[Measure]:
    """Cost, requests per second and TPOT of every deployment, with their intervals."""
    field = tpot_field(found.scenario)
    return [
        _measure(found, "$ per M output tokens at capacity", COST, usd),
        _measure(found, "requests/s in target", CAPACITY, significant),
        _measure(found, f"TPOT {field.partition('.')[2]} at the load", field, duration),
    ]


def _measure(found: Answer, title: str, field: str, show: Formatter) -> Measure:
    rows = {str(row["deployment"]): row for row in found.rows}
    values = {name: value_of(row, field) for name, row in rows.items()}
    return Measure(title, values, {name: interval_of(row, field) for name, row in rows.items()}, show)


def value_of(row: Mapping[str, Any], field: str) -> float | None:
    """A field of a row, nested as `tpot_s.p95`.

    >>> value_of({"tpot_s": {"p95": 0.02}}, "tpot_s.p95"), value_of({"tpot_s": None}, "tpot_s.p95")
    (0.02, None)
    """
    outer, _, inner = field.partition(".")
    value: Any = row.get(outer)
    found: float | None = (value or {}).get(inner) if inner else value
    return found


def interval_of(row: Mapping[str, Any], field: str) -> list[float] | None:
    """The interval of a field; None where none is known."""
    ends: list[float] | None = (row.get("interval") or {}).get(field)
    return ends


def table_of(found: Answer, first: str) -> list[dict[str, str]]:
    """Every deployment for reading; first: head of the column that names it."""
    field = tpot_field(found.scenario)
    return [
        {
            first: str(row["deployment"]),
            "GPUs": count(row.get("num_gpus")),
            "K": significant(row.get("draft_tokens_mean"), 2),
            "tokens per step": significant(row.get("tokens_per_step")),
            "requests/s in target": plus_minus(row.get(CAPACITY), interval_of(row, CAPACITY)),
            "$/M at capacity": plus_minus(row.get(COST), interval_of(row, COST), usd),
            f"TPOT {field.partition('.')[2]}": duration(value_of(row, field)),
            "TTFT p95": duration(value_of(row, "ttft_s.p95")),
        }
        for row in found.rows
    ]


def csv_rows(found: Answer) -> list[dict[str, Any]]:
    """The same unrounded, with the ends of the intervals."""
    with_ends = (CAPACITY, COST, tpot_field(found.scenario), "ttft_s.p95")
    lines = []
    for row in found.rows:
        line: dict[str, Any] = {"deployment": row["deployment"], "num_gpus": row.get("num_gpus")}
        for field in ("draft_tokens_mean", "tokens_per_step", *with_ends):
            line[field] = value_of(row, field)
        for field in with_ends:
            low, high = interval_of(row, field) or (None, None)
            line |= {f"{field}.low": low, f"{field}.high": high}
        lines.append(line)
    return lines


def unfit(found: Answer) -> list[tuple[str, str]]:
    """Deployments that do not fit, and why."""
    return [(str(row["deployment"]), str(row["reason"])) for row in found.rows if row.get("reason")]
