"""All points of a check, run one after the other; what is finished is kept, so that it can be taken up again.

Points are run in two blocks, each in an order of its own drawn at random: every point once, then every point again.
A drift of the machine so shows as a difference between the two runs, not as an effect of load or K.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from calibration.check.drive import CpuTime, drive, limits_of
from calibration.check.offered import Offered
from calibration.check.predict import Predictor, predict
from calibration.check.run import EngineLimits, Point, Run, load, save
from calibration.whole_file import write_whole
from engine.loop import Engine
from engine.sequence import Request
from simulator.errors import ScenarioError

Progress = Callable[[int, int], None]
"""Tenths of seconds of predicted time that are done, and of all."""

SATURATING = 48
"""Requests whose time, queued at once, says what the saturation rate will be."""

WARM_UP = 4
"""Requests served before the first point, which nobody measures."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Loads and K of one system."""

    rates: Mapping[float, int]
    """Share of the saturation rate without drafts → requests."""
    clients: Mapping[int, int]
    """Clients of a closed loop → requests."""
    draft_tokens: tuple[int, ...]


class Driven(Protocol):
    """What can be driven: see workload.Bench."""

    def engine(self, point: Point) -> Engine:
        """A new engine for a point."""

    def requests(self, point: Point) -> list[Request]:
        """The requests of a point."""

    def time(self) -> CpuTime | None:
        """What a run goes by; None: the wall's clock."""


def points_of(name: str, grid: Grid, saturation_per_s: float, seed: int) -> list[Point]:
    """All points of a grid, each once."""
    loads = [
        *(("poisson", share, count, share * saturation_per_s) for share, count in grid.rates.items()),
        *(("clients", float(clients), count, None) for clients, count in grid.clients.items()),
    ]
    return [
        Point(name, load_kind, level, k, count, seed, rate_per_s=rate)
        for load_kind, level, count, rate in loads
        for k in grid.draft_tokens
    ]


def predicted_saturation(predictor: Predictor, name: str, driven: Driven, seed: int) -> float:
    """Requests per second without drafts, predicted: so many requests queued at once ÷ their time."""
    point = Point(name, "clients", SATURATING, 0, SATURATING, seed)
    return predicted(predictor, point, driven)["req_per_s"]


def predicted(predictor: Predictor, point: Point, driven: Driven) -> dict[str, float]:
    """Figures of a point that has not been run."""
    limits: EngineLimits = limits_of(driven.engine(point))
    asked = [Offered(r.label, r.arrival_s, len(r.prompt), r.max_tokens) for r in driven.requests(point)]
    return predict(predictor, point, limits, asked)


def in_order(points: Sequence[Point], seed: int) -> list[Point]:
    """Every point twice: two blocks, each shuffled for itself."""
    rng = np.random.default_rng(seed)
    return [replace(points[index], repeat=block) for block in (0, 1) for index in rng.permutation(len(points))]


def kept_plan(folder: Path, wanted: Mapping[str, Any], make: Callable[[], list[Point]], *, force: bool) -> list[Point]:
    """The points of a folder: those that an interrupted check has planned, else new ones, written down.

    wanted: what points depend on; a folder that holds another check's is refused unless forced.
    """
    path = folder / "plan.json"
    if path.exists() and not force:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["wanted"] != json.loads(json.dumps(wanted)):
            raise ScenarioError(
                f"{folder}: holds a check with other settings; name another folder with --out, or use --force"
            )
        return [Point(**point) for point in found["points"]]
    points = make()
    told = {"wanted": wanted, "points": [asdict(point) for point in points]}
    write_whole(path, json.dumps(told, indent=1) + "\n")
    return points


def run_points(
    folder: Path,
    points: Sequence[Point],
    driven: Driven,
    seconds: Callable[[Point], float],
    about: Callable[[], dict[str, Any]],
    pace: Callable[[], float],
    tell: Progress,
    *,
    force: bool = False,
) -> list[Run]:
    """Run every point that has not been run.

    seconds: predicted time of a point, for the progress.
    about: the machine, as it is now.
    pace: how long steps that the profile knows take now ÷ what it says; asked before and after every run.
    """
    weights = [max(round(10 * seconds(point)), 1) for point in points]
    done, runs, warm = 0, [], False
    for point, weight in zip(points, weights, strict=True):
        path = folder / "runs" / f"{point.key}-{'ab'[point.repeat]}.json"
        run = None if force else _finished(path, point)
        if run is None:
            if not warm:
                warm = _warmed_up(driven, point)
            before = pace()
            run = drive(point, driven.engine(point), driven.requests(point), about(), driven.time())
            run = replace(run, pace=(before + pace()) / 2)
            save(run, path)
        runs.append(run)
        done += weight
        tell(done, sum(weights))
    return runs


def _finished(path: Path, point: Point) -> Run | None:
    """A run that is there whole; files are written whole or not at all."""
    if not path.exists():
        return None
    run = load(path)
    return run if run.point == point else None


def _warmed_up(driven: Driven, point: Point) -> bool:
    """Serve a few requests, so that threads and caches are there before anything is measured."""
    engine = driven.engine(point)
    for request in driven.requests(point)[:WARM_UP]:
        engine.submit(replace(request, arrival_s=0.0))
    list(engine.run())
    return True
