"""Study every point of a scenario file, those that an earlier run has finished left out, and keep what is finished."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.console import note
from app.progress import ProgressBar
from app.results import PointResult, put_together

if TYPE_CHECKING:
    from scenarios.load import LoadedScenario, Point
    from scenarios.store import RunFolder


@dataclass(frozen=True, slots=True)
class Settings:
    """How a command runs scenarios."""

    out: Path
    force: bool = False
    quiet: bool = False
    requests: bool = False


@dataclass(slots=True)
class FileRun:
    """One scenario file on its way: finished points, and whether an interrupt ended it."""

    loaded: "LoadedScenario"
    folder: "RunFolder"
    points: list[PointResult] = field(default_factory=list)
    interrupted: bool = False


def run_file(loaded: "LoadedScenario", settings: Settings, executor: Executor | None) -> tuple[FileRun, dict[str, Any]]:
    """Study a scenario file and write its run folder: the run, and its summary (empty if nothing is finished)."""
    from scenarios.store import RunFolder, run_hash

    run = FileRun(loaded, RunFolder(settings.out, loaded.name, run_hash(loaded)))
    if settings.force or settings.requests or not _is_whole(run):
        run.folder.prepare()
    with ProgressBar(quiet=settings.quiet) as bar, _interruptible(run):
        for point in _points(run, settings, executor, bar):
            run.points.append(point)
    _tell_found(run, settings)
    if not run.points:
        return run, {}
    summary = put_together(loaded.name, run.points, () if run.interrupted else loaded.asserts)
    _write(run, settings, summary)
    return run, summary


@contextmanager
def _interruptible(run: FileRun) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        run.interrupted = True


def _is_whole(run: FileRun) -> bool:
    """Whether the folder holds all that a finished run leaves."""
    from scenarios.store import is_whole, point_hash

    return is_whole(run.folder, [point_hash(point.scenario) for point in run.loaded.points])


def _points(run: FileRun, settings: Settings, executor: Executor | None, bar: ProgressBar) -> Iterator[PointResult]:
    from scenarios.store import label_of, point_hash

    total = len(run.loaded.points)
    for number, point in enumerate(run.loaded.points):
        digest, label = point_hash(point.scenario), label_of(point.label)
        stored = None if settings.force else run.folder.find_point(digest)
        if stored is not None:
            kept, where = stored
            if where != run.folder.path:
                run.folder.save_point(digest, kept["result"], kept["seconds"])
            yield PointResult(label, point.label, digest, kept["result"], kept["seconds"], found=True)
            continue
        bar.describe(f"{run.loaded.name} {number + 1}/{total}" if total > 1 else run.loaded.name)
        result, seconds = _study(point, label, executor, _in_sweep(bar, number, total))
        run.folder.save_point(digest, result, seconds)
        yield PointResult(label, point.label, digest, result, seconds)


def _tell_found(run: FileRun, settings: Settings) -> None:
    found, total = sum(point.found for point in run.points), len(run.loaded.points)
    if found:
        what = f"{found} of {total} points" if total > 1 else str(run.folder.path)
        note(f"found again: {what} (use --force to compute anew)", quiet=settings.quiet)


def _in_sweep(bar: ProgressBar, number: int, total: int) -> Callable[[int, int], None]:
    """Progress of a point as that of the whole sweep; its points have equally many tasks."""

    def update(done: int, tasks: int) -> None:
        bar.update(number * tasks + done, total * tasks)

    return update


def _study(
    point: "Point", label: str, executor: Executor | None, progress: Callable[[int, int], None]
) -> tuple[dict[str, Any], float]:
    from simulator.planning.estimate import guess_capacity
    from simulator.planning.study import study, to_json_ready

    start_s = time.perf_counter()
    alone = len(point.scenario.deployments) * point.scenario.replications == 1
    result = study(point.scenario, None if alone else executor, progress, guess=guess_capacity, point=label)
    return to_json_ready(result), time.perf_counter() - start_s


def _write(run: FileRun, settings: Settings, summary: dict[str, Any]) -> None:
    """Write the run folder, unless it is whole already: what an interrupt left never replaces that."""
    from app.manifest import manifest
    from app.report.page import report_html
    from scenarios.store import write_requests, write_run

    anew = settings.force or settings.requests
    if _is_whole(run) and (run.interrupted or not anew):
        return
    report = report_html(run.loaded, summary, run.points, run.folder.digest)
    write_run(run.folder, run.loaded, summary, manifest(run, summary), report)
    if settings.requests and not run.interrupted:
        unfit = [(row["point"], row["deployment"]) for row in summary["rows"] if not row.get("fits", True)]
        write_requests(run.folder, run.loaded, unfit)
