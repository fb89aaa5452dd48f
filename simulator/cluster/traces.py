"""Real request traces: when requests came and how long they were."""

import csv
from datetime import datetime
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simulator.errors import ScenarioError

AZURE_COLUMNS = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")
"""Header of the Azure LLM inference traces (2023, CC-BY-4.0)."""

Table = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]
"""Arrival times from 0 [s], prompt tokens, output tokens."""


def read_azure(path: Path, limit: int | None = None) -> Table:
    """Read an Azure trace; times count from its first request.

    Raises ScenarioError with the line of the first row that is not a request.
    """
    return _read_azure(path, path.stat().st_mtime_ns, limit)


@lru_cache(maxsize=4)
def _read_azure(path: Path, changed_ns: int, limit: int | None) -> Table:
    times: list[float] = []
    prompts: list[int] = []
    outputs: list[int] = []
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = csv.reader(file)
        header = next(rows, [])
        if tuple(header) != AZURE_COLUMNS:
            raise ScenarioError(f"{path}:1: not an Azure trace: the header is {','.join(header)[:80]!r}, "
                                f"expected {','.join(AZURE_COLUMNS)}")  # fmt: skip
        for row in rows:
            if limit is not None and len(times) >= limit:
                break
            _append(path, rows.line_num, row, times, prompts, outputs)
    if not times:
        raise ScenarioError(f"{path}: the trace holds no request")
    when = np.asarray(times)
    order = np.argsort(when, kind="stable")
    return when[order] - when[order[0]], np.asarray(prompts)[order], np.asarray(outputs)[order]


def _append(path: Path, line: int, row: list[str], times: list[float], prompts: list[int], outputs: list[int]) -> None:
    try:
        stamp, prompt, output = row
        whole, _, ticks = stamp.partition(".")
        seconds = datetime.fromisoformat(whole).timestamp() + (float("0." + ticks[:9]) if ticks else 0.0)
        values = int(prompt), int(output)
    except ValueError as problem:
        raise ScenarioError(f"{path}:{line}: not a request: {','.join(row)[:80]!r} ({problem})") from None
    if min(values) < 1:
        raise ScenarioError(f"{path}:{line}: token counts must be at least 1, got {prompt} and {output}")
    times.append(seconds)
    prompts.append(values[0])
    outputs.append(values[1])


def scale(table: Table, time_scale: float, rate_scale: float, rng: np.random.Generator) -> Table:
    """Stretch a trace in time, and thin it or repeat its requests.

    time_scale: factor on all times.
    rate_scale: expected copies of each request; the copies are spread evenly up to the next arrival.
    """
    times, prompts, outputs = table
    times = times * time_scale
    if rate_scale == 1.0:
        return times, prompts, outputs
    whole = int(rate_scale)
    copies = whole + (rng.random(times.size) < rate_scale - whole).astype(np.int64)
    if not copies.any():
        copies[0] = 1
    gaps = np.diff(times, append=times[-1])
    index = np.repeat(np.arange(times.size), copies)
    nth = np.arange(index.size) - np.repeat(np.cumsum(copies) - copies, copies)
    spread = times[index] + gaps[index] * nth / np.maximum(copies[index], 1)
    return spread, prompts[index], outputs[index]
