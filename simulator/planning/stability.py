"""How likely the winner stays the winner when all inputs vary together, and which of them turns it round."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.streams import generator
from simulator.outcome.interval import wilson
from simulator.planning.inputs import Input, moved_by
from simulator.planning.moved import Moved, only
from simulator.planning.moved_costs import Costs, costs_under
from simulator.planning.swing import winner_at
from simulator.spec.scenario import Scenario

CHUNK = 25
"""Draws of a task."""

FEWEST_TURNED = 5
"""Draws that turn, and that stay, from which it is told what turns them."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Stability:
    """What came of the draws."""

    draws: int
    stays: int
    """Draws in which nobody is cheaper than the winner."""
    interval: tuple[float, float]
    """Of the chance that it stays (95 %, Wilson; a Latin hypercube knows it at least as well) [0 to 1]."""
    winners: dict[str, int]
    """Deployment → draws in which it is the cheapest."""
    none_holds: int
    """Draws in which no deployment holds."""
    turned_by: list[tuple[str, float]]
    """Inputs by how far apart they are in draws that stay and in draws that turn (0 to 1); empty where too few do."""

    @property
    def chance(self) -> float:
        """That the winner stays the winner [0 to 1]."""
        return self.stays / self.draws

    def as_json(self) -> dict[str, Any]:
        """For scripts."""
        return {
            "draws": self.draws,
            "chance": self.chance,
            "interval": list(self.interval),
            "winners": self.winners,
            "none_holds": self.none_holds,
            "turned_by": [{"input": name, "distance": distance} for name, distance in self.turned_by],
        }


def latin_hypercube(draws: int, inputs: int, seed: int) -> Floats:
    """[draws, inputs] chances in (0, 1): in each column one in every 1/draws, in an order of its own.

    McKay, Beckman, Conover, Technometrics 21, 1979.

    >>> sorted(latin_hypercube(4, 2, seed=1)[:, 0].round(2) // 0.25)
    [np.float64(0.0), np.float64(1.0), np.float64(2.0), np.float64(3.0)]
    """
    rng = generator(seed, 0, "inputs")
    strata = np.stack([rng.permutation(draws) for _ in range(inputs)], axis=1) if inputs else np.empty((draws, 0))
    return np.clip((strata + rng.random((draws, inputs))) / draws, 1e-9, 1.0 - 1e-9)


def drawn_moves(inputs: Sequence[Input], chances: Floats) -> list[Moved]:
    """A move for each draw; all deployments see the same ones."""
    return [moved_by(list(zip(inputs, row, strict=True))) for row in chances.tolist()]


def costs_of_all(
    scenario: Scenario,
    deployments: Sequence[str],
    moves: Sequence[Moved],
    executor: Executor | None = None,
    *,
    load_alone: bool = False,
) -> Iterator[dict[str, Costs]]:
    """What every deployment costs under each move, in order.

    executor: where the moves are computed, some at a time; None: here.
    load_alone: whether the cost of the offered load is all that is asked.
    """
    costs = partial(costs_under, load_alone=load_alone)
    parts = [moves[start : start + CHUNK] for start in range(0, len(moves), CHUNK)]
    alone = {name: only(scenario, [name]) for name in deployments}
    if executor is None:
        for part in parts:
            yield from _side_by_side(deployments, [costs(alone[name], name, part) for name in deployments])
        return
    tasks = [[executor.submit(costs, alone[name], name, part) for name in deployments] for part in parts]
    for of_all in tasks:
        yield from _side_by_side(deployments, [task.result() for task in of_all])


def _side_by_side(deployments: Sequence[str], found: Sequence[list[Costs]]) -> Iterator[dict[str, Costs]]:
    for costs in zip(*found, strict=True):
        yield dict(zip(deployments, costs, strict=True))


def stability(
    winner: str, basis: str, inputs: Sequence[Input], chances: Floats, found: Sequence[Mapping[str, Costs]]
) -> Stability:
    """What the draws say of a winner.

    chances: [draws, inputs] of the inputs, which are all that were drawn. [0 to 1]
    found: what the deployments cost in each draw.
    """
    leaders = [winner_at(winner, costs, basis) for costs in found]
    stays = np.array([who == winner for who in leaders])
    counts = {name: leaders.count(name) for name in dict.fromkeys(name for name in leaders if name is not None)}
    return Stability(
        draws=len(found),
        stays=int(stays.sum()),
        interval=wilson(int(stays.sum()), len(found)),
        winners=counts,
        none_holds=leaders.count(None),
        turned_by=turned_by([one.name for one in inputs], chances, stays),
    )


def turned_by(names: Sequence[str], chances: Floats, stays: NDArray[np.bool_]) -> list[tuple[str, float]]:
    """Inputs in the order in which they tell draws that stay from draws that turn; empty with few of either.

    Regional sensitivity analysis: the Kolmogorov–Smirnov distance between the two (Hornberger, Spear, Journal of
    Environmental Management 12, 1981).
    """
    if min(stays.sum(), (~stays).sum()) < FEWEST_TURNED:
        return []
    columns = chances.T
    found = [(name, distance(of[stays].tolist(), of[~stays].tolist())) for name, of in zip(names, columns, strict=True)]
    return sorted(found, key=lambda one: -one[1])


def distance(some: Sequence[float], others: Sequence[float]) -> float:
    """Kolmogorov–Smirnov distance: the most by which the shares below any value differ [0 to 1].

    >>> distance([1.0, 2.0], [3.0, 4.0]), distance([1.0, 2.0], [1.0, 2.0])
    (1.0, 0.0)
    """
    first, second = sorted(some), sorted(others)
    return max(
        abs(bisect_right(first, value) / len(first) - bisect_right(second, value) / len(second))
        for value in [*first, *second]
    )
