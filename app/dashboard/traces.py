"""Traces that browsers replay: those that they upload, those of one folder of the server, and a sample.

A scenario names a trace by its file name alone; no path that a browser sends is opened. Knows nothing of pages.
"""

import hashlib
import json
import os
import re
import shutil
import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from tempfile import mkdtemp

from app.commands.dashboard import TRACES, UPLOAD_MB
from simulator.cluster.traces import TraceTable, read_trace
from simulator.cluster.traffic import CHUNK, request_chunks
from simulator.errors import ScenarioError
from simulator.spec.arrivals import BurstyArrivals
from simulator.spec.workload import EmpiricalLengths, Horizon, Workload

Traces = Mapping[str, Path]
"""File name → where it lies."""

MOST_BYTES = UPLOAD_MB * 1_000_000
"""Size of a trace, brought or of the server's folder."""

MOST_KEPT = 64
"""Uploaded traces that the server keeps; the one that was brought first goes first."""

MOST_LISTED = 100
"""Traces of the server's folder that are on offer."""

SUFFIXES = (".csv", ".jsonl", ".json", ".txt")

SAMPLE = "sample-bursty.jsonl"
SAMPLE_SEED, SAMPLE_CHUNKS = 1, 4
"""The sample is drawn, so many chunks of requests."""

_LONGEST_NAME = 80


class TraceStore:
    """Uploaded traces of all browsers, by their content, for as long as the server runs."""

    def __init__(self) -> None:
        self._folder = mkdtemp(prefix="specfleet-traces-")
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._kept: OrderedDict[Path, None] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, name: str, data: bytes) -> Path:
        """Keep a trace under its name; ScenarioError for one that is too large or cannot be read."""
        name = safe_name(name)
        if len(data) > MOST_BYTES:
            raise ScenarioError(
                f"{name}: {len(data) / 1e6:.1f} MB; a browser brings at most {MOST_BYTES / 1e6:g} MB: cut it to its "
                "first rows, or fit a workload to it by `specfleet import trace FILE --fit`"
            )
        path = Path(self._folder, hashlib.sha256(data).hexdigest()[:16], name)
        with self._lock:
            self._write(path, data)
        try:
            read_trace(path)
        except ScenarioError as error:
            self._drop(path)
            raise ScenarioError(without_folders(str(error), {name: path})) from None
        except RecursionError:
            self._drop(path)
            raise ScenarioError(f"{name}: nested too deep: a row is one flat object") from None
        return path

    def sample(self) -> Path:
        """A synthetic trace to try the page with."""
        path = Path(self._folder, "sample", SAMPLE)
        with self._lock:
            if not path.exists():
                _whole(path, sample_text().encode())
        return path

    def _write(self, path: Path, data: bytes) -> None:
        self._kept[path] = None
        self._kept.move_to_end(path)
        if not path.exists():
            _whole(path, data)
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)[0].unlink(missing_ok=True)

    def _drop(self, path: Path) -> None:
        with self._lock:
            self._kept.pop(path, None)
            path.unlink(missing_ok=True)


def _whole(path: Path, data: bytes) -> None:
    """Write a file so that nobody reads half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.tmp")
    beside.write_bytes(data)
    beside.replace(path)


def safe_name(name: str) -> str:
    """A file name of few characters, and of no folder.

    >>> safe_name("../My trace (1).csv"), safe_name("")
    ('My-trace-1-.csv', 'trace')
    """
    last = re.split(r"[/\\]", name)[-1]
    return re.sub(r"[^A-Za-z0-9._-]+", "-", last).lstrip(".-")[-_LONGEST_NAME:] or "trace"


def folder_traces() -> dict[str, Path]:
    """Traces of the folder that the server was started with, by name; none where there is no such folder."""
    folder = Path(os.environ.get(TRACES) or "traces")
    found: dict[str, Path] = {}
    with suppress(OSError):
        files = sorted(entry.name for entry in os.scandir(folder) if _small_enough(entry))
        found = {name: (folder / name).absolute() for name in files[:MOST_LISTED]}
    return found


def _small_enough(entry: "os.DirEntry[str]") -> bool:
    named = entry.name == safe_name(entry.name) and entry.name.lower().endswith(SUFFIXES)
    return named and entry.is_file() and entry.stat().st_size <= MOST_BYTES


def without_folders(text: str, traces: Traces) -> str:
    """A message or a file as a browser sees it: traces by their names, not by where they lie on the server."""
    for path in traces.values():
        text = text.replace(f"{path.parent}{os.sep}", "")
    return text


def name_of(file: str) -> str:
    """The name of a trace, wherever a file says that it lies.

    >>> name_of("../data/mine.csv")
    'mine.csv'
    """
    return re.split(r"[/\\]", file)[-1]


def sample_workload() -> Workload:
    """What the sample is drawn from: bursts of three times the mean rate, lengths as in a public trace."""
    return Workload(
        arrivals=BurstyArrivals(kind="bursty", rate_per_s=15.0, burst_factor=3.0, on_s=4.0, off_s=16.0),
        lengths=EmpiricalLengths(kind="empirical", table="azure-conv-2023"),
        horizon=Horizon(requests=CHUNK * SAMPLE_CHUNKS),
    )


def sample_text() -> str:
    """The sample in the project's own format."""
    return "".join(f"{json.dumps(row)}\n" for row in _sample_rows())


def _sample_rows() -> Iterator[dict[str, float | int]]:
    for chunk in islice(request_chunks(sample_workload(), SAMPLE_SEED, 0, None), SAMPLE_CHUNKS):
        columns = chunk.arrival_s.tolist(), chunk.prompt_tokens.tolist(), chunk.output_tokens.tolist()
        for at_s, prompt, output in zip(*columns, strict=True):
            yield {"arrival_s": round(at_s, 4), "prompt_tokens": prompt, "output_tokens": output}


def table_of(path: Path) -> TraceTable:
    """The requests of a trace; ScenarioError, without the server's folders, where it cannot be read any more."""
    try:
        return read_trace(path)
    except ScenarioError as error:
        raise ScenarioError(without_folders(str(error), {path.name: path})) from None
