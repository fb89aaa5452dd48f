r"""Trees of draft tokens: their nodes, what is accepted of them, and the rows that a draft computes for them.

A node is named by its path: which child to take from the root on, 0 the best. The root is the token that is already
committed; it is not a node. How acceptance is known is not asked here.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from simulator.spec.speculation import Chain, DynamicTree, NodesTree, Tree

Path = tuple[int, ...]
Floats = NDArray[np.float64]


def child_chances(conditional: Floats, branches: Sequence[float]) -> Floats:
    r"""Chance that the 1st, 2nd, … child of a node is the one that is kept, given that the node was [0 to 1].

    .. math:: p_1 = \beta, \quad p_b = (1 - \beta)\, \pi_b / (1 - \pi_1)

    conditional: chance β that the best child is kept, any shape; the result has one more axis, of children. [0 to 1]
    branches: chances π_1, π_2, … at the position where they were measured; exclusive events. () or one entry: no other
    child is ever kept. [0 to 1]

    >>> child_chances(np.array(0.8), (0.6, 0.2, 0.1)).round(3).tolist()
    [0.8, 0.1, 0.05]

    Chen et al., Sequoia, NeurIPS 2024, definitions 3.1 and 3.2 (positional acceptance), arXiv:2402.12374. That the
    others keep their proportions where β falls with the depth is this project's assumption.
    """
    left = 1.0 - branches[0] if branches else 0.0
    others = [(1.0 - conditional) * (share / left if left > 0 else 0.0) for share in branches[1:]]
    return np.stack([conditional, *others], axis=-1)


def tree_survival(nodes: Sequence[Path], conditional: Floats, branches: Sequence[float]) -> Floats:
    r"""Survival by depth: chance that some node of that depth is accepted [0 to 1].

    .. math:: S_d = \sum_{v:\, |v| = d}\; \prod_{i \le d} p_{v_i}(i)

    Children are exclusive events, so that the values of a depth's nodes add up; tokens per step are 1 + ΣS.

    nodes: a parent before its child. [paths]
    conditional: chance β_i that the best child at depth i is kept, given that its parent was; the last axis is the
    depth, any before it are groups of requests. [0 to 1]
    branches: of `child_chances`.

    >>> tree_survival([(0,), (1,), (0, 0)], np.array([0.6, 0.5]), (0.6, 0.2)).round(3).tolist()
    [0.8, 0.3]

    Chen et al., Sequoia, NeurIPS 2024, proposition 3.4, arXiv:2402.12374.
    """
    depth = max(map(len, nodes), default=0)
    chances = child_chances(conditional, branches)
    values: dict[Path, Floats] = {(): np.ones(conditional.shape[:-1])}
    survival = np.zeros((*conditional.shape[:-1], depth))
    for node in nodes:
        level, child = len(node) - 1, node[-1]
        kept = chances[..., level, child] if child < chances.shape[-1] else 0.0
        values[node] = values[node[:-1]] * kept
        survival[..., level] += values[node]
    return survival


def nodes_of(
    propose: Chain | Tree | NodesTree | DynamicTree, conditional: Sequence[float], branches: Sequence[float]
) -> tuple[Path, ...]:
    """Nodes that a step verifies, a parent before its child.

    conditional: β_i by depth of `tree_survival`; only a dynamic tree asks for it. [0 to 1]
    branches: of `child_chances`; only a dynamic tree asks for them.

    >>> nodes_of(Tree(shape="tree", widths=(2, 1)), (), ())
    ((0,), (1,), (0, 0), (1, 0))
    """
    if isinstance(propose, Chain):
        return tuple((0,) * depth for depth in range(1, propose.draft_tokens + 1))
    if isinstance(propose, Tree):
        levels = range(1, propose.depth + 1)
        return tuple(node for level in levels for node in product(*map(range, propose.widths[:level])))
    if isinstance(propose, NodesTree):
        return tuple(sorted(propose.paths, key=lambda node: (len(node), node)))
    return _dynamic_nodes(propose, np.array(conditional[: propose.depth]), branches)


def _dynamic_nodes(propose: DynamicTree, conditional: Floats, branches: Sequence[float]) -> tuple[Path, ...]:
    """The `nodes` most valued of all candidates of a tree whose every pass expands its top_k most valued nodes.

    The draft's confidence stands for acceptance, and never rises from a sibling to the next. Each step is given the
    tree that is best in the mean: what a draft gains by growing a tree of its own at every step is left out.

    Li et al., EAGLE-2, EMNLP 2024, sections 4.1 and 4.2, arXiv:2406.16858.
    """
    known = np.minimum.accumulate(child_chances(conditional, branches), axis=-1)
    confidence = np.zeros((propose.depth, propose.top_k))
    width = min(propose.top_k, known.shape[-1])
    confidence[:, :width] = known[:, :width]
    candidates: list[tuple[float, int, Path]] = []
    expanded: list[tuple[float, int, Path]] = [(-1.0, 0, ())]
    for level in range(propose.depth):
        children = [
            (value * confidence[level, child], level + 1, (*node, child))
            for value, _, node in expanded
            for child in range(propose.top_k)
        ]
        expanded = sorted(children)[: propose.top_k]
        candidates += children
    return tuple(node for _, _, node in sorted(sorted(candidates)[: propose.nodes], key=lambda found: found[1:]))


def level_sizes(nodes: Sequence[Path]) -> tuple[int, ...]:
    """Nodes at depth 1, 2, … [nodes].

    >>> level_sizes([(0,), (1,), (0, 0)])
    (2, 1)
    """
    sizes = Counter(map(len, nodes))
    return tuple(sizes[depth] for depth in range(1, max(sizes, default=0) + 1))


def rows_by_pass(propose: Chain | Tree | NodesTree | DynamicTree) -> tuple[int, ...]:
    """Rows per sequence that a draft computes in each of its passes: the root, then each level but the last [rows].

    A dynamic tree computes the top_k nodes that it expands, whichever are verified in the end.

    >>> rows_by_pass(Tree(shape="tree", widths=(4, 2, 1)))
    (1, 4, 8)
    >>> rows_by_pass(DynamicTree(shape="dynamic_tree", depth=4, top_k=10, nodes=60))
    (1, 10, 10, 10)

    SafeAILab/EAGLE `eagle/model/cnets.py`; Infini-AI-Lab/sequoia `Tree/SpecTree.py`.
    """
    if isinstance(propose, DynamicTree):
        return (1, *(propose.top_k,) * (propose.depth - 1))
    return (1, *level_sizes(nodes_of(propose, (), ()))[:-1]) if propose.draft_tokens else ()
