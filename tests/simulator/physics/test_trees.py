"""Trees: exact against a walk of every outcome, and a tree of width 1 is the chain."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.physics.acceptance import survival_from_conditional
from simulator.physics.trees import child_chances, level_sizes, nodes_of, rows_by_pass, tree_survival
from simulator.spec.speculation import Chain, DynamicTree, NodesTree, Tree

CONDITIONAL = np.array([0.7, 0.6, 0.4])
BRANCHES = (0.6, 0.2, 0.1)
rates = st.floats(0, 1)
shapes = st.one_of(
    st.builds(Chain, draft_tokens=st.integers(1, 3)),
    st.builds(Tree, shape=st.just("tree"), widths=st.lists(st.integers(1, 3), min_size=1, max_size=3)),
    st.just(NodesTree(shape="nodes", paths=((0, 0), (0,), (1,), (1, 0), (0, 0, 0), (0, 1), (2,)))),
    st.builds(DynamicTree, shape=st.just("dynamic_tree"), depth=st.just(3), top_k=st.just(3), nodes=st.integers(3, 15)),
)


def walked_survival(nodes, conditional, branches, depth):
    """Every outcome: at each depth one child is the kept one, or none; the walk ends where it leaves the tree."""
    chances = child_chances(conditional, branches)
    survival = np.zeros(depth)
    for outcome in product(range(len(branches) + 1), repeat=depth):
        chance = np.prod([chances[d, c] if c < len(branches) else 1 - chances[d].sum() for d, c in enumerate(outcome)])
        accepted = next((d for d in range(depth) if outcome[: d + 1] not in nodes), depth)
        survival[:accepted] += chance
    return survival


@given(shapes)
def test_survival_is_that_of_a_walk_over_every_outcome(shape):
    nodes = nodes_of(shape, CONDITIONAL, BRANCHES)

    found = tree_survival(nodes, CONDITIONAL, BRANCHES)

    assert found == pytest.approx(walked_survival(set(nodes), CONDITIONAL, BRANCHES, shape.depth), abs=1e-12)


@given(st.lists(rates, min_size=1, max_size=8), st.lists(st.floats(0.01, 0.2), min_size=1, max_size=4))
def test_a_tree_of_width_one_is_the_chain(conditional, branches):
    tree = Tree(shape="tree", widths=(1,) * len(conditional))

    survival = tree_survival(nodes_of(tree, conditional, branches), np.array(conditional), branches)

    assert tuple(survival) == survival_from_conditional(conditional)
    assert rows_by_pass(tree) == rows_by_pass(Chain(draft_tokens=len(conditional))) == (1,) * len(conditional)


@given(shapes)
def test_every_shape_verifies_as_many_nodes_as_it_says_each_after_its_parent(shape):
    nodes = nodes_of(shape, CONDITIONAL, BRANCHES)

    assert len(nodes) == len(set(nodes)) == shape.draft_tokens == sum(level_sizes(nodes))
    assert all(node[:-1] in ((), *nodes[:at]) for at, node in enumerate(nodes))


@given(st.integers(3, 21), rates, rates)
def test_a_dynamic_tree_is_a_whole_tree_even_where_the_second_child_is_the_better_one(count, first, second):
    shape = DynamicTree(shape="dynamic_tree", depth=3, top_k=3, nodes=count)

    nodes = nodes_of(shape, [first, second, 0.0], (0.1, 0.5, 0.2))

    assert len(NodesTree(shape="nodes", paths=nodes).paths) == count


def test_a_dynamic_tree_of_full_width_holds_the_best_nodes_of_all():
    shape = DynamicTree(shape="dynamic_tree", depth=3, top_k=3, nodes=8)
    every = nodes_of(Tree(shape="tree", widths=(3, 3, 3)), (), ())
    chances = child_chances(CONDITIONAL, BRANCHES)
    best = sorted((float(np.prod([chances[d, c] for d, c in enumerate(node)])) for node in every), reverse=True)

    survival = tree_survival(nodes_of(shape, CONDITIONAL, BRANCHES), CONDITIONAL, BRANCHES)

    assert survival.sum() == pytest.approx(sum(best[:8]))


def test_a_dynamic_tree_expands_no_more_than_top_k_nodes_of_a_level():
    nodes = nodes_of(DynamicTree(shape="dynamic_tree", depth=3, top_k=2, nodes=10), (0.5, 0.5, 0.5), (0.5, 0.4))

    assert level_sizes(nodes) == (2, 4, 4)
    assert {node[:2] for node in nodes if len(node) == 3} == {(0, 0), (0, 1)}


def test_groups_of_requests_are_computed_at_once():
    nodes = nodes_of(Tree(shape="tree", widths=(2, 2)), (), ())
    groups = np.array([[0.9, 0.8], [0.3, 0.2], [1.0, 0.0]])

    together = tree_survival(nodes, groups, BRANCHES)

    assert together.tolist() == [tree_survival(nodes, group, BRANCHES).tolist() for group in groups]


@given(rates, st.lists(st.floats(0, 0.3), min_size=1, max_size=3))
def test_the_children_of_a_node_are_exclusive(first, others):
    chances = child_chances(np.array(first), (0.1, *others))

    assert chances.min() >= 0
    assert chances.sum() <= 1 + 1e-12


def test_children_of_a_position_that_is_always_kept_are_worth_nothing():
    assert child_chances(np.array(1.0), (0.5, 0.5)).tolist() == [1.0, 0.0]
    assert child_chances(np.array(0.8), (1.0, 0.0)).tolist() == [0.8, 0.0]


def test_a_second_child_is_worth_what_was_measured_where_it_was_measured():
    sequoia = (0.634, 0.108, 0.057, 0.0225)

    assert child_chances(np.array(0.634), sequoia) == pytest.approx(sequoia)
    assert sequoia[1] / sequoia[0] == pytest.approx(0.17, abs=0.005)


def test_a_draft_computes_each_level_but_the_last_and_a_dynamic_tree_what_it_expands():
    assert rows_by_pass(NodesTree(shape="nodes", paths=((0,), (1,), (0, 0)))) == (1, 2)
    assert rows_by_pass(DynamicTree(shape="dynamic_tree", depth=3, top_k=8, nodes=60)) == (1, 8, 8)
    assert rows_by_pass(Chain(draft_tokens=0)) == ()
