"""The decoder over a paged cache against one written out plainly."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from engine.attention import padded, visible
from engine.batch import Span
from engine.graphs import Graphs, PaddedPass, fits
from engine.kv_cache import BlockPool, BlockTable, Room
from engine.linear import LINEARS, fastest_backend, filled
from engine.model import Model
from engine.weights import converted, with_noise
from tests.engine.reference import plain_logits
from tests.engine.toys import MIXTURE, QWEN_LIKE, SHARED, TINY, generator, random_prompts, tiny_weights


def new_table(pool, tokens, *, scattered=False):
    """A table for so many tokens; scattered: of blocks that do not follow each other."""
    table, between = BlockTable(), [BlockTable() for _ in range(40)]
    for length in range(1, tokens + 1):
        missing = pool.missing(table, length)
        pool.extend(table, length)
        if missing and scattered:
            pool.extend(between[length // pool.block_tokens], 1)
    assert table.contiguous != (scattered and len(table.blocks) > 1)
    return table


def close(found, wanted):
    return torch.allclose(found, wanted, atol=1e-11, rtol=0)


@pytest.mark.parametrize("architecture", [TINY, QWEN_LIKE, MIXTURE, SHARED], ids=["llama", "qwen", "mixture", "shared"])
@pytest.mark.parametrize("scattered", [False, True])
@pytest.mark.parametrize("cuts", [(50,), (10, 40), (49, 1), (1,) * 50, (20, 3, 5, 1, 21), (9, 41)])
def test_a_sequence_in_any_pieces_is_the_plain_sequence(architecture, scattered, cuts):
    weights = tiny_weights(architecture)
    model, pool = Model(weights), BlockPool(64, 4)
    tokens = list(np.random.default_rng(0).integers(0, 12, 50))
    store, table, found, start = model.new_store(64, 4), new_table(pool, 50, scattered=scattered), [], 0
    for count in cuts:
        batch = model.batch([Span(tokens[start : start + count], start, table, count)], store)
        found.append(model.forward(batch, store))
        start += count

    assert close(torch.cat(found), plain_logits(weights, tokens))


def test_ragged_sequences_do_not_see_each_other():
    weights = tiny_weights()
    model, pool = Model(weights), BlockPool(64, 4)
    store = model.new_store(64, 4)
    prompts = random_prompts(6, longest=40)
    spans = [Span(p, 0, new_table(pool, len(p)), 1) for p in prompts]

    found = model.forward(model.batch(spans, store), store)

    assert close(found, torch.stack([plain_logits(weights, p)[-1] for p in prompts]))


def test_rejected_tokens_leave_no_trace():
    weights = tiny_weights()
    model, pool = Model(weights), BlockPool(64, 4)
    store, table = model.new_store(64, 4), new_table(pool, 40)
    right, wrong = list(range(12)) * 3, [7, 7, 7, 7, 7]
    model.forward(model.batch([Span(right[:20], 0, table, 1)], store), store)
    model.forward(model.batch([Span(wrong, 20, table, 5)], store), store)

    found = model.forward(model.batch([Span(right[20:30], 20, table, 10)], store), store)

    assert close(found, plain_logits(weights, right[:30])[20:])


def test_a_pass_that_asks_for_nothing_computes_keys_only():
    model, pool = Model(tiny_weights()), BlockPool(8, 4)
    store = model.new_store(8, 4)

    logits = model.forward(model.batch([Span([1, 2, 3], 0, new_table(pool, 3), 0)], store), store)

    assert logits.shape == (0, 12)
    assert store.keys[1][:3].abs().sum() > 0


@pytest.mark.parametrize("backend", sorted(LINEARS))
def test_every_backend_gives_the_same_product(backend):
    weight, bias = torch.randn(24, 16, generator=generator()), torch.randn(24, generator=generator(1))
    if backend == "onednn" and fastest_backend(torch.device("cpu"), torch.float32) != "onednn":
        pytest.skip("this torch has no oneDNN products")
    for rows in (1, 2, 3, 5, 17, 64, 65, 130):
        x = torch.randn(rows, 16, generator=generator(rows))

        assert torch.allclose(LINEARS[backend](weight, bias)(x), x @ weight.T + bias, atol=1e-5)


def test_double_precision_has_the_plain_backend():
    assert fastest_backend(torch.device("cpu"), torch.float64) == "plain"


def test_half_precision_runs():
    weights = converted(tiny_weights(), torch.bfloat16, "cpu")
    model, pool = Model(weights), BlockPool(8, 4)
    store = model.new_store(8, 4)

    logits = model.forward(model.batch([Span([1, 2, 3], 0, new_table(pool, 3), 3)], store), store)

    assert logits.dtype == torch.bfloat16
    assert (logits.double() - plain_logits(tiny_weights(), [1, 2, 3])).abs().max() < 0.5


def verify_batch(model, store, pool, rows):
    tables = [new_table(pool, 12 + i, scattered=i == 1) for i in range(3)]
    prompts = [Span(list(range(8 + i - rows)), 0, table, 1) for i, table in enumerate(tables)]
    model.forward(model.batch(prompts, store), store)
    return model.batch([Span([5] * rows, 8 + i - rows, t, rows) for i, t in enumerate(tables)], store)


@pytest.mark.parametrize("rows", [1, 4])
def test_a_padded_pass_is_the_ragged_one(rows):
    model, pool = Model(tiny_weights()), BlockPool(64, 4)
    store = model.new_store(64, 4)
    batch = verify_batch(model, store, pool, rows)
    padded_pass = PaddedPass(model, store, 4, rows, 32)
    padded_pass.fill(batch)

    found = padded_pass.compute()[: 3 * rows]

    assert fits(batch)
    assert close(found, model.forward(batch, store))


def test_only_even_verifying_batches_fit_a_graph():
    model, pool = Model(tiny_weights()), BlockPool(64, 4)
    store, table, other = model.new_store(64, 4), new_table(pool, 8), new_table(pool, 8)

    assert not fits(model.batch([Span([1], 0, table, 1), Span([1, 2], 0, other, 2)], store))
    assert not fits(model.batch([Span([1, 2], 0, table, 1)], store))
    assert not fits(model.batch([Span([1], 0, table, 1)], store, 0))


def test_padding_is_not_seen():
    query, keys = torch.randn(2, 4, 4, generator=generator()), torch.randn(16, 2, 4, generator=generator(1))
    slots = torch.tensor([[0, 1, 2, 9], [4, 9, 9, 9]])
    may_look = visible(torch.tensor([2, 0]), torch.ones(2, 1, 1, dtype=torch.bool), 4)
    before = padded(may_look, slots)(query, keys, keys)
    keys[9] = 1e6

    assert torch.equal(padded(may_look, slots)(query, keys, keys), before)


def test_noise_is_in_units_of_each_matrix():
    weights = tiny_weights()

    noisy = with_noise(weights, 0.5, generator())

    difference = (noisy.layers[0].gate_up - weights.layers[0].gate_up).std() / weights.layers[0].gate_up.std()
    assert float(difference) == pytest.approx(0.5, rel=0.1)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("rows", [1, 4])
def test_a_graph_is_the_ordinary_pass(rows):
    model, pool = Model(converted(tiny_weights(), torch.float32, "cuda")), BlockPool(64, 4)
    store = model.new_store(64, 4)
    batch = verify_batch(model, store, pool, rows)
    graphs = Graphs(model, store)

    for _ in range(2):
        assert torch.allclose(graphs.forward(batch), model.forward(batch, store), atol=1e-4)


@given(st.integers(1, 5000))
def test_a_product_is_filled_up_by_little_and_to_few_numbers_of_rows(rows):
    assert 0 <= filled(rows) - rows <= max(3, rows / 16)
    assert filled(filled(rows)) == filled(rows)


def test_there_are_few_numbers_of_rows_to_prepare():
    assert len({filled(rows) for rows in range(1, 513)}) == 109


@pytest.mark.skipif(
    fastest_backend(torch.device("cpu"), torch.float32) != "onednn", reason="this torch has no oneDNN products"
)
def test_one_dnn_gets_rows_that_are_filled_up(monkeypatch):
    lacking = []
    pad = functional.pad
    monkeypatch.setattr("engine.linear.functional.pad", lambda rows, by: lacking.append(by[-1]) or pad(rows, by))
    product = LINEARS["onednn"](torch.randn(24, 16), None)

    for rows in (1, 64, 65, 130):
        product(torch.randn(rows, 16))

    assert lacking == [3, 3, 6]


def test_what_lies_scattered_is_gathered_in_the_room_of_its_store(monkeypatch):
    model, pool = Model(tiny_weights()), BlockPool(40, 2)
    store, seen = model.new_store(40, 2), []
    gathered = store.room.gathered
    monkeypatch.setattr(Room, "gathered", lambda room, *planes: seen.append(room) or gathered(*planes))

    model.forward(model.batch([Span([1, 2, 3, 4, 5], 0, new_table(pool, 5, scattered=True), 5)], store), store)

    assert seen == [store.room] * model.architecture.num_layers
