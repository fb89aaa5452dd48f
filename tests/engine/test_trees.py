"""Trees: their shapes, what their rows see, where their accepted paths lie, and that nothing of it changes an output."""

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engine.attention import visible
from engine.batch import Span, branches_of
from engine.drafters.interface import Draft
from engine.errors import DraftError
from engine.graphs import Graphs, PaddedPass, fits
from engine.growth import Choice, DynamicGrowth
from engine.kv_cache import BlockPool, KvStore
from engine.model import Model
from engine.sampling import Sampling
from engine.trees import ROOT, DynamicTree, FixedTree, depths, path_to, seen_by, tree_of_paths, tree_of_widths
from engine.weights import converted
from tests.engine.reference import plain_logits
from tests.engine.test_model import close, new_table
from tests.engine.toys import TINY, make_engine, outputs, random_prompts, serve, tiny_weights

PROMPTS = random_prompts(24)
SHAPES = {
    "wide": tree_of_widths([4]),
    "widths": tree_of_widths([3, 2, 1]),
    "paths": tree_of_paths([(0,), (1,), (0, 0), (0, 1), (0, 0, 0), (2,)]),
    "dynamic": DynamicTree(depth=4, top_k=3, nodes=8),
    "narrow dynamic": DynamicTree(depth=4, top_k=4, nodes=5),
}
trees = st.lists(st.integers(0, 100), min_size=1, max_size=9).map(
    lambda draws: tuple(draw % (node + 1) - 1 for node, draw in enumerate(draws))
)


def test_widths_and_paths_say_the_same_tree():
    assert tree_of_paths(list(product(range(2), repeat=1)) + list(product(range(2), repeat=2))) == tree_of_widths(
        [2, 2]
    )
    assert (tree_of_widths([3, 2, 1]).nodes, tree_of_widths([3, 2, 1]).depth) == (15, 3)


@pytest.mark.parametrize("wrong", [lambda: tree_of_widths([2, 0]), lambda: tree_of_widths([]),
                                   lambda: tree_of_paths([(1,)]), lambda: tree_of_paths([(0,), (1, 0)]),
                                   lambda: DynamicTree(3, 2, 2), lambda: DynamicTree(2, 2, 9)])  # fmt: skip
def test_an_impossible_tree_is_told(wrong):
    with pytest.raises(DraftError, match="tree"):
        wrong()


@given(trees)
def test_a_node_sees_its_own_path_and_the_root(parents):
    seen = seen_by(parents)

    for node in range(len(parents)):
        wanted = {0, *(n + 1 for n in path_to(parents, node))}
        assert set(seen[node + 1].nonzero().flatten().tolist()) == wanted
        assert len(wanted) == depths(parents)[node] + 1


def computed_tree(model, store, table, tokens, draft):
    """Logits of root and nodes, behind a context that has been computed."""
    model.forward(model.batch([Span(tokens[:-1], 0, table, 0)], store), store)
    root = len(tokens) - 1
    branches = branches_of(draft.tree, root)
    batch = model.batch([Span([tokens[-1], *draft.tokens], root, table, len(draft.tokens) + 1, branches)], store)
    return batch, model.forward(batch, store)


@pytest.mark.parametrize("scattered", [False, True])
@pytest.mark.parametrize("nodes", [1, 7, 40])
def test_each_node_is_computed_as_if_its_path_were_the_sequence(nodes, scattered):
    weights, rng = tiny_weights(), np.random.default_rng(nodes)
    model, pool = Model(weights), BlockPool(64, 4)
    tokens = rng.integers(0, 12, 10).tolist()
    parents = [int(rng.integers(-1, node)) if node else ROOT for node in range(nodes)]
    draft = Draft(rng.integers(0, 12, nodes).tolist(), None, parents)
    store, table = model.new_store(64, 4), new_table(pool, 10 + nodes, scattered=scattered)

    _, found = computed_tree(model, store, table, tokens, draft)

    paths = [[], *([draft.tokens[n] for n in path_to(parents, node)] for node in range(nodes))]
    assert close(found, torch.stack([plain_logits(weights, tokens + path)[-1] for path in paths]))


def test_an_accepted_path_that_was_moved_is_the_sequence_itself():
    weights = tiny_weights()
    model, pool = Model(weights), BlockPool(64, 4)
    tokens, draft = [1, 5, 2, 9, 4], Draft([3, 7, 8, 6], None, [ROOT, ROOT, 1, 2])
    store, table = model.new_store(64, 4), new_table(pool, 12)
    computed_tree(model, store, table, tokens, draft)

    store.move([6, 7, 8], [5, 6, 7])

    found = model.forward(model.batch([Span([11], 8, table, 1)], store), store)
    assert close(found[0], plain_logits(weights, [*tokens, 7, 8, 6, 11])[-1])


def test_slots_are_all_read_before_any_is_written():
    store = KvStore(TINY, 2, 4, torch.float64)
    for tensor in (*store.keys, *store.values):
        tensor.copy_(torch.arange(12.0)[:, None, None].expand_as(tensor))

    store.move([1, 2], [2, 3])

    assert all(tensor[:5, 0, 0].tolist() == [0, 1, 1, 2, 4] for tensor in (*store.keys, *store.values))


def trees_to_verify(model, store):
    """A batch of two trees and a chain of four rows each, behind contexts of unequal length."""
    pool, spans = BlockPool(64, 4), []
    for length, parents in ((6, [ROOT, ROOT, 0]), (9, [ROOT, 0, 0]), (3, None)):
        table = new_table(pool, length + 3, scattered=length == 6)
        model.forward(model.batch([Span(list(range(length - 1)), 0, table, 0)], store), store)
        places = None if parents is None else branches_of(parents, length - 1)
        spans.append(Span([4, 1, 7, 2], length - 1, table, 4, places))
    return model.batch(spans, store)


def test_a_padded_pass_of_trees_is_the_ragged_one():
    model = Model(tiny_weights())
    store = model.new_store(64, 4)
    batch = trees_to_verify(model, store)
    padded_pass = PaddedPass(model, store, 4, 4, 16)
    padded_pass.fill(batch)

    found = padded_pass.compute()[:12]

    assert fits(batch)
    assert close(found, model.forward(batch, store))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_graph_of_trees_is_the_ordinary_pass():
    model = Model(converted(tiny_weights(), torch.float32, "cuda"))
    store = model.new_store(64, 4)
    batch, graphs = trees_to_verify(model, store), Graphs(model, store)

    for _ in range(2):
        assert torch.allclose(graphs.forward(batch), model.forward(batch, store), atol=1e-4)


def test_a_row_sees_what_lies_before_its_tree():
    seen = torch.tensor([[[True, False], [False, True]]])

    assert visible(torch.tensor([2]), seen, 5).int().tolist() == [[[1, 1, 1, 0, 0], [1, 1, 0, 1, 0]]]


@pytest.fixture(scope="module")
def plain():
    return outputs(make_engine(tiny_weights()), PROMPTS)


def tree_engine(draft, shape, **options):
    return make_engine(tiny_weights(), draft=draft, draft_tokens=shape.nodes, shape=shape, **options)


CASES = [*(("noisy_target", shape) for shape in SHAPES), *product(("model", "ngram"), ("widths", "dynamic"))]


@pytest.mark.parametrize(("draft", "shape"), CASES)
def test_no_shape_changes_a_greedy_output(plain, draft, shape):
    engine = tree_engine(draft, SHAPES[shape], epsilon=0.3, max_num_batched_tokens=256)

    assert outputs(engine, PROMPTS) == plain
    assert all(row.shape.verify_tokens <= row.shape.sequences * (SHAPES[shape].nodes + 1) for row in engine.steps)


def test_a_cache_too_small_for_all_and_the_longest_sequence_change_nothing():
    prompts = random_prompts(20, longest=56)
    limits = {"max_model_len": 64, "blocks": 40, "max_num_batched_tokens": 96}

    drafted = serve(tree_engine("noisy_target", SHAPES["widths"], **limits), prompts, 100)

    assert [s.output for s in drafted] == outputs(make_engine(tiny_weights(), **limits), prompts, 100)
    assert sum(s.preemptions for s in drafted) > 5


@pytest.mark.parametrize(
    "sampling", [Sampling(), Sampling(1.0), Sampling(1.3, top_k=5)], ids=["greedy", "all", "top_k"]
)
@pytest.mark.parametrize("replacement", [False, True])
def test_a_tree_of_width_one_is_a_chain_to_the_last_random_number(sampling, replacement):
    weights, options = tiny_weights(), {"draft_tokens": 4, "epsilon": 0.3}
    chain = make_engine(weights, draft="noisy_target", **options)
    tree = make_engine(weights, draft="noisy_target", shape=tree_of_widths([1] * 4), replacement=replacement, **options)

    pair = [serve(engine, PROMPTS[:12], sampling=sampling) for engine in (chain, tree)]

    assert [s.tokens for s in pair[0]] == [s.tokens for s in pair[1]]
    assert [s.rounds for s in pair[0]] == [s.rounds for s in pair[1]]


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(1.0)], ids=["greedy", "sampled"])
def test_a_tree_commits_more_than_its_first_path(sampling):
    weights = tiny_weights()
    chain = make_engine(weights, draft="noisy_target", draft_tokens=3, epsilon=0.5)
    tree = tree_engine("noisy_target", SHAPES["widths"], epsilon=0.5, max_num_batched_tokens=256)

    per_step = [
        sum(s.committed_tokens for s in found) / sum(s.steps for s in found)
        for found in (serve(engine, PROMPTS[:10], 24, sampling) for engine in (chain, tree))
    ]

    assert per_step[1] > 1.1 * per_step[0]


def test_nodes_are_counted_by_depth_and_accepted_ones_by_step():
    engine = tree_engine("noisy_target", SHAPES["widths"], epsilon=0.0, max_num_batched_tokens=256)

    (sequence,) = serve(engine, PROMPTS[:1], 17)

    assert sequence.drafted_at == [3 * sequence.steps, 6 * sequence.steps, 6 * sequence.steps]
    assert sequence.accepted_at == [sequence.steps] * 3
    assert sequence.rounds == [(15, 3)] * sequence.steps


def test_the_best_nodes_of_a_dynamic_tree_are_kept_and_their_parents_with_them():
    growth = DynamicGrowth(DynamicTree(depth=2, top_k=2, nodes=4), room=4)
    assert growth.frontier() == [ROOT]
    growth.add(ROOT, [Choice(5, 0.6), Choice(7, 0.3)])
    assert growth.frontier() == [0, 1]
    growth.add(0, [Choice(1, 0.9), Choice(2, 0.1)])
    growth.add(1, [Choice(3, 0.5), Choice(4, 0.4)])
    assert growth.frontier() == []

    assert growth.draft() == Draft([5, 7, 1, 3], None, [ROOT, ROOT, 0, 1])


def test_a_dynamic_tree_expands_no_more_nodes_than_have_slots():
    growth, expanded = DynamicGrowth(DynamicTree(depth=4, top_k=4, nodes=5), room=5), 0
    while nodes := growth.frontier():
        expanded += len(nodes) if nodes != [ROOT] else 0
        for node in nodes:
            growth.add(node, [Choice(token, 0.25) for token in range(4)])

    assert expanded <= 5
    assert max(depths(growth.parents)) == 4


def test_a_tree_is_cut_to_the_room_that_is_left():
    engine = make_engine(tiny_weights(), draft="model", draft_tokens=15, shape=FixedTree(tree_of_widths([3, 2, 1]).parents),
                         max_model_len=32)  # fmt: skip

    sequences = serve(engine, [PROMPTS[0][:4]], 100)

    assert len(sequences[0].tokens) == 32
    assert sequences[0].rounds[-1][0] < 15
