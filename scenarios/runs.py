"""The runs folder as a whole: what is in it, finished or not, and what of it may go."""

import json
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from scenarios.store import STORE_VERSION, told
from simulator.errors import ScenarioError

QUIET_S = 3600.0
"""Seconds without a new file after which an unfinished run counts as left alone."""

WRITTEN = (
    "manifest.json",
    "scenario.yaml",
    "summary.*",
    "report.html",
    "requests.parquet",
    "points/*.json",
    "**/.*.tmp",
)
"""Files that a run writes."""

State = Literal["finished", "running", "unfinished", "older", "newer"]
"""`running`: written to lately, and not ended by an interrupt; `older`, `newer`: in a layout that is not read."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run folder at a glance."""

    path: Path
    scenario: str
    state: State
    written: datetime
    """When a file of it was last written, in UTC."""
    points: int
    """Points that are finished."""
    points_in_file: int
    gpus: tuple[str, ...]
    winner: str | None
    """Of its comparison; None where there is none, or not yet."""
    version: str | None
    """Of specfleet."""
    num_bytes: int
    """That its files take."""


def list_runs(out: Path) -> list[Run]:
    """Every run folder of a runs folder, the newest first; ScenarioError where there is no such folder."""
    if not out.is_dir():
        raise ScenarioError(f"{out}: no such folder; `specfleet run` makes it, --out names another one")
    found = [run for folder in out.iterdir() if (run := _run(folder)) is not None]
    return sorted(found, key=lambda run: (run.written, run.path.name), reverse=True)


def _run(folder: Path) -> Run | None:
    """A folder at a glance; None where it is no run's."""
    manifest = _manifest(folder)
    if manifest is None:
        return None
    files = list(_files(folder))
    last_s = max((file.st_mtime for file in files), default=0.0)
    points = manifest.get("points")
    return Run(
        path=folder,
        scenario=str(manifest.get("scenario")),
        state=_state(manifest, last_s),
        written=datetime.fromtimestamp(last_s, UTC),
        points=sum(1 for _ in (folder / "points").glob("*.json")),
        points_in_file=int(manifest.get("points_in_file") or (len(points) if isinstance(points, list) else 0)),
        gpus=tuple(map(str, manifest.get("gpus") or ())),
        winner=manifest.get("winner"),
        version=manifest.get("version"),
        num_bytes=sum(file.st_size for file in files),
    )


def _files(folder: Path) -> Iterator[os.stat_result]:
    """What is known of each file of a folder that others may write to."""
    for entry in folder.rglob("*"):
        with suppress(OSError):
            if entry.is_file():
                yield entry.stat()


def _manifest(folder: Path) -> Mapping[str, Any] | None:
    """What a folder's manifest holds; None where it has none that can be read."""
    try:
        found = json.loads((folder / "manifest.json").read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and "scenario" in found else None


def _state(manifest: Mapping[str, Any], last_s: float) -> State:
    """An interrupt leaves a manifest with the points that are finished; a run on its way has one without any yet."""
    version = manifest.get("store_version", 1)
    if version != STORE_VERSION:
        return "newer" if _is_newer(version) else "older"
    if manifest.get("complete"):
        return "finished"
    ended = manifest.get("points") or time.time() - last_s > QUIET_S
    return "unfinished" if ended else "running"


def _is_newer(version: Any) -> bool:
    return isinstance(version, int) and version > STORE_VERSION


def read_manifest(path: Path) -> Mapping[str, Any]:
    """The manifest of a run folder; ScenarioError where it is none, or of a layout that this version does not read."""
    if not path.is_dir():
        raise ScenarioError(f"{path}: no such folder; `specfleet run` names the run folder that it writes")
    manifest = _manifest(path)
    if manifest is None:
        raise ScenarioError(f"{path}: not a run folder: it has no manifest.json that can be read")
    version = manifest.get("store_version", 1)
    if version != STORE_VERSION:
        way_out = "update specfleet to read it" if _is_newer(version) else "run its scenario.yaml again"
        raise ScenarioError(
            f"{path}: written by specfleet {manifest.get('version')} in layout {version}, this one reads layout "
            f"{STORE_VERSION}; {way_out}"
        )
    return manifest


def chosen(
    runs: Sequence[Run], name: str | None = None, newer_than: timedelta | None = None, gpu: str | None = None
) -> list[Run]:
    """Those of a scenario (`*` stands for anything), not older than an age, and with a deployment on a GPU."""
    since = None if newer_than is None else datetime.now(UTC) - newer_than
    return [
        run
        for run in runs
        if (name is None or fnmatchcase(run.scenario, name))
        and (since is None or run.written >= since)
        and (gpu is None or gpu in run.gpus)
    ]


def to_prune(runs: Sequence[Run], older_than: timedelta | None = None, keep: int | None = None) -> list[Run]:
    """Those that may go: older than an age, and not among the newest so many of their scenario; none that is running.

    runs: the newest first.
    """
    until = None if older_than is None else datetime.now(UTC) - older_than
    seen: dict[str, int] = {}
    found = []
    for run in runs:
        seen[run.scenario] = seen.get(run.scenario, 0) + 1
        old = until is None or run.written < until
        if run.state != "running" and old and (keep is None or seen[run.scenario] > keep):
            found.append(run)
    return found


def remove(run: Run) -> None:
    """Remove a run folder, the manifest first, so that no half is taken for whole; what no run writes is left in it."""
    with told(run.path):
        for pattern in WRITTEN:
            for file in run.path.glob(pattern):
                file.unlink(missing_ok=True)
        for folder in (run.path / "points", run.path):
            with suppress(OSError):
                folder.rmdir()


def age(text: str) -> timedelta:
    """An age such as 90m, 12h, 7d or 4w.

    >>> age("7d"), age("12h").total_seconds()
    (datetime.timedelta(days=7), 43200.0)
    """
    units = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
    found = re.fullmatch(r"([0-9]{1,4})([mhdw])", text)
    if found is None:
        raise ScenarioError(f"{text!r}: write an age, such as 90m, 12h, 7d or 4w")
    return timedelta(**{units[found[2]]: int(found[1])})
