"""Measured speculation, one configuration a line: what was proposed, what was accepted, and the speed-up.

The other format that `specfleet validate` reads; serving without speculation is in calibration.serving_csv.
"""

from math import isfinite, nan
from pathlib import Path
from typing import NamedTuple

from calibration import csv_cells
from simulator.errors import ScenarioError


class SpeculationRow(NamedTuple):
    """One configuration as it was run, and what was measured of it; nan where it was not."""

    id: str
    line: int
    framework: str
    """Engine and release, as the source writes it."""
    gpu: str
    target: str
    draft: str
    method: str
    dataset: str
    tp: float
    sequences: float
    """Batch or requests in flight."""
    draft_len: float
    """Draft tokens K; for a tree the source's own count, root included."""
    topk: float
    accept_len: float
    """Mean committed tokens per step, bonus token included."""
    speedup: float
    base_tokens_per_s: float
    """Output tokens/s without speculation, over all sequences."""
    spec_tokens_per_s: float
    source: str
    notes: str


WORDS = ("gpu", "target", "method")
"""Columns that every line fills."""
TEXTS = ("framework", "draft", "dataset", "source", "notes", "unit")
COUNTS = ("tp", "batch_or_conc", "draft_len", "topk")
NUMBERS = ("mean_accept_len", "speedup", "base_value", "spec_value")
FLAG = "accept_len_incl_bonus"
IGNORED = (
    "source_ref", "commit_or_url", "date", "gpu_class", "n_gpus", "request_rate", "accept_rate",
    "speedup_is_derived", "metric", "kind", "quality",
)  # fmt: skip
KNOWN = ("row_id", *WORDS, *TEXTS, *COUNTS, *NUMBERS, FLAG, *IGNORED)
TELL_APART = ("target", "method")
"""Columns that a file of serving rows does not have."""
TOKENS_PER_S = "tok/s"


def is_speculation(path: Path) -> bool:
    """Whether a file's columns are those of measured speculation."""
    columns = csv_cells.columns_of(path)
    return all(name in columns for name in TELL_APART)


def read_speculation(path: Path) -> list[SpeculationRow]:
    """The rows of a file; one error that lists all that is wrong with it."""
    lines = csv_cells.read_lines(path, lambda columns: _check_columns(path, columns))
    return csv_cells.rows_of(path, lines, _row)


def _check_columns(path: Path, columns: list[str]) -> None:
    wrong = csv_cells.check_columns(path, columns, WORDS, KNOWN)
    if wrong:
        raise ScenarioError(f"{path}:1: {'; '.join(wrong)}; known columns: {', '.join(KNOWN)}")


def _row(number: int, line: csv_cells.Line) -> SpeculationRow:
    words = {name: csv_cells.word(line, name) for name in WORDS}
    texts = {name: csv_cells.text(line, name) for name in TEXTS}
    counts = {name: csv_cells.count(line, name, needed=False) for name in COUNTS}
    numbers = {name: csv_cells.number(line, name) for name in NUMBERS}
    rates = texts.pop("unit") == TOKENS_PER_S
    return SpeculationRow(
        id=csv_cells.text(line, "row_id") or f"line {number}",
        line=number,
        **words,
        **texts,
        tp=counts["tp"],
        sequences=counts["batch_or_conc"],
        draft_len=counts["draft_len"],
        topk=counts["topk"],
        accept_len=_with_bonus(line, numbers["mean_accept_len"]),
        speedup=_speedup(numbers),
        base_tokens_per_s=numbers["base_value"] if rates else nan,
        spec_tokens_per_s=numbers["spec_value"] if rates else nan,
    )


def _with_bonus(line: csv_cells.Line, accept_len: float) -> float:
    """The accepted length, bonus token included whether or not the source counts it."""
    counted = csv_cells.text(line, FLAG)
    if counted not in ("", "0", "0.0", "1", "1.0"):
        raise ValueError(f"{FLAG}: {counted!r} is neither 0 nor 1")
    if isfinite(accept_len) and not counted:
        raise ValueError(
            f"{FLAG}: empty, and the accepted length is {accept_len:g}: say 1 if it counts the bonus token"
        )
    found = accept_len + 1.0 if counted in ("0", "0.0") else accept_len
    if found < 1.0:
        raise ValueError(f"mean_accept_len: {found:g} with the bonus token counted: a step commits at least one token")
    return found


def _speedup(numbers: dict[str, float]) -> float:
    """As stated, else the ratio of the two speeds."""
    stated = numbers["speedup"]
    return stated if isfinite(stated) else numbers["spec_value"] / numbers["base_value"]
