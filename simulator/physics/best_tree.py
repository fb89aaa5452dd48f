r"""The tree that commits most tokens per second: Sequoia's dynamic programme over a deployment's own step times.

Chosen once, for one batch, before anything is simulated; what a scheduler then makes of the batch is not known here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from simulator.errors import ScenarioError
from simulator.physics.acceptance import conditional_from_survival
from simulator.physics.placement import UNKNOWN_CONTEXT_TOKENS
from simulator.physics.step_model import build_step_model
from simulator.physics.survival import mean_survival
from simulator.physics.trees import Path, child_chances, nodes_of
from simulator.spec.acceptance import Acceptance
from simulator.spec.deployment import Deployment
from simulator.spec.speculation import BestTree, Chain, DraftSpeculation, NodesTree, Tree

Floats = NDArray[np.float64]

_MOST_CHILDREN = 64
_ONE_NODE: tuple[Path, ...] = ((0,),)


@dataclass(frozen=True, slots=True)
class BestTrees:
    """The best tree for every depth and every number of nodes."""

    tokens: Floats
    """[depth, nodes] tokens per step, the target's own included; −inf where no such tree exists; row 0 is empty."""
    _sizes: Mapping[tuple[int, int], NDArray[np.int64]]
    """(depth limit, level of a node) → [child, k]: nodes of that child's subtree, of k that it shares with those after
    it."""
    _levels: dict[tuple[int, int, int], tuple[int, ...]] = field(default_factory=dict)

    def paths(self, depth: int, nodes: int) -> tuple[Path, ...]:
        """The tree's nodes, each after its parent."""
        return tuple(sorted(self._below(depth, (), nodes), key=lambda path: (len(path), path)))

    def levels(self, depth: int, nodes: int) -> tuple[int, ...]:
        """Its nodes at depth 1, 2, …"""
        return self._levels_below(depth, 0, nodes)

    def _children(self, depth: int, level: int, nodes: int) -> list[int]:
        """Nodes of each child's subtree, of a node that has so many below it."""
        sizes: list[int] = []
        while nodes:
            sizes.append(int(self._sizes[depth, level][len(sizes), nodes]))
            nodes -= sizes[-1]
        return sizes

    def _below(self, depth: int, path: Path, nodes: int) -> list[Path]:
        found: list[Path] = []
        for child, size in enumerate(self._children(depth, len(path), nodes)):
            found += [(*path, child), *self._below(depth, (*path, child), size - 1)]
        return found

    def _levels_below(self, depth: int, level: int, nodes: int) -> tuple[int, ...]:
        key = depth, level, nodes
        if key not in self._levels:
            sizes = self._children(depth, level, nodes)
            below = zip_longest(*(self._levels_below(depth, level + 1, size - 1) for size in sizes), fillvalue=0)
            self._levels[key] = (len(sizes), *map(sum, below)) if sizes else ()
        return self._levels[key]


def best_trees(chances: Floats, max_nodes: int) -> BestTrees:
    r"""For every depth l and number of nodes m: the tree of exactly m nodes, none deeper than l, that commits most.

    .. math:: F_b(k) = \max_{1 \le j \le k} p_b\, V(j - 1) + F_{b+1}(k - j), \quad V(m) = 1 + F_1(m)

    with F of a level's children from the b-th on, and V of a node one level deeper (1 at depth l, where it has none).

    chances: [level, child] chance p that a child is the one that is kept, given that its parent was. [0 to 1]
    max_nodes: m goes up to it, root not counted. [nodes]

    >>> trees = best_trees(np.array([[0.6, 0.2], [0.5, 0.2]]), max_nodes=3)
    >>> trees.tokens[2].round(2).tolist(), trees.paths(2, 3)
    ([1.0, 1.6, 1.9, 2.1], ((0,), (1,), (0, 0)))

    Chen et al., Sequoia, NeurIPS 2024, section 3.1 and algorithm 4 (by depth, with a matrix of acceptance),
    arXiv:2402.12374. O(D² B M²) for depth D, B children, M nodes: some 20 ms for 8, 4, 64.
    """
    depth, sizes = len(chances), {}
    tokens = np.full((depth + 1, max_nodes + 1), -np.inf)
    tokens[0, 0] = 1.0
    for limit in range(1, depth + 1):
        value = tokens[0]
        for level in reversed(range(limit)):
            below, sizes[limit, level] = _children_of(chances[level, :_MOST_CHILDREN], value)
            value = 1.0 + below
        tokens[limit] = value
    return BestTrees(tokens, sizes)


def _children_of(chances: Floats, value: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """F_1 of `best_trees` and the sizes that it takes, from V of a child by the nodes below it."""
    most = value.size - 1
    sizes = np.zeros((len(chances), most + 1), np.int64)
    none = np.full(most, -np.inf)
    later = np.concatenate(([0.0], none))
    for child in reversed(range(len(chances))):
        own = np.where(np.isfinite(value), chances[child] * np.where(np.isfinite(value), value, 0.0), -np.inf)
        rest = sliding_window_view(np.concatenate((none, later)), most)[: most + 1]
        total = own[:-1][::-1] + rest
        sizes[child] = most - total.argmax(axis=1)
        later = total.max(axis=1)
        later[0] = 0.0
    return later, sizes


def fastest_tree(
    trees: BestTrees, draft_s: Callable[[tuple[int, ...]], float], verify_s: Callable[[int], float]
) -> tuple[Path, ...]:
    r"""Nodes of the tree with the least time per token.

    .. math:: \min_{m, l} \; (T_D(1, n_1, \ldots, n_{l-1}) + T_V(m)) / G(m, l)

    draft_s: rows per sequence in each pass of the draft → seconds of all passes. [s]
    verify_s: nodes verified per sequence → seconds of the target's step. [s]

    Chen et al., Sequoia, NeurIPS 2024, section 4.1 (hardware-aware), arXiv:2402.12374; here with the rows of each pass.
    """
    verify = [verify_s(nodes) for nodes in range(trees.tokens.shape[1])]
    found = [(int(depth), int(nodes)) for depth, nodes in np.argwhere(np.isfinite(trees.tokens)) if nodes]

    def seconds_per_token(shape: tuple[int, int]) -> float:
        rows = (1, *trees.levels(*shape)[:-1])
        return float((draft_s(rows) + verify[shape[1]]) / trees.tokens[shape])

    return trees.paths(*min(found, key=seconds_per_token))


def chosen(deployment: Deployment) -> Deployment:
    """The deployment with its best tree written out, node by node or as a chain; any other is returned as it is.

    Acceptance is the mean of all classes that the drafts' acceptance names, before temperature and context; where no
    branches are given only first children are ever kept, and the best tree is a chain. Times are those of the
    deployment at `at_sequences`, each with half of max_model_len as context (UNKNOWN_CONTEXT_TOKENS without one). A
    chain is spared what an engine adds for trees, so all chains run against the fastest tree. Plain decoding does not:
    compare with a deployment that does not speculate.
    """
    speculation = deployment.speculation
    if speculation.kind == "none" or not isinstance(speculation.propose, BestTree):
        return deployment
    propose = speculation.propose
    chances = _mean_chances(speculation, propose.max_depth)
    trees = best_trees(chances, propose.max_nodes)
    paths = fastest_tree(trees, _drafting(deployment, propose), _verifying(deployment, propose))
    most = min(propose.max_depth, propose.max_nodes)
    candidates: list[Chain | NodesTree] = [Chain(draft_tokens=k) for k in range(1, most + 1)]
    candidates.append(NodesTree(shape="nodes", paths=paths))

    def seconds_per_token(one: Chain | NodesTree) -> float:
        affine = build_step_model(_proposing(deployment, one)).decode_affine(propose.at_sequences)
        return _context_s(affine, deployment, propose.at_sequences) / _tokens(nodes_of(one, (), ()), chances)

    return _proposing(deployment, min(candidates, key=seconds_per_token))


def _tokens(paths: Sequence[Path], chances: Floats) -> float:
    """Tokens per step of a tree."""
    values: dict[Path, float] = {(): 1.0}
    for path in paths:
        values[path] = values[path[:-1]] * float(chances[len(path) - 1, path[-1]])
    return sum(values.values())


def _proposing(deployment: Deployment, propose: Chain | Tree | NodesTree) -> Deployment:
    speculation = deployment.speculation.model_copy(update={"propose": propose})
    return deployment.model_copy(update={"speculation": speculation})


def _mean_chances(speculation: DraftSpeculation, depth: int) -> Floats:
    """[level, child] chance to be kept, of the classes' mean survival and mean branches."""
    of = speculation.acceptances
    if any(acceptance.of == "tree" for acceptance in of):
        raise ScenarioError(
            "best_tree: acceptance with `of: tree` is that of one tree; give the acceptance of a chain and branches"
        )
    conditional = conditional_from_survival(mean_survival(of, depth).tolist())
    return child_chances(np.array(conditional), _mean_branches(of))


def _mean_branches(of: Sequence[Acceptance]) -> tuple[float, ...]:
    given = [acceptance.branches for acceptance in of if acceptance.branches is not None]
    return tuple(sum(shares) / len(given) for shares in zip_longest(*given, fillvalue=0.0))


def _context_s(affine: tuple[float, float], deployment: Deployment, sequences: int) -> float:
    limit = deployment.engine.max_model_len
    context = UNKNOWN_CONTEXT_TOKENS if limit is None else limit / 2
    return affine[0] + affine[1] * sequences * context


def _verifying(deployment: Deployment, propose: BestTree) -> Callable[[int], float]:
    """Nodes verified per sequence → seconds of the target's step."""
    model = build_step_model(_proposing(deployment, NodesTree(shape="nodes", paths=_ONE_NODE)))

    def verify_s(nodes: int) -> float:
        whole, drafting = model.decode_affine(propose.at_sequences, nodes), (0.0, 0.0)
        if nodes:
            drafting = model.draft.passes(propose.at_sequences, nodes)
        affine = whole[0] - drafting[0], whole[1] - drafting[1]
        return _context_s(affine, deployment, propose.at_sequences)

    return verify_s


def _drafting(deployment: Deployment, propose: BestTree) -> Callable[[tuple[int, ...]], float]:
    """Rows per sequence in each pass of the draft → seconds; between powers of two a straight line."""

    def passes_s(shape: Tree | NodesTree) -> float:
        model = build_step_model(_proposing(deployment, shape))
        return _context_s(
            model.draft.passes(propose.at_sequences, shape.draft_tokens), deployment, propose.at_sequences
        )

    first_s = passes_s(NodesTree(shape="nodes", paths=_ONE_NODE))
    powers = [2**power for power in range(propose.max_nodes.bit_length())]
    later_s = [last_pass_s(passes_s, rows) for rows in powers]

    def draft_s(rows: tuple[int, ...]) -> float:
        return first_s + float(np.interp(rows[1:], powers, later_s).sum())

    return draft_s


def last_pass_s(passes_s: Callable[[Tree], float], rows: int) -> float:
    """Seconds of a pass over so many rows, a power of two: the last of a tree whose last level but one they are."""
    widths = (rows, 1) if rows <= _MOST_CHILDREN else (_MOST_CHILDREN, rows // _MOST_CHILDREN, 1)
    return passes_s(Tree(shape="tree", widths=widths)) - passes_s(Tree(shape="tree", widths=widths[:-1]))
