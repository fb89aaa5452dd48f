"""The format that `specfleet validate` reads: one measured configuration a line, with few columns that must be there.

Every line that cannot be read is told at once, with its file and line.
"""

import csv
from math import isfinite, nan
from pathlib import Path
from typing import NamedTuple

from simulator.errors import ScenarioError


class ServingRow(NamedTuple):
    """One configuration as it was run, and what was measured of it; nan where it was not."""

    id: str
    line: int
    engine: str
    gpu: str
    model: str
    precision: str
    """Empty where the source does not say."""
    load: str
    tp: float
    isl: int
    osl: int
    concurrency: float
    """Requests in flight; nan: all queued at the start."""
    pp: float
    dp: float
    moe_tp: float
    moe_ep: float
    ttft_ms: float
    tpot_ms: float
    output_tokens_per_s_per_gpu: float
    source: str
    measured_on: str = ""
    """ISO date; empty where the source does not say."""
    engine_version: str = ""
    """Release of the engine; empty where the source does not say."""


WORDS = ("engine", "gpu", "model", "load")
"""Columns that every line fills with a word."""
COUNTS = ("tp", "isl", "osl")
"""Columns that every line fills with a whole number."""
OPTIONAL_COUNTS = ("concurrency", "pp", "dp", "moe_tp", "moe_ep")
MEASURED = ("ttft_ms", "tpot_ms", "output_tokens_per_s_per_gpu")
TEXTS = ("id", "precision", "source", "measured_on", "engine_version")
IGNORED = ("gemm", "moe")
REQUIRED = (*WORDS, *COUNTS)
KNOWN = (*TEXTS, *REQUIRED, *OPTIONAL_COUNTS, *MEASURED, *IGNORED)
LOADS = ("closed_loop", "queued_at_once")
MOST_PROBLEMS = 20
ABSENT = ("", "nan", "NaN", "None", "null")


def read_serving(path: Path) -> list[ServingRow]:
    """The rows of a file; one error that lists all that is wrong with it."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.DictReader(file, restkey="", strict=True)
            _check_columns(path, [name.strip() for name in lines.fieldnames or ()])
            lines.fieldnames = [name.strip() for name in lines.fieldnames or ()]
            found = [(lines.line_num, line) for line in lines]
    except OSError as error:
        raise ScenarioError(f"{path}: {error.strerror or error}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise ScenarioError(f"{path}: not a CSV file in UTF-8: {error}") from None
    return _rows(path, found)


def _check_columns(path: Path, columns: list[str]) -> None:
    known = ", ".join(KNOWN)
    if not columns:
        raise ScenarioError(f"{path}:1: no header; known columns: {known}")
    missing = [name for name in REQUIRED if name not in columns]
    unknown = [name for name in columns if name not in KNOWN]
    twice = sorted({name for name in columns if columns.count(name) > 1})
    wrong = [f"no column {', '.join(missing)}"] if missing else []
    wrong += [f"unknown column {', '.join(map(repr, unknown))}"] if unknown else []
    wrong += [f"column {', '.join(twice)} stands twice"] if twice else []
    if not any(name in columns for name in MEASURED):
        wrong.append(f"nothing measured: needs at least one of {', '.join(MEASURED)}")
    if wrong:
        raise ScenarioError(f"{path}:1: {'; '.join(wrong)}; known columns: {known}")


def _rows(path: Path, lines: list[tuple[int, dict[str, str]]]) -> list[ServingRow]:
    rows, problems, seen = [], [], set()
    for number, line in lines:
        try:
            row = _row(number, line)
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


def _row(number: int, line: dict[str, str]) -> ServingRow:
    if "" in line:
        raise ValueError("more cells than the header has columns")
    if None in line.values():
        raise ValueError("fewer cells than the header has columns")
    words = {name: _word(line, name) for name in WORDS}
    if words["load"] not in LOADS:
        raise ValueError(f"load: {words['load']!r} is neither {' nor '.join(LOADS)}")
    counts = {name: int(_count(line, name, needed=True)) for name in COUNTS}
    optional = {name: _count(line, name, needed=False) for name in OPTIONAL_COUNTS}
    if words["load"] == "closed_loop" and not isfinite(optional["concurrency"]):
        raise ValueError("concurrency: a closed loop needs the requests in flight")
    measured = {name: _number(line, name) for name in MEASURED}
    texts = {name: _text(line, name) for name in TEXTS}
    texts["id"] = texts["id"] or f"line {number}"
    return ServingRow(line=number, **texts, **words, **(counts | optional), **measured)  # type: ignore[arg-type]


def _text(line: dict[str, str], name: str) -> str:
    text = line.get(name, "").strip()
    return "" if text in ABSENT else text


def _word(line: dict[str, str], name: str) -> str:
    if not (text := _text(line, name)):
        raise ValueError(f"{name}: empty")
    return text


def _number(line: dict[str, str], name: str) -> float:
    """A measurement above 0; nan where the cell is empty."""
    if not (text := _text(line, name)):
        return nan
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{name}: {text!r} is not a number") from None
    if not (isfinite(value) and value > 0):
        raise ValueError(f"{name}: {text!r} is not above 0")
    return value


def _count(line: dict[str, str], name: str, *, needed: bool) -> float:
    """A whole number from 1 on; nan where the cell may be and is empty."""
    value = _number(line, name)
    if needed and not isfinite(value):
        raise ValueError(f"{name}: empty")
    if isfinite(value) and not value.is_integer():
        raise ValueError(f"{name}: {_text(line, name)!r} is not a whole number")
    if value > 10_000_000:
        raise ValueError(f"{name}: {_text(line, name)!r} is too large")
    return value
