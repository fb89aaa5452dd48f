"""Trees of draft tokens: who follows whom, in numbers alone.

A tree is the parents of its nodes: parents come before children, siblings in the order in which they are tried. The
root is the last committed token; it is no node. A chain is the tree in which each node follows the one before.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.errors import DraftError

ROOT = -1
"""Parent of the nodes that follow the last committed token."""

Parents = Sequence[int]
"""Of each node, the node before it, or ROOT."""


@dataclass(frozen=True, slots=True)
class FixedTree:
    """A tree whose shape is known before anything is drafted."""

    parents: tuple[int, ...]

    @property
    def nodes(self) -> int:
        """Nodes that are verified, root not counted."""
        return len(self.parents)

    @property
    def depth(self) -> int:
        """Most draft tokens that a step can accept."""
        return max(depths(self.parents))


@dataclass(frozen=True, slots=True)
class DynamicTree:
    """The best nodes of a tree that grows by the draft's own confidence (EAGLE-2, Li et al. 2024, arXiv:2406.16858)."""

    depth: int
    """Passes of the draft, and most draft tokens that a step can accept."""
    top_k: int
    """Nodes that each pass expands, and children of each."""
    nodes: int
    """Nodes that are verified, root not counted."""

    def __post_init__(self) -> None:
        most = self.top_k + (self.depth - 1) * self.top_k**2
        if min(self.depth, self.top_k) < 1 or not self.depth <= self.nodes <= most:
            raise DraftError(
                f"dynamic tree of depth {self.depth}, top_k {self.top_k}, {self.nodes} nodes: depth and top_k are 1 or"
                f" more, and they take from {self.depth} to {most} nodes"
            )


Shape = FixedTree | DynamicTree


def tree_of_widths(widths: Sequence[int]) -> FixedTree:
    """The tree in which every node of level i has widths[i] children.

    >>> tree_of_widths([2, 1]).parents
    (-1, -1, 0, 1)
    """
    if not widths or min(widths) < 1:
        raise DraftError(f"tree {','.join(map(str, widths))}: each level needs a width of 1 or more")
    parents: list[int] = []
    level: Sequence[int] = (ROOT,)
    for width in widths:
        first = len(parents)
        parents += [parent for parent in level for _ in range(width)]
        level = range(first, len(parents))
    return FixedTree(tuple(parents))


def tree_of_paths(paths: Sequence[tuple[int, ...]]) -> FixedTree:
    """The tree with these nodes, each given by which child to take from the root on (Medusa, Sequoia).

    >>> tree_of_paths([(0,), (1,), (0, 0)]).parents
    (-1, -1, 0)
    """
    ordered = sorted(set(paths), key=lambda path: (len(path), path))
    places = {path: place for place, path in enumerate(ordered)}
    for path in ordered:
        better = (*path[:-1], path[-1] - 1)
        missing = path[:-1] if path[:-1] and path[:-1] not in places else better if path[-1] > 0 else None
        if missing is not None and missing not in places:
            raise DraftError(f"tree node {list(path)} needs {list(missing)}: parents and better siblings come first")
    return FixedTree(tuple(places[path[:-1]] if len(path) > 1 else ROOT for path in ordered))


def depths(parents: Parents) -> list[int]:
    """Of each node, the draft tokens from the root to it, itself included.

    >>> depths((-1, -1, 0, 2))
    [1, 1, 2, 3]
    """
    found: list[int] = []
    for parent in parents:
        found.append(1 if parent == ROOT else found[parent] + 1)
    return found


def chain_of(count: int) -> range:
    """Parents of a chain: each node follows the one before."""
    return range(ROOT, count - 1)


def widths_by_depth(parents: Parents) -> list[int]:
    """How many nodes stand at depth 1, 2, …

    >>> widths_by_depth((-1, -1, 0, 1))
    [2, 2]
    """
    found = depths(parents)
    return [found.count(depth) for depth in range(1, max(found, default=0) + 1)]


def path_to(parents: Parents, node: int) -> tuple[int, ...]:
    """Nodes from the first below the root to this one.

    >>> path_to((-1, -1, 1), 2)
    (1, 2)
    """
    path: list[int] = []
    while node != ROOT:
        path.append(node)
        node = parents[node]
    return tuple(reversed(path))


def seen_by(parents: Parents) -> Tensor:
    """What the root and each node may look at, root first: [nodes + 1, nodes + 1], true at itself and its ancestors.

    >>> seen_by((-1, -1)).int().tolist()
    [[1, 0, 0], [1, 1, 0], [1, 0, 1]]
    """
    seen = torch.eye(len(parents) + 1, dtype=torch.bool)
    for node, parent in enumerate(parents):
        seen[node + 1] |= seen[parent + 1]
    return seen
