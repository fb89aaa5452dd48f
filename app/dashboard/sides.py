"""The two deployments that cards set side by side: the cheapest of each of two GPU types, else the first two ranked."""

from collections.abc import Mapping, Sequence
from math import exp, hypot, isfinite, log
from typing import Any

from app.dashboard.estimates import Answer
from app.figures.price_ratio import Side, Tie
from simulator.planning.comparison import tie_price_ratio

Row = Mapping[str, Any]


def ranked(answer: Answer) -> list[Row]:
    """All rows, the cheapest first; what has no cost comes last, in the scenario's order."""
    order: dict[str, None] = {}
    for basis in (str(answer.comparison.get("basis")), "by_load", "by_capacity"):
        for name in ("by_load", "by_capacity"):
            ranking = answer.comparison.get(name) or {}
            if basis in (ranking.get("basis"), name):
                order |= dict.fromkeys(ranking.get("costs") or {})
    rows = {str(row["deployment"]): row for row in answer.rows}
    return [rows[name] for name in order | dict.fromkeys(rows) if name in rows]


def sides(answer: Answer) -> list[Row]:
    """At most two rows: the cheapest of the two GPU types that rank first, or the two that rank first of one type.

    In the order of the scenario, so that a GPU keeps its place when the winner changes.
    """
    rows = ranked(answer)
    cheapest: dict[str, Row] = {}
    for row in rows:
        cheapest.setdefault(str(row["gpu"]), row)
    chosen = (list(cheapest.values()) if len(cheapest) > 1 else rows)[:2]
    names = [str(row["deployment"]) for row in answer.rows]
    return sorted(chosen, key=lambda row: names.index(str(row["deployment"])))


def ratio(over: Row, under: Row, field: str) -> tuple[float, float, float] | None:
    """Ratio of a field of two rows with a 95 % interval; the ends are the ratio itself where no errors are known.

    The errors of the two count as independent, which is too wide for two deployments that err together.
    """
    values = over.get(field), under.get(field)
    if not all(value and isfinite(value) for value in values):
        return None
    found = log(values[0] / values[1])  # type: ignore[operator]
    below_over, above_over = _widths(over, field)
    below_under, above_under = _widths(under, field)
    return (
        exp(found),
        exp(found - hypot(below_over, above_under)),
        exp(found + hypot(above_over, below_under)),
    )


def tie_of(answer: Answer) -> Tie | None:
    """The price ratio at which the two sides tie; None where they are of one GPU type, or have no cost to compare."""
    chosen, basis = sides(answer), str(answer.comparison.get("basis"))
    if len(chosen) < 2 or chosen[0]["gpu"] == chosen[1]["gpu"] or not all(row.get(basis) for row in chosen):
        return None
    winner, other = sorted(chosen, key=lambda row: float(row[basis]))
    now = winner["usd_per_gpu_hour"] / other["usd_per_gpu_hour"]
    at = tie_price_ratio(winner["usd_per_gpu_hour"], other["usd_per_gpu_hour"], other[basis] / winner[basis])
    ranked_so = (winner["deployment"], other["deployment"]) == tuple(
        answer.comparison.get(place) for place in ("leader", "runner_up")
    )
    ends = answer.comparison.get("interval") if ranked_so else None
    interval = None if ends is None else (now * ends[0], now * ends[1])
    return Tie(_side(winner, basis), _side(other, basis), basis, now, at, interval)


def _side(row: Row, basis: str) -> Side:
    return Side(str(row["deployment"]), str(row["gpu"]), bool(row.get("draft_tokens_mean")), float(row[basis]))


def _widths(row: Row, field: str) -> tuple[float, float]:
    """How far the ends of a field's interval are below and above it, on logarithms."""
    ends: Sequence[float] | None = (row.get("interval") or {}).get(field)
    value = row[field]
    if not ends or min(ends) <= 0 or not all(map(isfinite, ends)):
        return 0.0, 0.0
    return max(log(value / ends[0]), 0.0), max(log(ends[1] / value), 0.0)
