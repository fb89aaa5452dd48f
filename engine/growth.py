"""A tree of draft tokens on its way: level by level, until it is a draft.

Whoever drafts asks which nodes are to be expanded, finds the tokens that may follow them, and hands these in.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from engine.drafters.interface import Draft
from engine.trees import ROOT, DynamicTree, FixedTree, Shape, path_to


class Choice(NamedTuple):
    """A token that may follow a node."""

    token: int
    confidence: float
    """The draft's probability of it, given the path before it."""
    probs: Tensor | None = None
    """[vocabulary] that it was drawn from; None: it was not drawn."""


class Growth(Protocol):
    """A tree that grows."""

    tokens: list[int]
    parents: list[int]

    def frontier(self) -> list[int]:
        """Nodes to be expanded next, or the root; none: the tree is done."""

    def wanted(self, node: int) -> int:
        """How many tokens may follow a node of the frontier."""

    def add(self, node: int, choices: Sequence[Choice]) -> None:
        """Let tokens follow a node, in the order in which they are to be tried."""

    def draft(self) -> Draft:
        """What has grown."""


class FixedGrowth:
    """Grows into a tree of a known shape; where fewer tokens may follow than have room, it stays smaller."""

    def __init__(self, shape: FixedTree, room: int) -> None:
        """room: most nodes."""
        self.tokens: list[int] = []
        self.parents: list[int] = []
        self._below: dict[int, list[int]] = {}
        """Place in the shape -> places below it."""
        for place, parent in enumerate(shape.parents[:room]):
            self._below.setdefault(parent, []).append(place)
        self._places: list[int] = []
        self._trials: list[int] = []
        self._probs: list[Tensor] = []
        self._fresh: list[int] = [ROOT]

    def frontier(self) -> list[int]:
        """See Growth."""
        fresh, self._fresh = self._fresh, []
        return [node for node in fresh if self.wanted(node)]

    def wanted(self, node: int) -> int:
        """See Growth."""
        return len(self._below.get(self._places[node] if node != ROOT else ROOT, ()))

    def add(self, node: int, choices: Sequence[Choice]) -> None:
        """See Growth; a token that was drawn twice is one node that is tried twice."""
        places = self._below[self._places[node] if node != ROOT else ROOT]
        known: dict[int, int] = {}
        for place, choice in zip(places, choices, strict=False):
            if choice.token not in known:
                known[choice.token] = len(self.tokens)
                self._fresh.append(len(self.tokens))
                self.tokens.append(choice.token)
                self.parents.append(node)
                self._places.append(place)
            self._trials.append(known[choice.token])
            if choice.probs is not None:
                self._probs.append(choice.probs)

    def draft(self) -> Draft:
        """See Growth."""
        probs = torch.stack(self._probs) if self._probs else None
        return Draft(self.tokens, probs, self.parents, self._trials)


class DynamicGrowth:
    """Expands the nodes of highest confidence, and keeps the best of all in the end.

    No more nodes are expanded in all than are kept, for each takes a slot of the draft's cache. Its tokens are never
    drawn: which of them are kept follows from the prefix alone.
    """

    def __init__(self, shape: DynamicTree, room: int) -> None:
        """room: most nodes."""
        self.tokens: list[int] = []
        self.parents: list[int] = []
        self._shape, self._room = shape, min(room, shape.nodes)
        self._confidence: list[float] = []
        self._fresh: list[int] = [ROOT]
        self._levels = self._expanded = 0

    def frontier(self) -> list[int]:
        """See Growth."""
        left = min(self._shape.depth, self._room) - self._levels
        fresh, self._fresh = self._fresh, []
        if left <= 0:
            return []
        self._levels += 1
        if fresh == [ROOT]:
            return fresh
        most = max(min(self._shape.top_k, self._room - self._expanded - (left - 1)), 0)
        best = sorted(fresh, key=lambda node: -self._confidence[node])[:most]
        self._expanded += len(best)
        return sorted(best)

    def wanted(self, node: int) -> int:
        """See Growth."""
        return self._shape.top_k

    def add(self, node: int, choices: Sequence[Choice]) -> None:
        """See Growth."""
        before = 1.0 if node == ROOT else self._confidence[node]
        for choice in choices:
            self._fresh.append(len(self.tokens))
            self.tokens.append(choice.token)
            self.parents.append(node)
            self._confidence.append(before * choice.confidence)

    def draft(self) -> Draft:
        """The best nodes; a parent is never less sure than its children, and stands before them."""
        best = sorted(range(len(self.tokens)), key=lambda node: -self._confidence[node])[: self._room]
        kept = {node: place for place, node in enumerate(sorted(best))}
        parents = [kept[self.parents[n]] if self.parents[n] != ROOT else ROOT for n in kept]
        return Draft([self.tokens[n] for n in kept], None, parents)


def new_growth(shape: Shape, room: int) -> Growth:
    """A tree of this shape that has not begun to grow."""
    return FixedGrowth(shape, room) if isinstance(shape, FixedTree) else DynamicGrowth(shape, room)


def tokens_to(growth: Growth, node: int) -> list[int]:
    """Draft tokens from the root to a node."""
    return [growth.tokens[n] for n in path_to(growth.parents, node)]
