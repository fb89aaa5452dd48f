"""The best tree: exact against every tree of a few nodes, and chosen with the deployment's own step times."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.errors import ScenarioError
from simulator.physics.acceptance import conditional_from_survival
from simulator.physics.best_tree import best_trees, chosen, fastest_tree, last_pass_s
from simulator.physics.step_model import build_step_model
from simulator.physics.trees import child_chances, level_sizes, nodes_of, rows_by_pass, tree_survival
from simulator.spec.deployment import Deployment
from simulator.spec.speculation import Chain, DynamicTree, NodesTree, NoSpeculation, Tree

SEQUOIA = (0.634, 0.108, 0.057, 0.0225, 0.0195, 0.015, 0.0045, 0.003)
"""Chances by child that the authors publish with their search."""
chances = st.lists(st.lists(st.floats(0, 0.4), min_size=2, max_size=2), min_size=1, max_size=4).map(np.array)


@cache
def every_tree(nodes, depth, children=2):
    """All trees of so many nodes, as nested tuples of children."""
    if nodes == 0:
        return [()]
    if depth == 0:
        return []
    return list(every_forest(nodes, depth, children))


def every_forest(nodes, depth, children):
    if nodes == 0:
        yield ()
    elif children:
        for size in range(1, nodes + 1):
            for own in every_tree(size - 1, depth - 1):
                yield from ((own, *rest) for rest in every_forest(nodes - size, depth, children - 1))


def value(tree, chances, level=0):
    return 1 + sum(chances[level][b] * value(child, chances, level + 1) for b, child in enumerate(tree))


@given(chances, st.integers(1, 6))
def test_the_best_tree_is_the_best_of_all_trees(chances, nodes):
    found = best_trees(chances, 6)

    for depth in range(1, len(chances) + 1):
        values = [value(tree, chances) for tree in every_tree(nodes, depth)]

        assert found.tokens[depth, nodes] == pytest.approx(max(values, default=-np.inf))


@given(chances, st.integers(1, 12))
def test_the_paths_are_the_tree_that_was_promised(chances, nodes):
    trees, depth = best_trees(chances, 12), len(chances)
    if not np.isfinite(trees.tokens[depth, nodes]):
        return

    paths = trees.paths(depth, nodes)
    tokens = sum(np.prod([chances[level, child] for level, child in enumerate(path)]) for path in paths)

    assert NodesTree(shape="nodes", paths=paths).draft_tokens == nodes
    assert 1 + tokens == pytest.approx(trees.tokens[depth, nodes])
    assert trees.levels(depth, nodes) == level_sizes(paths)


def test_with_the_authors_chances_it_is_the_most_valued_nodes_and_beats_their_static_trees():
    conditional = np.full(5, SEQUOIA[0])
    by_child = child_chances(conditional, SEQUOIA)
    every = nodes_of(Tree(shape="tree", widths=(8, 8, 8)), (), ())
    most = sorted((np.prod([SEQUOIA[child] for child in path]) for path in every), reverse=True)
    static = nodes_of(Tree(shape="tree", widths=(5, 1, 1, 1, 1)), (), ())

    trees = best_trees(by_child, 25)

    assert trees.tokens[3, 25] == pytest.approx(1 + sum(most[:25]))
    assert trees.tokens[5, 25] > 1 + tree_survival(static, conditional, SEQUOIA).sum()


def test_deeper_and_larger_trees_never_commit_less():
    tokens = best_trees(child_chances(np.linspace(0.8, 0.4, 6), SEQUOIA), 40).tokens

    assert (np.diff(tokens[1:, 6:], axis=0)[np.isfinite(tokens[1:-1, 6:])] >= -1e-12).all()
    assert (np.diff(tokens[6, 1:]) >= -1e-12).all()


def test_the_fastest_tree_pays_for_every_row_and_every_pass():
    trees = best_trees(child_chances(np.full(6, 0.7), SEQUOIA), 32)

    def levels(per_row_s, per_pass_s, per_node_s):
        paths = fastest_tree(
            trees, lambda rows: sum(per_pass_s + per_row_s * n for n in rows), lambda n: 1 + per_node_s * n
        )
        return level_sizes(paths)

    assert sum(levels(0.0, 0.0, 0.0)) == 32
    assert levels(0.0, 0.0, 10.0) == (1,)
    assert len(levels(0.0, 0.3, 0.0)) < len(levels(0.0, 0.01, 0.0)) == 6
    assert max(levels(0.05, 0.0, 0.0)) < max(levels(0.0, 0.0, 0.0))


def test_the_fastest_of_few_trees_is_the_fastest_of_all():
    chances = np.array([[0.6, 0.2], [0.5, 0.1], [0.4, 0.1]])

    def seconds(depth, nodes, tokens):
        return (0.2 * depth + 1 + 0.02 * nodes) / tokens

    paths = fastest_tree(best_trees(chances, 6), lambda rows: 0.2 * len(rows), lambda nodes: 1 + 0.02 * nodes)
    all_trees = [(d, n, value(t, chances)) for n in range(1, 7) for d in (1, 2, 3) for t in every_tree(n, d)]
    tokens = 1 + sum(np.prod([chances[level, child] for level, child in enumerate(path)]) for path in paths)

    assert seconds(max(map(len, paths)), len(paths), tokens) == pytest.approx(min(seconds(*one) for one in all_trees))


def deployment(propose, acceptance=None, **engine):
    known = {"survival": (0.75, 0.56, 0.42, 0.31), "branches": (0.75, 0.1, 0.05)} if acceptance is None else acceptance
    draft = {"abstract": {"flops_ratio": 0.02, "latency_ratio": 0.05, "weights_gb": 1, "kv_bytes_per_token": 100}}
    return Deployment(
        gpu="h200-sxm",
        replicas=1,
        price=3.0,
        target={"model": "llama-3.3-70b", "weights": "fp8", "tensor_parallel": 2},
        engine={"policy": "vllm", **engine},
        speculation={
            "kind": "drafts",
            "drafts": {"small": {**draft, "acceptance": {"all": known}}},
            "propose": propose,
        },
    )


def best(at_sequences=1, **changes):
    changes = {"max_depth": 4, "max_nodes": 32} | changes
    return {"shape": "best_tree", "at_sequences": at_sequences, **changes}


def chosen_levels(*args, **engine):
    return level_sizes(nodes_of(chosen(deployment(*args, **engine)).speculation.propose, (), ()))


def test_a_larger_batch_takes_a_smaller_tree():
    sizes = [sum(chosen_levels(best(sequences))) for sequences in (1, 16, 256)]

    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[2]


def test_what_is_chosen_stays_within_what_was_asked_for():
    shape = chosen_levels(best(max_depth=2, max_nodes=5))

    assert len(shape) <= 2
    assert sum(shape) <= 5


def test_a_tree_of_more_nodes_than_a_node_has_children_is_searched():
    few, many = (sum(chosen_levels(best(max_nodes=nodes))) for nodes in (64, 256))

    assert many >= few


@pytest.mark.parametrize("rows", [1, 64, 128, 256])
def test_a_pass_is_priced_by_its_own_rows(rows):
    assert last_pass_s(lambda tree: float(sum(rows_by_pass(tree))), rows) == rows


def test_without_branches_the_best_tree_is_a_chain():
    found = chosen(deployment(best(), {"tokens_per_step": 2.5, "at": 4})).speculation.propose

    assert found.shape == "chain"


@pytest.mark.parametrize("sequences", [1, 8, 32])
def test_nothing_that_is_usually_proposed_is_faster_than_what_is_chosen(sequences):
    asked = deployment(best(sequences, max_nodes=32))
    usual = [Chain(draft_tokens=k) for k in (1, 2, 3, 4)]
    usual += [Tree(shape="tree", widths=widths) for widths in ((3,), (2, 1), (2, 2), (3, 2, 1), (4, 2, 1, 1))]
    usual += [DynamicTree(shape="dynamic_tree", depth=4, top_k=4, nodes=nodes) for nodes in (8, 16, 32)]

    fastest = min(seconds_per_token(asked, shape, sequences) for shape in usual)

    assert seconds_per_token(asked, chosen(asked).speculation.propose, sequences) <= fastest * 1.001


def seconds_per_token(asked, shape, sequences):
    survival, branches = (0.75, 0.56, 0.42, 0.31), (0.75, 0.1, 0.05)
    conditional = conditional_from_survival(survival)
    tokens = 1 + tree_survival(nodes_of(shape, conditional, branches), np.array(conditional), branches).sum()
    speculation = asked.speculation.model_copy(update={"propose": shape})
    constant, slope = build_step_model(asked.model_copy(update={"speculation": speculation})).decode_affine(sequences)
    return (constant + slope * sequences * 1024) / tokens


def test_a_long_context_makes_room_for_a_larger_tree():
    near, far = (chosen_levels(best(16), max_model_len=length) for length in (1024, 131_072))

    assert sum(far) > sum(near)


def test_other_shapes_are_returned_as_they_are():
    tree = deployment({"shape": "tree", "widths": (2, 1)})
    plain = tree.model_copy(update={"speculation": NoSpeculation(kind="none")})

    assert chosen(tree) is tree
    assert chosen(plain) is plain


def test_acceptance_of_one_tree_says_nothing_of_others():
    with pytest.raises(ScenarioError, match="of: tree"):
        chosen(deployment(best(), {"survival": (0.8, 0.5), "of": "tree"}))
