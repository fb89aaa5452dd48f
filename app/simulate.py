"""Study every point of scenario files, those that an earlier run has finished left out, and keep what is finished.

The points of all files are one stream of tasks: a file's last tasks run beside the next one's first.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.console import note
from app.progress import ProgressBar
from app.results import PointResult, put_together

if TYPE_CHECKING:
    from scenarios.load import LoadedScenario
    from scenarios.schedule import Outcome
    from scenarios.store import RunFolder
    from simulator.planning.replication import Task
    from simulator.planning.study import Prepared


@dataclass(frozen=True, slots=True)
class Settings:
    """How a command runs scenarios."""

    out: Path
    force: bool = False
    quiet: bool = False
    requests: bool = False


@dataclass(slots=True, eq=False)
class FileRun:
    """One scenario file on its way."""

    file: str
    """As the command names it."""
    loaded: "LoadedScenario"
    folder: "RunFolder"
    digests: list[str]
    """Of its points, in the order of the grid."""
    missing: set[int]
    """Points of which no result lay on disk at the start."""
    points: dict[int, PointResult] = field(default_factory=dict)
    """By their place in the grid, those that are finished."""
    error: BaseException | None = None
    interrupted: bool = False

    @property
    def is_done(self) -> bool:
        """Whether nothing more will come of it."""
        return len(self.points) == len(self.digests) or self.error is not None or self.interrupted

    def finished(self) -> list[PointResult]:
        """The finished points, in the order of the grid."""
        return [self.points[number] for number in sorted(self.points)]

    def num_tasks(self, number: int) -> int:
        """Tasks of a point whose deployments all fit."""
        scenario = self.loaded.points[number].scenario
        return len(scenario.deployments) * scenario.replications


def open_run(file: str, loaded: "LoadedScenario", settings: Settings) -> FileRun:
    """A scenario file that is to be run: nothing is written yet."""
    from scenarios.store import RunFolder, hash_of_points, point_hash

    digests = [point_hash(point.scenario) for point in loaded.points]
    folder = RunFolder(settings.out, loaded.name, hash_of_points(digests, loaded))
    missing = {number for number, digest in enumerate(digests) if settings.force or not folder.has_point(digest)}
    return FileRun(file, loaded, folder, digests, missing)


def run_files(
    runs: Sequence[FileRun], settings: Settings, executor: Executor | None, bar: ProgressBar
) -> Iterator[FileRun]:
    """Each scenario file when nothing more will come of it, in their order."""
    from scenarios.schedule import run_jobs
    from simulator.planning.replication import study_replication

    waiting = list(runs)
    counter = _Counter(runs, bar)
    try:
        jobs = (job for run in runs for job in _jobs(run, settings, counter))
        for outcome in run_jobs(jobs, study_replication, executor, counter.tick):
            _settle(outcome)
            while waiting and waiting[0].is_done:
                yield waiting.pop(0)
    except KeyboardInterrupt:
        if executor is not None:
            executor.shutdown(wait=False, cancel_futures=True)
        for run in waiting:
            run.interrupted = not run.is_done
    yield from waiting


@dataclass(slots=True, eq=False)
class PointJob:
    """One point of a scenario file that is to be studied."""

    run: FileRun
    number: int
    prepared: "Prepared"

    @property
    def tasks(self) -> Sequence["Task"]:
        """One a deployment and replication."""
        return self.prepared.tasks

    def describe(self, task: int) -> str:
        """A task in words."""
        of = self.prepared.tasks[task]
        return f"{self.run.loaded.name}, {of.point}: {of.deployment}, replication {of.replication}"


class _Counter:
    """Tasks done of all files, on the bar."""

    def __init__(self, runs: Sequence[FileRun], bar: ProgressBar) -> None:
        self._bar = bar
        self._done = 0
        self._total = sum(run.num_tasks(number) for run in runs for number in run.missing)
        bar.update(0, self._total)

    def tick(self) -> None:
        """One more is done."""
        self._done += 1
        self._bar.update(self._done, max(self._total, self._done))

    def describe(self, run: FileRun, number: int) -> None:
        """Say which point is next."""
        total = len(run.digests)
        self._bar.describe(f"{run.loaded.name} {number + 1}/{total}" if total > 1 else run.loaded.name)


def _jobs(run: FileRun, settings: Settings, counter: _Counter) -> Iterator[PointJob]:
    """The points of a file that are still to be studied; those that are not are put away."""
    try:
        if settings.force or settings.requests or not _is_whole(run):
            _begin(run)
        for number in range(len(run.digests)):
            if run.error is not None:
                return
            if settings.force or not _found_again(run, number):
                counter.describe(run, number)
                yield PointJob(run, number, _prepared(run, number))
    except Exception as error:
        run.error = error


def _begin(run: FileRun) -> None:
    """Make the run folder, and say in it that the run is on its way, unless it holds a finished one."""
    from app.manifest import manifest
    from scenarios.run_files import begin_run

    run.folder.prepare()
    if not _is_whole(run):
        begin_run(run.folder, run.loaded, manifest(run, {}, complete=False))


def _is_whole(run: FileRun) -> bool:
    """Whether the folder holds all that a finished run leaves."""
    from scenarios.run_files import is_whole

    return is_whole(run.folder, run.digests)


def _found_again(run: FileRun, number: int) -> bool:
    """Whether a point is finished already; one that a neighbouring folder holds is copied."""
    digest = run.digests[number]
    stored = run.folder.find_point(digest)
    if stored is None:
        return False
    kept, where = stored
    if where != run.folder.path:
        run.folder.save_point(digest, kept["result"], kept["seconds"])
    _keep(run, number, kept["seconds"], found=True)
    return True


def _keep(run: FileRun, number: int, seconds: float, *, found: bool = False) -> None:
    """Remember a point that is on disk."""
    from scenarios.store import label_of

    values, digest = run.loaded.points[number].label, run.digests[number]
    run.points[number] = PointResult(label_of(values), values, digest, run.folder.result(digest), seconds, found)


def _prepared(run: FileRun, number: int) -> "Prepared":
    from scenarios.store import label_of
    from simulator.planning.estimate import guess_capacity
    from simulator.planning.study import prepare

    point = run.loaded.points[number]
    return prepare(point.scenario, guess=guess_capacity, point=label_of(point.label))


def _settle(outcome: "Outcome[PointJob]") -> None:
    """Put away what came of a point."""
    from simulator.planning.study import finish, to_json_ready

    job, run = outcome.job, outcome.job.run
    try:
        if outcome.error is not None:
            raise outcome.error
        if run.error is None:
            run.folder.save_point(
                run.digests[job.number], to_json_ready(finish(job.prepared, outcome.found)), outcome.seconds
            )
            _keep(run, job.number, outcome.seconds)
    except Exception as error:
        run.error = run.error or error


def close_run(run: FileRun, settings: Settings) -> dict[str, Any]:
    """Write the run folder of what is finished; its summary, empty if nothing is. Raises what went wrong on the way."""
    if run.error is not None:
        raise run.error
    _tell_found(run, settings)
    if not run.points:
        return {}
    summary = put_together(run.loaded.name, run.finished(), () if run.interrupted else run.loaded.asserts)
    _write(run, settings, summary)
    return summary


def _tell_found(run: FileRun, settings: Settings) -> None:
    found, total = sum(point.found for point in run.points.values()), len(run.digests)
    if found:
        what = f"{found} of {total} points" if total > 1 else str(run.folder.path)
        note(f"found again: {what} (use --force to compute anew)", quiet=settings.quiet)


def _write(run: FileRun, settings: Settings, summary: dict[str, Any]) -> None:
    """Write the run folder, unless it is whole already: what an interrupt left never replaces that."""
    from app.manifest import manifest
    from app.report.page import report_html
    from scenarios.run_files import write_requests, write_run

    anew = settings.force or settings.requests
    if _is_whole(run) and (run.interrupted or not anew):
        return
    report = report_html(run.loaded, summary, run.finished(), run.folder.digest)
    write_run(run.folder, run.loaded, summary, manifest(run, summary, complete=not run.interrupted), report)
    if settings.requests and not run.interrupted:
        unfit = [(row["point"], row["deployment"]) for row in summary["rows"] if not row.get("fits", True)]
        write_requests(run.folder, run.loaded, unfit)
