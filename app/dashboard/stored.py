"""Run folders as the page Runs shows them, all of one runs folder, which the server was started with.

Knows nothing of pages. A browser chooses among the folders that were found; no name or path that it sends is opened.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from app.commands.dashboard import RUNS
from app.compare.folders import read_run
from app.compare.runs import compare_runs
from app.compare.show import COLUMNS
from app.format import ABSENT, low_high, plural, times
from app.tables.runs import megabytes, progress_of
from scenarios.runs import Run, read_manifest
from scenarios.yaml_nodes import parse_yaml, plain
from simulator.errors import ScenarioError

MOST_BYTES = 40_000_000
"""Largest summary that a browser has opened."""
MOST_COMPARED = 200
"""Points of a run that a browser has compared."""

STATES = {
    "finished": "finished", "running": "running", "unfinished": "left unfinished", "older": "older layout",
    "newer": "newer layout",
}  # fmt: skip
"""State of a run → how the page says it."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A finished run."""

    summary: Mapping[str, Any]
    """In the shape of `run --json`."""
    document: Mapping[str, Any]
    """The resolved scenario."""
    text: str
    """The same as a file."""

    @property
    def points(self) -> dict[str, Mapping[str, Any]]:
        """Label of a sweep's point → its comparison and what it sets; without a sweep, the only one."""
        swept = self.summary.get("points")
        only = {"point": "base", "values": {}, "comparison": self.summary["comparison"]}
        return {str(point["point"]): point for point in swept or [only]}

    def rows(self, point: str) -> list[Mapping[str, Any]]:
        """Rows of a point."""
        return [row for row in self.summary["rows"] if str(row.get("point", "base")) == point]


def runs_folder() -> Path:
    """Where run folders are looked for: as the server was told, else in its working folder."""
    return Path(os.environ.get(RUNS) or "runs")


def listed(runs: Sequence[Run]) -> list[dict[str, str]]:
    """Runs as lines of a table."""
    return [
        {
            "run": run.path.name,
            "scenario": run.scenario,
            "written (UTC)": f"{run.written:%Y-%m-%d %H:%M}",
            "state": STATES[run.state],
            "points": progress_of(run),
            "GPUs": ", ".join(run.gpus) or ABSENT,
            "winner": run.winner or ABSENT,
            "size": megabytes(run.num_bytes),
        }
        for run in runs
    ]


def opened(run: Run) -> Opened:
    """A finished run; ScenarioError where it is not one that this version reads, or too large for a browser."""
    if not read_manifest(run.path).get("complete"):
        raise ScenarioError(f"{run.path.name}: not finished: `specfleet run {run.path.name}/scenario.yaml` finishes it")
    return _opened(run.path, run.written.timestamp())


@lru_cache(maxsize=4)
def _opened(path: Path, written_s: float) -> Opened:
    """written_s: only tells a run from the same one that was written anew."""
    try:
        size = (path / "summary.json").stat().st_size
        if size > MOST_BYTES:
            raise ScenarioError(
                f"{path.name}: a summary of {size / 1e6:,.0f} MB; a browser opens at most {MOST_BYTES / 1e6:,.0f}: "
                "read its summary.parquet"
            )
        summary = json.loads((path / "summary.json").read_bytes())
        text = (path / "scenario.yaml").read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ScenarioError(f"{path.name}: not a whole run folder ({error}); run the scenario again") from None
    return Opened(summary, plain(parse_yaml(text, "scenario.yaml")[0]), text)


def report_of(run: Run) -> bytes:
    """The report of a run as it lies in its folder."""
    return (run.path / "report.html").read_bytes()


def compared(first: Run, second: Run) -> dict[str, Any]:
    """Two runs, as `specfleet compare --json` has it; ScenarioError where they have nothing in common."""
    for run in (first, second):
        if run.points > MOST_COMPARED:
            raise ScenarioError(
                f"{run.path.name}: {plural(run.points, 'point')}; a browser has at most {MOST_COMPARED} compared: use "
                "`specfleet compare`"
            )
    return compare_runs(read_run(first.path), read_run(second.path))


def ratio_rows(found: Mapping[str, Any]) -> list[dict[str, str]]:
    """Second ÷ first, a line for each deployment that both have."""
    several = len({row["point"] for row in found["rows"]}) > 1
    return [
        {"deployment": f"{row['deployment']}, {row['point']}" if several else str(row["deployment"])}
        | {title.replace("\n", " "): _ratio(row["ratios"].get(field)) for field, title in COLUMNS.items()}
        for row in found["rows"]
    ]


def _ratio(cell: Mapping[str, Any] | None) -> str:
    if cell is None:
        return ABSENT
    ends = f" ({low_high(cell['interval'])})" if cell["interval"] else ""
    return f"{times(cell['ratio'])}{ends}" if cell["changed"] else f"same{ends}"


def why_rows(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Why deployments differ, and what must be known before the ratios are believed."""
    for row in found["rows"]:
        yield f"{row['deployment']}", str(row["why"])
    for name, words in (("only_in_first", "first"), ("only_in_second", "second")):
        if found[name]:
            yield f"Only in the {words}", ", ".join(dict.fromkeys(left["deployment"] for left in found[name]))
    yield from (("Note", str(text)) for text in found["notes"])
