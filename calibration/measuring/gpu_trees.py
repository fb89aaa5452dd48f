"""What a verify step of a tree takes beside that of a chain of equally many rows, and what keeping its path takes.

A chain keeps what it computed where it lies; of a tree, the accepted path is moved behind the root.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from calibration.measuring.kernels import seconds_of
from engine.architecture import Architecture
from engine.batch import Span, branches_of, slots_at
from engine.graphs import passes
from engine.kv_cache import BlockPool, BlockTable
from engine.model import Model
from engine.trees import FixedTree, path_to, tree_of_widths
from engine.weights import random_weights

BLOCK_TOKENS = 16
WIDTHS = ((2, 1), (2, 2, 1), (3, 2, 1), (4, 3, 1))
"""Trees by the children of every node of a level: 4, 10, 15 and 28 nodes; graphs hold up to 31 (FOLDED_ROWS)."""


class Verified:
    """Sequences at one context whose drafts are verified, as trees or as chains of as many rows."""

    def __init__(self, model: Model, sequences: int, context: int, tree: FixedTree) -> None:
        """Allocate a cache for sequences of so many positions each, and their drafts."""
        rows = tree.nodes + 1
        pool = BlockPool(sequences * (-(-(context + rows) // BLOCK_TOKENS)), BLOCK_TOKENS)
        self._model, self._context, self._tree = model, context, tree
        self._store = model.new_store(pool.num_blocks, BLOCK_TOKENS)
        self._in_graph = passes(model, self._store)
        self._tables = [BlockTable() for _ in range(sequences)]
        for table in self._tables:
            pool.extend(table, context + rows)

    def step(self, *, branched: bool, graph: bool) -> Tensor:
        """Lay out and compute one step, as the engine does."""
        tokens = [1] * (self._tree.nodes + 1)
        branches = branches_of(self._tree.parents, self._context) if branched else None
        spans = [Span(tokens, self._context, table, len(tokens), branches) for table in self._tables]
        batch = self._model.batch(spans, self._store)
        return self._in_graph(batch) if graph else self._model.forward(batch, self._store)

    def keep_path(self) -> None:
        """Move the deepest path of every tree behind its root: the last one, so that every node of it moves."""
        parents = self._tree.parents
        path = path_to(parents, len(parents) - 1)
        sources: list[int] = []
        targets: list[int] = []
        for table in self._tables:
            places = range(self._context + 1, self._context + 1 + len(parents))
            slots = slots_at(table, places, BLOCK_TOKENS)
            sources += [slots[node] for node in path]
            targets += slots[: len(path)]
        self._store.move(sources, targets)


def random_model(a: Architecture, place: torch.device) -> Model:
    """A model of this shape with random weights, in 16 bits on a GPU."""
    dtype = torch.bfloat16 if place.type == "cuda" else torch.float32
    weights = random_weights(a, torch.Generator(device=place).manual_seed(2), dtype=dtype, device=str(place))
    return Model(weights, max_position=1024)


def verify_steps(
    a: Architecture, place: torch.device, batches: Sequence[int], trees: Sequence[Sequence[int]], context: int
) -> list[dict[str, Any]]:
    """Seconds of a verify step by (sequences, tree), in a graph and without, of the tree and of the chain."""
    model = random_model(a, place)
    return [
        {"sequences": sequences, "widths": list(widths), "rows": tree.nodes + 1, "context": context}
        | _timed(Verified(model, sequences, context, tree), place)
        for sequences in batches
        for widths in trees
        if (tree := tree_of_widths(widths))
    ]


def _timed(verified: Verified, place: torch.device) -> dict[str, float]:
    """Seconds by (shape, way of computing); what a graph cannot hold it computes without."""
    found = {
        f"{shape}_{how}_s": seconds_of(partial(verified.step, branched=branched, graph=graph), place)
        for shape, branched in (("chain", False), ("tree", True))
        for how, graph in (("graph", True), ("eager", False))
    }
    return found | {"keep_path_s": seconds_of(verified.keep_path, place)}
