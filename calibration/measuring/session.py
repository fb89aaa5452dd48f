"""A run of measurements: blocks of visits to all points in random order, until medians are tight or time is up.

Each block goes once through all points, so that a drift of the machine meets every size alike; reference points come at
the start and the end of each block. A point is done when the half-width of the 95 % interval of its median is below
`TIGHT` (after three visits or more), or after as many blocks as the plan allows.
"""

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from calibration.measuring.noise import clocks_mhz, half_width, load_average, visit_s
from calibration.measuring.points import Point, points, reference_points
from calibration.measuring.steps import Stage, Taken
from calibration.measuring.store import Store

Say = Callable[[int, int, float, str], None]
"""Visits done, visits that are planned, seconds left, and what is being measured."""


class Pace(NamedTuple):
    """How long a run goes on."""

    steps: int
    """Steps of a visit that count."""
    least_blocks: int
    most_blocks: int
    tight: float
    """Half-width of the interval of a median at which a point is done, as a fraction."""
    budget_s: float
    """No block beyond the least is begun after this time."""


QUICK = Pace(steps=2, least_blocks=2, most_blocks=4, tight=0.03, budget_s=80.0)
FULL = Pace(steps=2, least_blocks=4, most_blocks=10, tight=0.01, budget_s=400.0)


def step_values(taken: Taken) -> list[float]:
    """A step as it is stored: shape (7), seconds by cause (6), gap to the next step."""
    row = taken.row
    cost = row.cost
    causes = (cost.linear_s, cost.attention_s, cost.prefill_attention_s, cost.sampling_s, cost.overhead_s, cost.draft_s)
    return [*row.shape, *(round(s, 8) for s in causes), round(max(taken.gap_s, 0.0), 8)]


def measure_steps(store: Store, stages: Mapping[bool, Stage], pace: Pace, *, quick: bool, seed: int, say: Say) -> None:
    """Visit all points of all stages; visits that the store holds already count."""
    everything = [p for drafted, stage in stages.items() for p in points(drafted, stage.bounds, quick=quick)]
    references = [p for drafted, stage in stages.items() for p in reference_points(drafted, stage.bounds)]
    store.data["references"] = [f"reference-{p.key}" for p in references]
    started = time.monotonic()
    cost: dict[str, float] = {}
    for block in range(pace.most_blocks):
        late = time.monotonic() - started > pace.budget_s
        open_points = [p for p in everything if not _done(store, p, pace, block)]
        if not open_points or (late and block >= pace.least_blocks):
            break
        rng = np.random.default_rng((seed, block))
        order = [open_points[i] for i in rng.permutation(len(open_points))]
        _note_load(store)
        visits = [*((p, True) for p in references), *((p, False) for p in order), *((p, True) for p in references)]
        for index, (point, reference) in enumerate(visits):
            if _visited(store, point, reference, block, late_reference=index >= len(visits) - len(references)):
                continue
            begun = time.monotonic()
            taken = stages[point.drafted].visit(point, pace.steps)
            if taken:
                store.add_visit(_name(point, reference), [step_values(step) for step in taken])
            cost[point.key] = time.monotonic() - begun
            left = _left_s(visits[index + 1 :], cost, everything, pace.least_blocks - block - 1)
            say(block * len(everything) + index + 1, pace.least_blocks * len(visits), left, point.key)
    _note_load(store)
    store.save()


def _name(point: Point, reference: bool) -> str:
    return f"reference-{point.key}" if reference else point.key


def _visited(store: Store, point: Point, reference: bool, block: int, *, late_reference: bool) -> bool:
    """Whether this block's visit is in the store already: a run that was interrupted takes up there."""
    wanted = 2 * block + 1 + late_reference if reference else block + 1
    return len(store.visits(_name(point, reference))) >= wanted


def _done(store: Store, point: Point, pace: Pace, block: int) -> bool:
    seen = [visit_s(visit) for visit in store.visits(point.key)]
    if len(seen) >= pace.most_blocks:
        return True
    return block >= pace.least_blocks and len(seen) >= 3 and half_width(seen) <= pace.tight


def _left_s(to_come: Any, cost: Mapping[str, float], everything: list[Point], more_blocks: int) -> float:
    """Seconds that the least number of blocks still takes, from what each point has taken so far."""
    usual = sum(cost.values()) / max(sum(p.rows + 20 for p in everything if p.key in cost), 1)

    def expected(point: Point) -> float:
        return cost.get(point.key, usual * (point.rows + 20))

    later = max(more_blocks, 0) * sum(expected(p) for p in everything)
    return sum(expected(p) for p, _ in to_come) + later


def _note_load(store: Store) -> None:
    clocks = clocks_mhz()
    store.data["loads"].append(
        {
            "at": round(time.time(), 1),
            "load_average": load_average(),
            "clock_mhz": round(sum(clocks) / len(clocks)) if clocks else None,
        }
    )


def progress_to_stderr() -> Say:
    """A line on stderr that is written over, at most four times a second; on a file, one every ten seconds."""
    last = [0.0]
    every = 0.25 if sys.stderr.isatty() else 10.0

    def say(done: int, total: int, left_s: float, what: str) -> None:
        now = time.monotonic()
        if now - last[0] < every:
            return
        last[0] = now
        text = f"measuring {min(done, total)}/{total}, {left_s:4.0f} s left: {what}"
        sys.stderr.write(f"\r{text:<79}" if sys.stderr.isatty() else f"{text}\n")
        sys.stderr.flush()

    return say
