"""Real request traces: read by content, cut, and scaled; see trace_rows for the formats."""

import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.trace_rows import (
    CSV_FORMATS,
    JSONL_FORMATS,
    SHOWN,
    Columns,
    Format,
    RowError,
    format_of,
    known_formats,
)
from simulator.errors import ScenarioError
from simulator.spec.arrivals import TraceArrivals

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TraceTable:
    """The requests of a trace in order of arrival."""

    format: str
    arrival_s: Floats
    """Times from the first request [s]."""
    prompt_tokens: Ints
    output_tokens: Ints
    class_names: tuple[str, ...] = ()
    """Classes that the trace names."""
    class_lines: tuple[int, ...] = ()
    """Line of the file on which each is first named."""
    class_code: Ints | None = None
    """Index of each request's class; -1 where it has none. None: the trace knows no classes."""
    priority: Ints | None = None
    session: Ints | None = None
    """Number of each request's session; -1 where it has none."""
    block_ids: Ints | None = None
    """Ids of consecutive prompt blocks of all requests, end to end; equal ids: equal tokens up to there."""
    block_ends: Ints | None = None
    """Where each request's block ids end."""
    block_tokens: int = 0
    """Prompt tokens of a block; 0 without."""
    skipped: int = 0
    """Requests of the file that got no answer and are left out."""

    @property
    def size(self) -> int:
        """Number of requests."""
        return int(self.arrival_s.size)

    def blocks(self, request: int) -> Ints:
        """Block ids of one request."""
        assert self.block_ids is not None
        assert self.block_ends is not None
        start = int(self.block_ends[request - 1]) if request else 0
        return self.block_ids[start : int(self.block_ends[request])]

    def take(self, index: Ints) -> "TraceTable":
        """The requests of these numbers, in this order."""
        table = replace(
            self,
            arrival_s=self.arrival_s[index],
            prompt_tokens=self.prompt_tokens[index],
            output_tokens=self.output_tokens[index],
            class_code=None if self.class_code is None else self.class_code[index],
            priority=None if self.priority is None else self.priority[index],
            session=None if self.session is None else self.session[index],
        )
        if self.block_ends is None or self.block_ids is None:
            return table
        counts = np.diff(self.block_ends, prepend=0)
        taken = counts[index]
        ends = np.cumsum(taken)
        first = (self.block_ends - counts)[index]
        places = np.repeat(first - (ends - taken), taken) + np.arange(int(taken.sum()))
        return replace(table, block_ids=self.block_ids[places], block_ends=ends)


def read_trace(path: Path) -> TraceTable:
    """All requests of a trace file, whatever its format; read anew only when the file has changed.

    Raises ScenarioError with the line of the first row that is not a request.
    """
    try:
        changed = path.stat()
    except (OSError, ValueError) as error:
        raise ScenarioError(f"{path}: no such trace ({getattr(error, 'strerror', error)})") from None
    return _read(path, changed.st_mtime_ns, changed.st_size)


@lru_cache(maxsize=4)
def _read(path: Path, changed_ns: int, size: int) -> TraceTable:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            name, columns = _parse(path, file)
    except UnicodeDecodeError as error:
        raise ScenarioError(
            f"{path}: not UTF-8 text at byte {error.start}: unpack it, or export it as CSV or JSON lines"
        ) from None
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read: {error.strerror}") from None
    if not columns.time_s:
        why = f"; all its {columns.skipped} requests got no answer" if columns.skipped else ""
        raise ScenarioError(f"{path}: the trace holds no request{why}")
    return _table(name, columns)


def _parse(path: Path, file: TextIO) -> tuple[str, Columns]:
    first = file.readline()
    start = 1
    while first and not first.strip():
        first, start = file.readline(), start + 1
    if not first:
        raise ScenarioError(f"{path}: the trace is empty: it holds no request")
    if first.lstrip().startswith("{"):
        keys = _object(path, start, first)
        name = format_of(list(keys), JSONL_FORMATS)
        form = JSONL_FORMATS[name] if name else _refuse(path, start, f"the first row has {', '.join(keys)}")
        rows = _json_rows(path, start, first, file)
    else:
        header = [column.strip() for column in next(csv.reader([first]))]
        name = format_of(header, CSV_FORMATS)
        form = CSV_FORMATS[name] if name else _refuse(path, start, f"the header is {first.strip()[:SHOWN]!r}")
        rows = _csv_rows(path, start, header, file)
    assert name is not None
    columns = Columns()
    for line, row in rows:
        try:
            form.take(row, line, columns)
        except RowError as problem:
            raise ScenarioError(f"{path}:{line}: {problem}") from None
        except KeyError as key:
            raise ScenarioError(f"{path}:{line}: {key} is missing: a {form.title} has it in every row") from None
    return name, columns


def _refuse(path: Path, line: int, said: str) -> Format:
    known = " · ".join(known_formats())
    raise ScenarioError(f"{path}:{line}: not a trace of a known format: {said}; known: {known}")


def _csv_rows(path: Path, start: int, header: list[str], file: TextIO) -> Iterator[tuple[int, dict[str, str]]]:
    rows = csv.reader(file)
    try:
        for row in rows:
            if len(row) == len(header):
                yield start + rows.line_num, dict(zip(header, row, strict=True))
            elif row:
                said = f"{len(row)} fields, but the header names {len(header)}: {','.join(row)[:SHOWN]!r}"
                raise ScenarioError(f"{path}:{start + rows.line_num}: {said}; mend the row or take it out")
    except csv.Error as error:
        raise ScenarioError(f"{path}:{start + rows.line_num}: not CSV: {error}; export the file anew") from None


def _json_rows(path: Path, start: int, first: str, file: TextIO) -> Iterator[tuple[int, dict[str, Any]]]:
    yield start, _object(path, start, first)
    for line, text in enumerate(file, start=start + 1):
        if text.strip():
            yield line, _object(path, line, text)


def _object(path: Path, line: int, text: str) -> dict[str, Any]:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        said = f"not JSON: {text.strip()[:SHOWN]!r}; write one whole object on each line"
        raise ScenarioError(f"{path}:{line}: {said}") from None
    if not isinstance(row, dict):
        raise ScenarioError(f"{path}:{line}: {text.strip()[:SHOWN]!r}: an object in braces is needed on each line")
    return row


def _table(name: str, columns: Columns) -> TraceTable:
    """The columns in order of time."""
    labelled = len(columns.class_code) > 0
    ids = np.asarray(columns.block_ids, np.int64)
    has_blocks = ids.size > 0
    table = TraceTable(
        format=name,
        arrival_s=np.asarray(columns.time_s),
        prompt_tokens=np.asarray(columns.prompt_tokens, np.int64),
        output_tokens=np.asarray(columns.output_tokens, np.int64),
        class_names=tuple(columns.class_lines),
        class_lines=tuple(columns.class_lines.values()),
        class_code=np.asarray(columns.class_code, np.int64) if columns.class_lines else None,
        priority=np.asarray(columns.priority, np.int64) if labelled and any(columns.priority) else None,
        session=np.asarray(columns.session, np.int64) if columns.sessions else None,
        block_ids=np.unique(ids, return_inverse=True)[1].astype(np.int64) if has_blocks else None,
        block_ends=np.cumsum(np.asarray(columns.block_counts, np.int64)) if has_blocks else None,
        block_tokens=columns.block_tokens if has_blocks else 0,
        skipped=columns.skipped,
    )
    return from_start(table.take(np.argsort(table.arrival_s, kind="stable")))


def from_start(table: TraceTable) -> TraceTable:
    """Times counted from the first request."""
    return replace(table, arrival_s=table.arrival_s - table.arrival_s[0])


def cut(table: TraceTable, arrivals: TraceArrivals) -> TraceTable:
    """The window of a trace, and its first requests up to the limit.

    Raises ScenarioError when nothing is left.
    """
    window = arrivals.window
    if window is not None:
        end_s = np.inf if window.end_s is None else window.end_s
        inside = np.flatnonzero((table.arrival_s >= window.start_s) & (table.arrival_s < end_s))
        if not inside.size:
            raise ScenarioError(
                f"{arrivals.file}: no request in the window from {window.start_s:g} s to {end_s:g} s: "
                f"the trace lasts {table.arrival_s[-1]:.6g} s"
            )
        table = from_start(table.take(inside))
    if arrivals.limit is not None and arrivals.limit < table.size:
        table = table.take(np.arange(arrivals.limit))
    return table


def scale(table: TraceTable, arrivals: TraceArrivals, rng: Callable[[], np.random.Generator]) -> TraceTable:
    """Stretch a trace in time, and thin it or repeat its requests.

    A second copy of a request brings blocks and a session of its own: it stands for another user, and shares with
    second copies what the first shares with first ones.
    """
    table = replace(table, arrival_s=table.arrival_s * arrivals.time_scale)
    if arrivals.rate_scale == 1.0:
        return table
    times, whole = table.arrival_s, int(arrivals.rate_scale)
    copies = whole + (rng().random(times.size) < arrivals.rate_scale - whole).astype(np.int64)
    if not copies.any():
        copies[0] = 1
    gaps = np.diff(times, append=times[-1])
    index = np.repeat(np.arange(times.size), copies)
    nth = np.arange(index.size) - np.repeat(np.cumsum(copies) - copies, copies)
    spread = times[index] + gaps[index] * nth / np.maximum(copies[index], 1)
    taken = replace(table.take(index), arrival_s=spread)
    return taken if whole < 1 else _apart(taken, nth)


def _apart(table: TraceTable, nth: Ints) -> TraceTable:
    """Copies with ids of their own."""
    if table.session is not None:
        session = np.where(table.session < 0, -1, table.session + nth * (int(table.session.max()) + 1))
        table = replace(table, session=session)
    if table.block_ids is None or table.block_ends is None:
        return table
    shift = np.repeat(nth, np.diff(table.block_ends, prepend=0)) * (int(table.block_ids.max()) + 1)
    return replace(table, block_ids=table.block_ids + shift)


def trace_rate(times_s: Floats) -> float:
    """Mean arrivals per second of a trace: gaps ÷ time from first to last.

    >>> trace_rate(np.array([0.0, 1.0, 2.0]))
    1.0
    """
    span = float(times_s[-1] - times_s[0])
    return (times_s.size - 1) / span if span > 0 else float(times_s.size)
