"""Greedy speculative output is the plain engine's, token for token."""

import pytest

from engine.model import Model
from engine.sequence import Request
from tests.engine.toys import ON_ANY_TARGET, QWEN_LIKE, TINY, make_engine, outputs, random_prompts, serve, tiny_weights

PROMPTS = random_prompts(120)


@pytest.fixture(scope="module")
def plain():
    weights = tiny_weights()
    return outputs(make_engine(weights), PROMPTS)


@pytest.mark.parametrize("draft", ON_ANY_TARGET)
@pytest.mark.parametrize("max_num_seqs", [1, 3, 8])
def test_every_drafter_and_batch_gives_the_plain_output(plain, draft, max_num_seqs):
    engine = make_engine(tiny_weights(), draft=draft, draft_tokens=3, max_num_seqs=max_num_seqs)
    share = slice(None) if max_num_seqs == 8 else slice(0, 40)

    assert outputs(engine, PROMPTS[share]) == plain[share]


@pytest.mark.parametrize("draft", ON_ANY_TARGET)
def test_a_cache_that_is_too_small_for_all_changes_nothing(plain, draft):
    engine = make_engine(tiny_weights(), draft=draft, blocks=22, max_num_batched_tokens=48)

    sequences = serve(engine, PROMPTS[:40])

    assert [s.output for s in sequences] == plain[:40]
    assert sum(s.preemptions for s in sequences) > 10


@pytest.mark.parametrize("draft_tokens", [1, 7, 12])
def test_no_number_of_draft_tokens_changes_anything(plain, draft_tokens):
    engine = make_engine(tiny_weights(), draft="noisy_target", draft_tokens=draft_tokens, epsilon=0.2)

    assert outputs(engine, PROMPTS[:60]) == plain[:60]


def test_each_request_may_have_its_own_number_of_draft_tokens(plain):
    engine = make_engine(tiny_weights(), draft="noisy_target")

    sequences = [engine.submit(Request(p, 16, draft_tokens=i % 5)) for i, p in enumerate(PROMPTS[:60])]
    list(engine.run())

    assert [s.output for s in sequences] == plain[:60]
    assert [len(s.drafted_at) for s in sequences[:5]] == [0, 1, 2, 3, 4]


def test_batched_is_single(plain):
    model = Model(tiny_weights())

    single = [outputs(make_engine(tiny_weights(), model=model), [p])[0] for p in PROMPTS[:30]]

    assert single == plain[:30]


def test_biases_and_head_norms_change_nothing():
    weights = tiny_weights(QWEN_LIKE)

    drafted = outputs(make_engine(weights, draft="noisy_target"), PROMPTS[:40])

    assert drafted == outputs(make_engine(weights), PROMPTS[:40])


def test_outputs_end_where_the_longest_sequence_ends():
    prompts = random_prompts(20, longest=60)
    limits = {"max_model_len": 64, "blocks": 80}

    drafted = serve(make_engine(tiny_weights(), draft="noisy_target", **limits), prompts, 100)

    assert [s.output for s in drafted] == outputs(make_engine(tiny_weights(), **limits), prompts, 100)
    assert all(len(s.tokens) == 64 and s.truncated for s in drafted)


def test_a_stop_token_ends_the_output_in_the_middle_of_a_step(plain):
    stop = plain[0][10]

    engine = make_engine(tiny_weights(), draft="noisy_target", epsilon=0.01)
    stopped = outputs(engine, PROMPTS[:40], stop_tokens=frozenset({stop}))

    assert stopped == [o[: o.index(stop) + 1] if stop in o else o for o in plain[:40]]


def test_a_draft_that_is_the_target_is_always_accepted():
    weights = tiny_weights()
    engine = make_engine(weights, draft="noisy_target", epsilon=0.0)

    sequences = serve(engine, PROMPTS[:20])

    assert {a == d for s in sequences for a, d in zip(s.accepted_at, s.drafted_at, strict=True)} == {True}


def test_tiny_models_are_not_trivial(plain):
    assert TINY.vocab_size * 0.6 < len({t for o in plain for t in o})
    assert len({tuple(o) for o in plain}) > 90


@pytest.mark.slow
@pytest.mark.parametrize("draft", ON_ANY_TARGET)
def test_hundreds_of_prompts(draft):
    weights, prompts = tiny_weights(seed=3), random_prompts(400, longest=60, seed=7)

    drafted = outputs(make_engine(weights, draft=draft, draft_tokens=5, epsilon=0.2), prompts)

    assert drafted == outputs(make_engine(weights), prompts)
