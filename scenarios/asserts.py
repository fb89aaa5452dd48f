"""`assert` lines: comparisons of a run's results, read by a small grammar of their own.

line       = side OP side          OP: < <= > >= ==
side       = DEPLOYMENT.field[.statistic] [* number] | number [* DEPLOYMENT.field[.statistic]]
statistic  = mean | p50 | p90 | p95 | p99
"""

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

from scenarios.problems import shortened, shown, way_out
from simulator.errors import ScenarioError

STATISTICS = ("mean", "p50", "p90", "p95", "p99")
MAX_LENGTH = 500

COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": lambda left, right: math.isclose(left, right, rel_tol=1e-9),
}
_OPERATOR = re.compile(r"(<=|>=|==|<|>|=|!=)")
_NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")
_TRUTH = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True, slots=True)
class Side:
    """A number, or a result times a number."""

    factor: float
    deployment: str | None = None
    field: str = ""
    statistic: str | None = None


@dataclass(frozen=True, slots=True)
class Assertion:
    """One comparison."""

    text: str
    left: Side
    operator: str
    right: Side


class AssertResult(NamedTuple):
    """What came of an assertion; None: the run has no such number."""

    text: str
    ok: bool
    left: float | None
    right: float | None


def row_fields() -> dict[str, bool]:
    """Fields that a result row has → whether it is a mapping of statistics."""
    from simulator.outcome.latency import METRICS
    from simulator.outcome.report import EXTRA_FIELDS, ROW_FIELDS

    return {name: name in METRICS for name in ROW_FIELDS + EXTRA_FIELDS}


def parse_assert(text: str, deployments: Sequence[str]) -> Assertion:
    """Read one line; ScenarioError says what is wrong with it."""
    if len(text) > MAX_LENGTH:
        raise ScenarioError(f"an assert has at most {MAX_LENGTH} characters")
    parts = _OPERATOR.split(text)
    if len(parts) != 3 or parts[1] not in COMPARISONS:
        raise ScenarioError(f"{shown(text)}: one of {' '.join(COMPARISONS)} stands between two sides")
    left, right = _side(parts[0], deployments), _side(parts[2], deployments)
    if left.deployment is None and right.deployment is None:
        raise ScenarioError(f"{shown(text)}: compares no result; write DEPLOYMENT.field on one side")
    return Assertion(text, left, parts[1], right)


def _side(text: str, deployments: Sequence[str]) -> Side:
    factors = [factor.strip() for factor in text.split("*")]
    if len(factors) > 2 or not all(factors):
        raise ScenarioError(f"{shown(text.strip())}: a side is a result, a number, or a result * number")
    numbers = [number for factor in factors if (number := _number(factor)) is not None]
    results = [factor for factor in factors if _number(factor) is None]
    if len(results) > 1:
        raise ScenarioError(f"{shown(text.strip())}: a result is multiplied by a number only")
    product = math.prod(numbers)
    return _result(results[0], product, deployments) if results else Side(product)


def _number(text: str) -> float | None:
    if text in _TRUTH:
        return _TRUTH[text]
    if not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    if not math.isfinite(value):
        raise ScenarioError(f"{shown(text)}: larger than any number here")
    return value


def _result(text: str, factor: float, deployments: Sequence[str]) -> Side:
    named = [name for name in deployments if text.startswith(f"{name}.")]
    if not named:
        raise ScenarioError(
            f"no deployment {shown(text.partition('.')[0])}; {way_out(text.split('.')[0], deployments)}"
        )
    deployment = max(named, key=len)
    field, _, statistic = text[len(deployment) + 1 :].partition(".")
    fields = row_fields()
    if field not in fields:
        raise ScenarioError(f"no result {shown(field)} in a row; {way_out(field, fields)}")
    _check_statistic(f"{deployment}.{field}", statistic, fields[field])
    return Side(factor, deployment, field, statistic or None)


def _check_statistic(result: str, statistic: str, several: bool) -> None:
    if several and not statistic:
        raise ScenarioError(f"{result} has several numbers: add one of {', '.join(STATISTICS)}")
    if statistic and not several:
        raise ScenarioError(f"{result} is one number: leave out .{statistic}")
    if statistic and statistic not in STATISTICS:
        raise ScenarioError(f"no statistic {shown(statistic)}; {way_out(statistic, STATISTICS)}")


def check_asserts(lines: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> list[AssertResult]:
    """Check each line against the rows of a run, at every point of its sweep.

    rows: those of a point one after the other; gone through twice and never held.

    A result is the row's over all replications of a point, or the mean of their rows where there is none. With several
    points the numbers are those of the first point at which the line does not hold, which the text then names; where
    all hold, those of the last point.
    """
    names = list(dict.fromkeys(str(row["deployment"]) for row in rows))
    assertions = [parse_assert(line, names) for line in lines]
    results = [AssertResult(assertion.text, True, None, None) for assertion in assertions]
    failed_at: dict[int, str] = {}
    num_points = 0
    for label, of in groupby(rows, key=lambda row: _label(row.get("point"))):
        num_points += 1
        own = list(of)
        for number, assertion in enumerate(assertions):
            if number not in failed_at:
                results[number] = _check(assertion, own)
                failed_at |= {} if results[number].ok else {number: label}
    for number, label in failed_at.items() if num_points > 1 else ():
        where = f" (at {shortened(label, 200)})" if label else ""
        results[number] = results[number]._replace(text=f"{results[number].text}{where}")
    return results


def _label(point: Any) -> str:
    if isinstance(point, Mapping):
        return ", ".join(f"{path}={value}" for path, value in point.items())
    return "" if point is None else str(point)


def _check(assertion: Assertion, rows: Sequence[Mapping[str, Any]]) -> AssertResult:
    """Whether an assertion holds at one point."""
    left, right = _value(assertion.left, rows), _value(assertion.right, rows)
    ok = left is not None and right is not None and COMPARISONS[assertion.operator](left, right)
    return AssertResult(assertion.text, ok, left, right)


def _value(side: Side, rows: Sequence[Mapping[str, Any]]) -> float | None:
    """A side's number at one point; None when a replication has none."""
    if side.deployment is None:
        return side.factor
    own = [row for row in rows if str(row["deployment"]) == side.deployment]
    whole = [row for row in own if not isinstance(row.get("replication"), int)]
    values = [_read(side, row) for row in whole or own]
    known = [value for value in values if value is not None and math.isfinite(value)]
    if not known or len(known) < len(values):
        return None
    return side.factor * math.fsum(known) / len(known)


def _read(side: Side, row: Mapping[str, Any]) -> float | None:
    """A row's number; None when it has none, or a text."""
    value = row.get(side.field)
    if side.statistic is not None:
        value = value.get(side.statistic) if isinstance(value, Mapping) else None
    return float(value) if isinstance(value, int | float) else None
