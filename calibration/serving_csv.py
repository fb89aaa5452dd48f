"""The format that `specfleet validate` reads: one measured configuration a line, with few columns that must be there.

Every line that cannot be read is told at once, with its file and line.
"""

from math import isfinite
from pathlib import Path
from typing import NamedTuple

from calibration import csv_cells
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


def read_serving(path: Path) -> list[ServingRow]:
    """The rows of a file; one error that lists all that is wrong with it."""
    lines = csv_cells.read_lines(path, lambda columns: _check_columns(path, columns))
    return csv_cells.rows_of(path, lines, _row)


def _check_columns(path: Path, columns: list[str]) -> None:
    wrong = csv_cells.check_columns(path, columns, REQUIRED, KNOWN)
    if not any(name in columns for name in MEASURED):
        wrong.append(f"nothing measured: needs at least one of {', '.join(MEASURED)}")
    if wrong:
        raise ScenarioError(f"{path}:1: {'; '.join(wrong)}; known columns: {', '.join(KNOWN)}")


def _row(number: int, line: csv_cells.Line) -> ServingRow:
    words = {name: csv_cells.word(line, name) for name in WORDS}
    if words["load"] not in LOADS:
        raise ValueError(f"load: {words['load']!r} is neither {' nor '.join(LOADS)}")
    counts = {name: int(csv_cells.count(line, name, needed=True)) for name in COUNTS}
    optional = {name: csv_cells.count(line, name, needed=False) for name in OPTIONAL_COUNTS}
    if words["load"] == "closed_loop" and not isfinite(optional["concurrency"]):
        raise ValueError("concurrency: a closed loop needs the requests in flight")
    measured = {name: csv_cells.number(line, name) for name in MEASURED}
    texts = {name: csv_cells.text(line, name) for name in TEXTS}
    texts["id"] = texts["id"] or f"line {number}"
    return ServingRow(line=number, **texts, **words, **(counts | optional), **measured)  # type: ignore[arg-type]
