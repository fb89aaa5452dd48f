"""A study of one scenario: the offered load, the capacity and the fleet of every deployment, and their comparison.

One task per deployment and replication, each with its own runs and none of another's results, so that the answer is
the same whatever executor they run on.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

from simulator.outcome.aggregate import aggregate_rows
from simulator.outcome.evidence import Evidence
from simulator.outcome.plain import plain
from simulator.outcome.report import Report, Row, empty_row
from simulator.planning.comparison import compare
from simulator.planning.context import row_context, why_unfit
from simulator.planning.economics import economics
from simulator.planning.model_error import ModelError, model_error, widened
from simulator.planning.provenance import provenance
from simulator.planning.replication import Replicated, Simulate, Task, study_replication
from simulator.planning.tasks import Meter, Progress, run_all
from simulator.run import simulate_once, with_best_trees
from simulator.spec.scenario import Scenario

MOST_DRAWN = 10
"""Replications whose loads are kept for the report."""

Guess = Callable[[Scenario, str], float | None]
"""Estimated capacity of a deployment [requests/s]; None: no idea."""


@dataclass(frozen=True, slots=True)
class StudyResult:
    """A report and what follows from comparing its deployments."""

    report: Report
    comparison: dict[str, Any]
    evidence: dict[str, Evidence] = field(default_factory=dict)
    """By deployment, what a report draws: `run`, replication 0 at the offered load, and `trials`, all loads tried."""
    economics: list[dict[str, Any]] = field(default_factory=list)
    """Of each deployment that speculates: what its drafts add, save and cost."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A study before its tasks have run."""

    scenario: Scenario
    point: str
    unfit: dict[str, str]
    """Deployment that does not fit → why."""
    tasks: tuple[Task, ...]
    """Of those that fit, replication by replication."""


def study(
    scenario: Scenario,
    executor: Executor | None = None,
    progress: Progress | None = None,
    *,
    guess: Guess | None = None,
    point: str = "base",
    simulate: Simulate = simulate_once,
    fill: bool = True,
) -> StudyResult:
    """Study a scenario.

    executor: where the tasks run; None: here, one after the other.
    progress: called with the tasks done and the tasks there are.
    guess: an estimate of the capacity, from which the searches start; the better, the fewer runs.
    point: name of the sweep point that the scenario is.
    fill: whether loads that the searches leave out are simulated too, for figures alone: no row follows from them.
    """
    prepared = prepare(scenario, guess=guess, point=point, simulate=simulate, fill=fill)
    meter = Meter(progress, len(prepared.tasks))
    return finish(prepared, run_all(study_replication, prepared.tasks, executor, lambda task: meter.did()))


def prepare(
    scenario: Scenario,
    *,
    guess: Guess | None = None,
    point: str = "base",
    simulate: Simulate = simulate_once,
    fill: bool = True,
) -> Prepared:
    """The tasks of a study, as `study` takes it; `study_replication` runs each, wherever that is."""
    scenario = with_best_trees(scenario)
    unfit = {name: reason for name in scenario.deployments if (reason := why_unfit(scenario, name))}
    tasks = tuple(
        Task(scenario, name, replication, guessed, point, simulate, fill)
        for name in scenario.deployments
        if name not in unfit
        for guessed in (guess(scenario, name) if guess else None,)
        for replication in range(scenario.replications)
    )
    return Prepared(scenario, point, unfit, tasks)


def finish(prepared: Prepared, done: Sequence[Replicated]) -> StudyResult:
    """The study from what its tasks have found, in their order."""
    scenario, unfit = prepared.scenario, prepared.unfit
    replications = [found.row for found in done]
    errors = {name: model_error(scenario, name) for name in scenario.deployments if name not in unfit}
    rows = tuple(_rows(scenario, replications, unfit, errors, prepared.point))
    report = Report(scenario.name, rows, tuple(replications), provenance(scenario))
    return StudyResult(report, compare(rows, replications, errors), _evidence(done), economics(scenario, rows))


def _evidence(done: Sequence[Replicated]) -> dict[str, Evidence]:
    found: dict[str, Evidence] = {}
    for row, run, trials in done:
        own = found.setdefault(row["deployment"], {"run": None, "trials": []})
        own["run"] = run or own["run"]
        if row["replication"] < MOST_DRAWN:
            own["trials"] += [{"replication": row["replication"], **trial} for trial in trials]
    return found


def _rows(
    scenario: Scenario,
    replications: Sequence[Row],
    unfit: dict[str, str],
    errors: dict[str, ModelError | None],
    point: str,
) -> Iterator[Row]:
    for name in scenario.deployments:
        if name in unfit:
            yield empty_row(row_context(scenario, name, point), "all", unfit[name])
        else:
            found = aggregate_rows([row for row in replications if row["deployment"] == name])
            yield widened(found, errors[name])


def to_json_ready(result: StudyResult) -> dict[str, Any]:
    """The study as plain JSON values: no numpy types, no tuples, None for what is not a finite number."""
    report = result.report
    found = {
        "scenario": report.scenario,
        "provenance": report.provenance,
        "rows": report.rows,
        "replications": report.replications,
        "comparison": result.comparison,
        "economics": result.economics,
        "evidence": result.evidence,
    }
    ready: dict[str, Any] = plain(found)
    return ready
