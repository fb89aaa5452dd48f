"""A draft's cache in eight bits, and its window: nothing that is committed depends on either."""

import pytest
import torch

from engine.batch import FOLDED_ROWS, Span
from engine.errors import DraftError
from engine.kv_cache import BlockPool, BlockTable
from engine.model import Model
from engine.quantised import ELEMENTS, QuantisedPlane
from engine.sampling import Sampling
from engine.window import Window, narrow
from tests.engine.test_sampled_loop import PROMPT, SMALL, chi_square_p, exact_law
from tests.engine.toys import generator, make_drafter, make_engine, outputs, random_prompts, serve, tiny_weights

PROMPTS = random_prompts(40)
CACHES = [{"kv": "int8"}, {"kv": "fp8"}, {"window": Window(2, 4)}, {"kv": "fp8", "window": Window(1, 3)}]
NAMES = ["int8", "fp8", "window", "both"]


def acceptance(sequences):
    return sum(sum(s.accepted_at) for s in sequences) / sum(sum(s.drafted_at) for s in sequences)


def draft_engine(weights, draft_tokens=3, epsilon=0.05, seed=0, **cache):
    drafter = make_drafter("noisy_target", weights, blocks=256, epsilon=epsilon, **cache)
    return make_engine(weights, draft=drafter, draft_tokens=draft_tokens, blocks=256, max_num_seqs=16,
                       max_num_batched_tokens=256, seed=seed)  # fmt: skip


@pytest.mark.parametrize("cache", CACHES, ids=NAMES)
def test_greedy_output_is_the_plain_engines(cache):
    weights = tiny_weights()

    assert outputs(draft_engine(weights, **cache), PROMPTS) == outputs(make_engine(weights), PROMPTS)


def test_outputs_follow_the_targets_law():
    weights, sampling = tiny_weights(SMALL, sharpness=2.0), Sampling(1.0)

    found = outputs(draft_engine(weights, 2, 0.3, seed=5, **CACHES[-1]), [PROMPT] * 400, 3, sampling=sampling)

    assert chi_square_p(found, exact_law(weights, sampling)) > 1e-3


@pytest.mark.parametrize("kind", sorted(ELEMENTS))
def test_numbers_come_back_to_within_their_bits(kind):
    plane = QuantisedPlane((8, 2, 16), kind, torch.float64, "cpu")
    numbers = (
        torch.randn(3, 2, 16, generator=generator(), dtype=torch.float64)
        * torch.tensor([1e-3, 1.0, 1e3])[:, None, None]
    )

    plane.index_copy_(0, torch.tensor([5, 0, 6]), numbers)

    largest = numbers.abs().amax(-1, keepdim=True)
    error = {"int8": 0.5 / 127, "fp8": 2.0**-4}[kind]
    assert ((plane.index_select(0, torch.tensor([5, 0, 6])) - numbers).abs() <= error * largest * 1.001).all()
    assert torch.equal(plane[5:7], plane.index_select(0, torch.tensor([5, 6])))
    assert not plane[1:5].any()


@pytest.mark.parametrize("kind", sorted(ELEMENTS))
def test_a_zero_stays_a_zero_and_moving_changes_nothing(kind):
    plane = QuantisedPlane((4, 1, 4), kind, torch.float32, "cpu")
    plane.index_copy_(0, torch.tensor([0, 1]), torch.tensor([[[0.0, 0.0, 0.0, 0.0]], [[1.0, -3.0, 0.3, 0.0]]]))

    plane.index_copy_(0, torch.tensor([2]), plane[1:2])

    assert not plane[0:1].any()
    assert torch.equal(plane[2:3], plane[1:2])


def test_eight_bits_take_a_quarter_of_the_bytes_and_the_scales():
    model = Model(tiny_weights(dtype=torch.float32))

    sizes = {element: model.new_store(8, 4, element).num_bytes for element in ("same", "int8", "fp8")}

    numbers = sizes["same"] // 4
    scales = numbers // model.architecture.head_dim * 4
    assert sizes == {"same": 4 * numbers, "int8": numbers + scales, "fp8": numbers + scales}


def windowed_by_hand(model, tokens, window):
    """Logits behind the last token, every position of the cache computed with its window, row by row."""
    pool, table = BlockPool(16, 4), BlockTable()
    pool.extend(table, len(tokens))
    store = model.new_store(16, 4)
    for position in range(len(tokens)):
        batch = model.batch([Span(tokens[position : position + 1], position, table, 1)], store)
        kept = [p for p in range(position + 1) if p < window.sinks or p > position - window.recent]
        batch.reads = [batch.reads[0]._replace(slots=torch.tensor(kept))]
        logits = model.forward(batch, store)
    return logits


@pytest.mark.parametrize("cuts", [(20,), (5, 15), (9, 1, 10), (19, 1), (50,)])
def test_a_window_hides_what_lies_between(cuts):
    model, window, tokens = Model(tiny_weights()), Window(2, 5), list(range(12)) * 5
    tokens = tokens[: sum(cuts)]
    pool, table, start = BlockPool(16, 4), BlockTable(), 0
    pool.extend(table, len(tokens))
    store = model.new_store(16, 4)
    for count in cuts:
        batch = narrow(model.batch([Span(tokens[start : start + count], start, table, 1)], store), window)
        logits = model.forward(batch, store)
        start += count

    assert max(cuts) <= FOLDED_ROWS or cuts == (50,)
    assert torch.allclose(logits, windowed_by_hand(model, tokens, window), atol=1e-11)


def test_a_window_as_long_as_the_context_changes_nothing():
    weights = tiny_weights()

    whole, wide, narrow_one = (
        serve(draft_engine(weights, epsilon=0.0, **cache), PROMPTS)
        for cache in ({}, {"window": Window(1, 64)}, {"window": Window(0, 1)})
    )

    assert acceptance(whole) == acceptance(wide) == 1.0
    assert acceptance(narrow_one) < 1.0


def test_a_window_of_nothing_is_refused():
    with pytest.raises(DraftError, match="draft window 4,0: sinks of 0 or more and 1 or more"):
        Window(4, 0)
