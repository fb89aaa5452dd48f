"""Acceptance paths: the right law, the right owner of each uniform, the right blocks."""

import numpy as np
import pytest

from simulator.cluster.paths import PathPlanner
from simulator.cluster.streams import acceptance_key, request_bits, round_uniforms

KEY = acceptance_key(3, 0)


def plan(survival, outputs, prompts=100, classes=0, block_tokens=16, first=0):
    tables = survival if isinstance(survival, tuple) else (np.atleast_2d(survival),)
    outputs = np.asarray(outputs)
    count = outputs.size
    planner = PathPlanner(tables[0].shape[1], tables, KEY, block_tokens, np.arange(10**5))
    return planner.plan(
        np.arange(first, first + count),
        np.broadcast_to(prompts, count).copy(),
        outputs,
        np.broadcast_to(classes, count).copy(),
    )


def test_uniforms_are_uniform_and_independent_over_rounds_and_requests():
    bits = request_bits(KEY, np.arange(500))
    values = round_uniforms(np.repeat(bits, 200), np.tile(np.arange(200), 500)).reshape(500, 200)

    counts = np.histogram(values, 50, (0, 1))[0]
    assert ((counts - 2000) ** 2 / 2000).sum() < 90  # chi-square, 49 degrees of freedom, p = 0.0003
    assert abs(np.corrcoef(values[:, :-1].ravel(), values[:, 1:].ravel())[0, 1]) < 0.01
    assert abs(np.corrcoef(values[:-1].ravel(), values[1:].ravel())[0, 1]) < 0.01


def test_the_share_of_steps_that_accept_each_position_is_its_survival():
    survival = np.array([0.8, 0.5, 0.3])
    paths = plan(survival, np.full(400, 3000))

    commits = np.concatenate([paths.emitted[a : a + n - 1] for a, n in zip(paths.first, paths.num_steps, strict=True)])
    shares = [(commits > i).mean() for i in (1, 2, 3)]
    assert shares == pytest.approx(survival, abs=0.005)


def test_each_path_puts_out_exactly_what_is_left_after_the_first_token():
    outputs = np.arange(1, 300)
    paths = plan([0.9, 0.8, 0.7], outputs)

    put_out = [paths.emitted[a : a + n].sum() for a, n in zip(paths.first, paths.num_steps, strict=True)]
    assert put_out == (outputs - 1).tolist()
    assert (paths.committed_tokens >= outputs - 1).all()
    assert (paths.committed_tokens <= outputs - 1 + 3).all()


def test_a_path_does_not_depend_on_its_neighbours_in_the_chunk():
    together = plan([0.7, 0.4], np.full(64, 200))
    alone = plan([0.7, 0.4], np.array([200]), first=17)

    a, n = together.first[17], together.num_steps[17]
    assert together.emitted[a : a + n].tolist() == alone.emitted.tolist()


def test_more_draft_tokens_see_the_same_luck():
    short = plan([0.7, 0.4], np.full(32, 500))
    long = plan([0.7, 0.4, 0.2], np.full(32, 500))

    for request in range(32):
        rounds = min(short.num_steps[request], long.num_steps[request]) - 1
        mine = short.emitted[short.first[request] :][:rounds]
        theirs = long.emitted[long.first[request] :][:rounds]
        assert (np.minimum(theirs, 3) == mine).all()


def test_the_rest_of_a_path_goes_on_with_the_uniforms_of_the_rounds_that_follow():
    whole = plan([0.7, 0.4], np.array([400]))
    done = 20
    planner = PathPlanner(2, (np.array([[0.7, 0.4]]),), KEY, 16, np.arange(10**5))

    rest = planner.replan(0, 100 + done, 200, 0, done, 100)

    same = rest.num_steps[0] - 1
    assert rest.emitted[:same].tolist() == whole.emitted[done : done + same].tolist()


def test_blocks_cover_the_prompt_what_is_committed_and_the_drafts():
    paths = plan([0.6, 0.3, 0.1], np.array([300]), prompts=37)
    held = -(-37 // 16) + np.cumsum(paths.new_blocks)
    before = np.concatenate(([0], np.cumsum(paths.emitted)[:-1]))

    assert held.tolist() == (-(-(37 + before + 4) // 16)).tolist()


def test_plain_decoding_takes_one_step_a_token():
    planner = PathPlanner(0, (np.empty((1, 0)),), KEY, 16, np.arange(10**5))
    paths = planner.plan(np.arange(3), np.full(3, 5), np.array([1, 2, 9]), np.zeros(3, np.int64))

    assert paths.num_steps == [0, 1, 8]
    assert set(paths.emitted.tolist()) == {1}


def test_classes_and_groups_have_their_own_survival():
    tables = (np.array([[0.9]]), np.array([[0.1], [0.5]]))
    paths = plan(tables, np.full(4000, 200), classes=np.arange(4000) % 2)
    rate = np.array(paths.committed_tokens) / np.array(paths.num_steps) - 1

    assert rate[::2].mean() == pytest.approx(0.9, abs=0.01)
    assert sorted({round(r, 1) for r in np.quantile(rate[1::2], [0.2, 0.8])}) == [0.1, 0.5]


def test_groups_are_as_large_as_their_weights():
    tables = (np.array([[0.9], [0.1]]),)
    planner = PathPlanner(1, tables, KEY, 16, np.arange(10**5), weights=(np.array([0.2, 0.8]),))

    paths = planner.plan(np.arange(4000), np.full(4000, 9), np.full(4000, 300), np.zeros(4000, np.int64))

    many = np.array(paths.committed_tokens) / np.array(paths.num_steps) > 1.5
    assert many.mean() == pytest.approx(0.2, abs=0.02)


def test_equal_weights_are_the_same_as_none():
    tables = (np.linspace(0.9, 0.1, 64)[:, None],)
    every = np.arange(500), np.full(500, 9), np.full(500, 300), np.zeros(500, np.int64)

    stated, unsaid = (
        PathPlanner(1, tables, KEY, 16, np.arange(10**5), weights=weights).plan(*every)
        for weights in ((np.full(64, 1 / 64),), ())
    )

    assert np.array_equal(stated.emitted, unsaid.emitted)


def test_a_long_prompt_has_the_table_of_its_length_also_after_it_was_preempted():
    tables = (np.array([[1.0]]), np.array([[0.0]]))
    planner = PathPlanner(1, tables, KEY, 16, np.arange(10**5), context_edges=np.array([1000]), drafted_tokens=(1, 3))

    paths = planner.plan(np.arange(2), np.array([999, 1000]), np.array([101, 101]), np.zeros(2, np.int64))

    assert paths.num_steps == [50, 100]
    assert planner.replan(0, 1500, 100, 0, 3, 999).num_steps == [50]
    assert planner.drafted(np.array([50, 100]), np.zeros(2, np.int64), np.array([999, 1000])).tolist() == [50, 300]


def test_what_is_accepted_may_be_less_deep_than_what_is_verified_is_many():
    planner = PathPlanner(14, (np.array([[1.0, 1.0]]),), KEY, 16, np.arange(10**5))

    paths = planner.plan(np.arange(1), np.array([16]), np.array([31]), np.zeros(1, np.int64))

    assert paths.num_steps == [10]
    assert paths.new_blocks.tolist()[:2] == [1, 1]  # 16 + 15 tokens in the first step, 3 more in the second
