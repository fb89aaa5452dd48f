"""Estimates of the points of a scenario file: in chunks that share the most, on processes where they are many.

What comes of a point does not depend on its chunk, nor on where that was computed.
"""

import pickle
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from app.progress import ProgressBar
from app.results import PointResult, put_together

if TYPE_CHECKING:
    from scenarios.load import LoadedScenario, Point
    from simulator.spec.scenario import Scenario

CHUNK = 25
"""Points that a process is given at once."""

WORTH_PROCESSES = 600
"""Deployments over all points from which starting processes pays."""

Parts = dict[str, bytes]
"""Part of an answer → the same, pickled."""


def estimated(loaded: "LoadedScenario", jobs: int | None = 1, *, quiet: bool = True) -> dict[str, Any]:
    """The summary of a scenario from estimates alone.

    jobs: processes; None: one a core.
    """
    from scenarios.executors import workers
    from scenarios.store import label_of

    many = sum(len(point.scenario.deployments) for point in loaded.points) >= WORTH_PROCESSES
    with workers(jobs if many else 1) as executor, ProgressBar(quiet=quiet) as bar:
        bar.describe(loaded.name)
        answers = _answers(loaded.points, executor, bar)
    points = [
        PointResult(label_of(point.label), point.label, "", Packed(parts), 0.0)
        for point, parts in zip(loaded.points, answers, strict=True)
    ]
    return put_together(loaded.name, points, loaded.asserts)


class Packed(Mapping[str, Any]):
    """An answer that is kept small: each part is made anew when it is looked into."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def __getitem__(self, part: str) -> Any:
        return pickle.loads(self._parts[part])

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Points that are estimated one after the other."""

    places: list[int]
    """In the grid."""
    points: list[tuple[str, "Scenario"]]

    @property
    def tasks(self) -> Sequence[list[tuple[str, "Scenario"]]]:
        """One for all."""
        return (self.points,)

    def describe(self, task: int) -> str:
        """The chunk in words."""
        return f"{self.points[task][0]} and what follows it"


def _answers(points: Sequence["Point"], executor: Executor | None, bar: ProgressBar) -> list[Parts]:
    """One answer per point, in their order."""
    from scenarios.schedule import run_jobs

    found: list[Parts] = [{}] * len(points)
    known: dict[bytes, bytes] = {}
    done = 0
    for outcome in run_jobs(_chunks(points), estimate_points, executor):
        if outcome.error is not None:
            raise outcome.error
        for place, parts in zip(outcome.job.places, outcome.found[0], strict=True):
            found[place] = {name: known.setdefault(part, part) for name, part in parts.items()}
        done += len(outcome.job.places)
        bar.update(done, len(points))
    return found


def _chunks(points: Sequence["Point"]) -> Iterator[Chunk]:
    """Points that differ in their rate or in prices alone follow each other, for they share their steady states."""
    from scenarios.store import label_of

    order = sorted(range(len(points)), key=lambda place: _sharing(points[place].label))
    for first in range(0, len(order), CHUNK):
        places = order[first : first + CHUNK]
        yield Chunk(places, [(label_of(points[place].label), points[place].scenario) for place in places])


def _sharing(label: Mapping[str, Any]) -> str:
    """A point's values without those that its steady states do not follow from.

    >>> _sharing({"workload.arrivals.rate_per_s": 2, "a.k": 3, "deployments.a.price": 4.0})
    "[('a.k', 3)]"
    """
    return repr([(path, value) for path, value in label.items() if not _is_rate_or_price(path)])


def _is_rate_or_price(path: str) -> bool:
    return path.endswith("rate_per_s") or ".price" in path


def estimate_points(points: Sequence[tuple[str, "Scenario"]]) -> list[Parts]:
    """The answers of labelled points, each in the shape of `run --json`, its parts pickled."""
    return [{name: pickle.dumps(part) for name, part in _estimate(*point).items()} for point in points]


def _estimate(label: str, scenario: "Scenario") -> dict[str, Any]:
    from simulator.outcome.plain import plain
    from simulator.planning.comparison import compare
    from simulator.planning.economics import economics
    from simulator.planning.model_error import estimate_with_error
    from simulator.planning.provenance import provenance

    found = {name: estimate_with_error(scenario, name, label) for name in scenario.deployments}
    rows, errors = [row for row, _ in found.values()], {name: error for name, (_, error) in found.items()}
    origin = provenance(scenario) | {"method": "steady state", "replications": None}
    found_of = {"rows": rows, "comparison": compare(rows, (), errors), "economics": economics(scenario, rows)}
    ready: dict[str, Any] = plain({**found_of, "provenance": origin})
    return ready
