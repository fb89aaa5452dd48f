"""`sweep`: a grid of places and the values that each takes."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from scenarios.problems import Path, Problem, dotted, shortened
from scenarios.sets import find_place, no_such_place, put
from scenarios.shape import FILE_KEYS
from scenarios.yaml_nodes import Node, plain

MAX_POINTS = 100_000


@dataclass(frozen=True, slots=True)
class Axis:
    """One place and its values."""

    name: str
    """As the file spells the path."""
    path: Path
    values: tuple[Node, ...]


def read_axes(sweep: Node | None, seen: Node, set_paths: Sequence[Path]) -> tuple[list[Axis], list[Problem]]:
    """The axes of a file, and what is wrong with them.

    seen: the file with `extends` resolved. set_paths: places that a --set has given a value.
    """
    if sweep is None or sweep.value is None:
        return [], []
    if not isinstance(sweep.value, dict):
        return [], [Problem(sweep.file, sweep.line, "sweep", "a mapping of dotted paths to lists of values is needed")]
    axes: list[Axis] = []
    problems: list[Problem] = []
    for name, values in sweep.value.items():
        path = find_place(seen, str(name))
        wrong = _no_axis(str(name), path, values, seen) or _in_conflict(path or (), axes, set_paths)
        if wrong is None and path is not None and isinstance(values.value, list):
            axes.append(Axis(str(name), path, tuple(values.value)))
        else:
            problems.append(Problem(values.file, values.line, f"sweep.{shortened(str(name))}", wrong or "a list"))
    num_points = math.prod(len(axis.values) for axis in axes)
    if num_points > MAX_POINTS:
        message = f"{num_points:,} points; at most {MAX_POINTS:,}: sweep fewer values"
        problems.append(Problem(sweep.file, sweep.line, "sweep", message))
    return axes, problems


def _no_axis(name: str, path: Path | None, values: Node, seen: Node) -> str | None:
    """Why an entry is no axis; None when it is one."""
    if path is None or path[0] in FILE_KEYS:
        return no_such_place(seen, name)
    if path[-1] == "extends":
        return "extends cannot be swept: write the deployments out"
    return no_values(values)


def no_values(values: Node) -> str | None:
    """Why a node is no list of values to go through; None when it is one."""
    if not isinstance(values.value, list) or not values.value:
        return "a list of at least one value is needed"
    value, count = Counter(repr(plain(value)) for value in values.value).most_common(1)[0]
    return f"{shortened(value)} stands twice in the list" if count > 1 else None


def _in_conflict(path: Path, axes: Sequence[Axis], set_paths: Sequence[Path]) -> str | None:
    """What else already gives the place a value; None when nothing does."""
    for axis in axes:
        if _overlap(axis.path, path):
            return f"{axis.name} is swept too, and one holds the other"
    for done in set_paths:
        if done[: len(path)] == path:
            return (
                f"--set {dotted(done)} has no effect on a swept place: add --set 'sweep={{}}' to run that value alone"
            )
    return None


def _overlap(first: Path, second: Path) -> bool:
    shorter = min(len(first), len(second))
    return first[:shorter] == second[:shorter]


def points(root: Node, seen: Node, axes: Sequence[Axis]) -> Iterator[tuple[dict[str, Any], Node]]:
    """Label and file of each point of the grid, the last axis running fastest; one point without axes."""
    for values in itertools.product(*(axis.values for axis in axes)):
        file = root
        for axis, value in zip(axes, values, strict=True):
            file = put(file, seen, axis.path, value)
        yield {axis.name: plain(value) for axis, value in zip(axes, values, strict=True)}, file
