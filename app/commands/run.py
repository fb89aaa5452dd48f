"""`specfleet run`: simulate every deployment of a scenario and say which is cheapest, why, and what flips it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from app.exits import INTERRUPTED, worst
from app.options import Debug, Files, Force, Jobs, Json, Out, Quiet, Requests, Seeds, Sets, Where, with_seeds

if TYPE_CHECKING:
    from app.progress import ProgressBar
    from app.simulate import FileRun, Settings


def run(
    files: Files,
    as_json: Json = False,
    sets: Sets = None,
    out: Out = Path("runs"),
    seeds: Seeds = None,
    jobs: Jobs = None,
    executor: Where = None,
    force: Force = False,
    requests: Requests = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Simulate deployments: the cheapest, why, and what flips it.

    Every deployment, sweep point and replication is simulated under the same random streams. Results go to a run
    folder, where a finished point is found again instead of being computed anew: a batch that was ended goes on.

    \b
    Examples:
      specfleet run h200_vs_b200_chat
      specfleet run chat.yaml --set workload.arrivals.rate_per_s=8 --seeds 3
      specfleet run scenarios/ --json > results.json
      specfleet run scenarios/ --executor dask://127.0.0.1:8786
    """
    from app.loading import expand
    from app.progress import ProgressBar
    from app.simulate import Settings, run_files
    from scenarios.executors import workers

    names, several = expand(files)
    settings = Settings(out, force=force, quiet=quiet, requests=requests)
    batch = _Batch(several, settings, as_json=as_json, debug=debug)
    opened = batch.open(names, with_seeds(sets, seeds))
    with workers(_enough(jobs, executor, opened), executor or "process") as places, ProgressBar(quiet=quiet) as bar:
        for file_run in run_files(opened, settings, places, bar):
            batch.close(file_run, bar)
    raise typer.Exit(batch.finish(names))


def _enough(jobs: int | None, where: str | None, opened: "Sequence[FileRun]") -> int | None:
    """Processes that are wanted: none but this one for a single task, unless it is said where to run."""
    alone = sum(run.num_tasks(number) for run in opened for number in run.missing) <= 1
    return 1 if alone and jobs is None and where is None else jobs


class _Batch:
    """The scenario files of one call: what came of each, told as it comes."""

    def __init__(self, several: bool, settings: "Settings", *, as_json: bool, debug: bool) -> None:
        self._several = several
        self._settings = settings
        self._as_json = as_json
        self._debug = debug
        self._found: dict[str, tuple[int, dict[str, Any]]] = {}
        """By file: exit code and summary."""

    def open(self, names: Sequence[str], sets: Sequence[str]) -> "list[FileRun]":
        """The files that can be loaded; of several, one that cannot is told and does not stop the others."""
        from app.loading import load
        from app.simulate import open_run

        opened = []
        for name in names:
            try:
                opened.append(open_run(name, load(name, sets), self._settings))
            except Exception as error:
                self._fail(name, error)
        return opened

    def close(self, run: "FileRun", bar: "ProgressBar") -> None:
        """Write and show what came of a file."""
        from app.console import note
        from app.results import exit_code
        from app.show import show
        from app.simulate import close_run

        with bar.away():
            try:
                summary = close_run(run, self._settings)
            except Exception as error:
                self._fail(run.file, error)
                return
            if run.interrupted:
                self._interrupted(run)
                return
            if not self._as_json:
                show(run.loaded, summary)
            note(f"results: {run.folder.path}", quiet=self._settings.quiet)
            self._found[run.file] = exit_code(summary, batch=self._several), summary

    def _fail(self, name: str, error: Exception) -> None:
        from app.guard import tell

        if not self._several:
            raise error
        self._found[name] = tell(error, debug=self._debug), {"error": str(error)}

    def _interrupted(self, run: "FileRun") -> None:
        from app.console import note

        kept = f"{len(run.points)} of {len(run.digests)} points are finished"
        of = f" {run.file}," if self._several else ""
        note(f"interrupted:{of} {kept}" + (f" and kept in {run.folder.path}" if run.points else ""))
        self._found[run.file] = INTERRUPTED, {}

    def finish(self, names: Sequence[str]) -> int:
        """Print what is to be printed of all; the exit code."""
        codes = [code for code, _ in self._found.values()]
        if INTERRUPTED in codes:
            return INTERRUPTED
        if self._as_json:
            from app.console import print_json

            print_json({"runs": list(map(self._entry, names))} if self._several else self._found[names[0]][1])
        return worst(codes) if self._several else codes[0]

    def _entry(self, name: str) -> dict[str, Any]:
        code, summary = self._found[name]
        return {"file": name, "exit_code": code, **summary}
