"""Values of a foreign document, checked where they are read: a field that is absent is None, never 0."""

from collections.abc import Mapping, Sequence
from math import inf, isfinite
from typing import Any

from simulator.errors import ScenarioError

Record = Mapping[str, Any]
SAME = 0.01
"""Two figures of one file that differ by more than this share contradict each other; printed figures are rounded."""


def number(record: Record, name: str, where: str, low: float = 0.0, high: float = inf) -> float | None:
    """A number within bounds, or None where there is none; `where` names file and place for the error."""
    value = record.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ScenarioError(f"{where}{name}: {value!r} is not a number")
    if not low <= value <= high:
        bounds = f"from {low:g} to {high:g}" if high < inf else f"of {low:g} or more"
        raise ScenarioError(f"{where}{name}: {value!r} is not {bounds}")
    return float(value)


def count(record: Record, name: str, where: str) -> int | None:
    """A whole number from 0 on, or None where there is none."""
    value = number(record, name, where)
    if value is None:
        return None
    if not value.is_integer():
        raise ScenarioError(f"{where}{name}: {record[name]!r} is not a whole number")
    return int(value)


def first(record: Record, names: Sequence[str], where: str) -> int | None:
    """The count under the first of these names that is there: engines have renamed some."""
    found = (count(record, name, where) for name in names)
    return next((value for value in found if value is not None), None)


def histogram(value: Any, where: str) -> dict[int, int] | None:
    """Counts by accepted draft tokens, from a list (its index counts) or a mapping; None where there is none."""
    if value is None:
        return None
    pairs = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, Mapping) else None
    if pairs is None:
        raise ScenarioError(f"{where}: {value!r} is neither a list nor a mapping of counts")
    counts: dict[int, int] = {}
    for key, steps in pairs:
        if not str(key).isdecimal():
            raise ScenarioError(f"{where}: {key!r} is not a number of draft tokens")
        counts[int(key)] = count({str(key): steps}, str(key), f"{where}.") or 0
    if not counts:
        return None
    return {tokens: counts.get(tokens, 0) for tokens in range(max(counts) + 1)}


def agree(stated: float | None, counted: float, what: str, where: str) -> None:
    """Refuse a figure that contradicts what it should be by the file's own counts."""
    if stated is not None and abs(stated - counted) > SAME * max(abs(counted), SAME):
        raise ScenarioError(f"{where}{what} is {stated:.6g}, but by the file's own counts {counted:.6g}")


def rate_in_percent(stated: float | None, counted: float, what: str, where: str) -> None:
    """The same of a rate that is written in percent: as a fraction it is told so."""
    if stated is None or abs(stated - 100.0 * counted) <= 100.0 * SAME * max(counted, SAME):
        return
    if abs(stated - counted) <= SAME * max(counted, SAME):
        raise ScenarioError(
            f"{where}{what} is {stated:.6g}: a fraction, where this format has percent; "
            "which tool wrote it, and are its other rates fractions too?"
        )
    raise ScenarioError(f"{where}{what} is {stated:.6g} %, but by the file's own counts {100.0 * counted:.6g} %")


def no_more_than_drafted(accepted: int, drafted: int, where: str) -> None:
    """Refuse more accepted tokens than drafted ones."""
    if accepted > drafted:
        raise ScenarioError(f"{where}{accepted:,} tokens accepted of {drafted:,} drafted")


def whole(drafted: int, steps: int) -> int | None:
    """Draft tokens a step, where that is a whole number.

    >>> whole(3000, 1000), whole(2400, 1000)
    (3, None)
    """
    return drafted // steps if drafted % steps == 0 else None
