"""Reading measured rows from a CSV: its lines, its cells, and one error that lists all that is wrong with it."""

import csv
from collections.abc import Callable, Sequence
from math import isfinite, nan
from pathlib import Path
from typing import Any, TypeVar

from simulator.errors import ScenarioError

MOST_PROBLEMS = 20
ABSENT = ("", "nan", "NaN", "None", "null")
LARGEST_COUNT = 10_000_000
Line = dict[str, str]
R = TypeVar("R")


def columns_of(path: Path) -> list[str]:
    """The names in the first line of a file."""
    return _read(path, lambda names: None)[0]


def read_lines(path: Path, check: Callable[[list[str]], None]) -> list[tuple[int, Line]]:
    """The lines of a file with their numbers.

    check: refuses the columns, before a line is read.
    """
    return _read(path, check)[1]


def _read(path: Path, check: Callable[[list[str]], None]) -> tuple[list[str], list[tuple[int, Line]]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.DictReader(file, restkey="", strict=True)
            names = [name.strip() for name in lines.fieldnames or ()]
            check(names)
            lines.fieldnames = names
            return names, [(lines.line_num, line) for line in lines]
    except OSError as error:
        raise ScenarioError(f"{path}: {error.strerror or error}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise ScenarioError(f"{path}: not a CSV file in UTF-8: {error}") from None


def check_columns(path: Path, columns: Sequence[str], required: Sequence[str], known: Sequence[str]) -> list[str]:
    """What is wrong with a header; a file without one is refused at once."""
    if not columns:
        raise ScenarioError(f"{path}:1: no header; known columns: {', '.join(known)}")
    missing = [name for name in required if name not in columns]
    unknown = [name for name in columns if name not in known]
    twice = sorted({name for name in columns if columns.count(name) > 1})
    wrong = [f"no column {', '.join(missing)}"] if missing else []
    wrong += [f"unknown column {', '.join(map(repr, unknown))}"] if unknown else []
    wrong += [f"column {', '.join(twice)} stands twice"] if twice else []
    return wrong


def rows_of(path: Path, lines: Sequence[tuple[int, Line]], row_of: Callable[[int, Line], R]) -> list[R]:
    """Every line as a row, or one error for all that cannot be read; two rows of one id are told apart."""
    rows: list[Any] = []
    problems, seen = [], set()
    for number, line in lines:
        try:
            row: Any = row_of(number, _whole(line))
            if row.id in seen:
                row = row._replace(id=f"{row.id} (line {number})")
            seen.add(row.id)
            rows.append(row)
        except ValueError as error:
            problems.append(f"{path}:{number}: {error}")
    if problems:
        more = len(problems) - MOST_PROBLEMS
        raise ScenarioError("\n".join(problems[:MOST_PROBLEMS] + ([f"… and {more} more"] if more > 0 else [])))
    if not rows:
        raise ScenarioError(f"{path}: no rows")
    return rows


def _whole(line: Line) -> Line:
    if "" in line:
        raise ValueError("more cells than the header has columns")
    if None in line.values():
        raise ValueError("fewer cells than the header has columns")
    return line


def text(line: Line, name: str) -> str:
    """A cell; empty where nothing stands in it."""
    found = line.get(name, "").strip()
    return "" if found in ABSENT else found


def word(line: Line, name: str) -> str:
    """A cell that must be filled."""
    if not (found := text(line, name)):
        raise ValueError(f"{name}: empty")
    return found


def number(line: Line, name: str) -> float:
    """A measurement above 0; nan where the cell is empty."""
    if not (found := text(line, name)):
        return nan
    try:
        value = float(found)
    except ValueError:
        raise ValueError(f"{name}: {found!r} is not a number") from None
    if not (isfinite(value) and value > 0):
        raise ValueError(f"{name}: {found!r} is not above 0")
    return value


def count(line: Line, name: str, *, needed: bool) -> float:
    """A whole number from 1 on; nan where the cell may be and is empty."""
    value = number(line, name)
    if needed and not isfinite(value):
        raise ValueError(f"{name}: empty")
    if isfinite(value) and not value.is_integer():
        raise ValueError(f"{name}: {text(line, name)!r} is not a whole number")
    if value > LARGEST_COUNT:
        raise ValueError(f"{name}: {text(line, name)!r} is too large")
    return value
