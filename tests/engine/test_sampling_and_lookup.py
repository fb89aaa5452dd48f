"""Shaping distributions, picking tokens, and looking prompts up."""

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engine.drafters.lookup import PromptLookup
from engine.sampling import Sampling, pick, shaped_probs
from engine.sequence import Chunk

LOGITS = torch.tensor([0.5, 2.0, -1.0, 1.0, 0.0], dtype=torch.float64)


def test_temperature_divides_logits():
    assert torch.allclose(shaped_probs(LOGITS, Sampling(0.5)), (LOGITS * 2).softmax(-1))


def test_top_k_keeps_the_likeliest_and_their_proportions():
    probs = shaped_probs(LOGITS, Sampling(1.0, top_k=2))

    assert (probs > 0).tolist() == [False, True, False, True, False]
    assert float(probs[1] / probs[3]) == pytest.approx(2.718281828)


@given(st.floats(0.01, 1.0))
def test_top_p_keeps_the_fewest_that_reach_the_sum(top_p):
    full, probs = LOGITS.softmax(-1), shaped_probs(LOGITS, Sampling(1.0, top_p=top_p))
    kept = probs > 0

    assert full[kept].sum() >= top_p - 1e-12
    assert full[kept].sum() - full[kept].min() < top_p
    assert full[kept].min() >= full[~kept].max() if (~kept).any() else True
    assert float(probs.sum()) == pytest.approx(1.0)


def test_greedy_is_one_hot():
    assert shaped_probs(LOGITS, Sampling()).tolist() == [0, 1, 0, 0, 0]


@given(
    st.lists(st.floats(0, 1), min_size=2, max_size=8).filter(lambda p: sum(p) > 0.01), st.floats(0, 1, exclude_max=True)
)
def test_a_token_of_probability_zero_is_never_picked(probs, uniform):
    token = int(pick(torch.tensor([probs]), torch.tensor([uniform], dtype=torch.float64))[0])

    assert probs[token] > 0


def test_uniforms_on_a_grid_pick_in_proportion():
    probs = torch.tensor([[0.125, 0.5, 0.0, 0.375]]).repeat(64, 1)

    tokens = pick(probs, torch.arange(64) / 64)

    assert torch.bincount(tokens, minlength=4).tolist() == [8, 32, 0, 24]


def propose(tokens, count, longest=3):
    lookup, sequence = PromptLookup(longest), SimpleNamespace(number=0, tokens=list(tokens))
    lookup.prefill([Chunk(sequence, 0, len(tokens), len(tokens))])
    return lookup.propose([sequence], [count])[0].tokens


@pytest.mark.parametrize(
    ("tokens", "count", "drafted"),
    [
        ([1, 2, 3, 4, 1, 2], 2, [3, 4]),
        ([1, 2, 9, 1, 2, 8, 1, 2], 1, [8]),
        ([1, 2, 3, 9, 5, 3, 7, 1, 2, 3], 1, [9]),
        ([1, 2, 1, 2], 5, [1, 2, 1, 2, 1]),
        ([4, 4], 3, [4, 4, 4]),
        ([1, 2, 3], 4, []),
        ([1], 4, []),
    ],
)
def test_what_followed_the_longest_latest_suffix_is_proposed(tokens, count, drafted):
    assert propose(tokens, count) == drafted


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.integers(1, 6))
def test_an_index_built_token_by_token_is_the_same(tokens, count):
    lookup, sequence = PromptLookup(3), SimpleNamespace(number=0, tokens=[])
    for token in tokens:
        sequence.tokens.append(token)
        found = lookup.propose([sequence], [count])[0].tokens

    assert found == propose(tokens, count)


def test_a_released_sequence_is_forgotten():
    lookup, sequence = PromptLookup(2), SimpleNamespace(number=0, tokens=[1, 2, 1])
    lookup.propose([sequence], [1])
    lookup.release(sequence)

    assert lookup._indexes == {}
