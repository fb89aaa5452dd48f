"""The prefix cache: what is kept, who shares it, what gives way first, and what a hit saves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.cluster.prefix import BlockPool, PrefixCache
from simulator.cluster.records import columns_equal
from simulator.cluster.sessions import SYSTEM_PROMPT, with_prefixes
from simulator.cluster.streams import acceptance_key
from simulator.cluster.traffic import RequestChunk
from simulator.spec.workload import Prefix
from tests.simulator.cluster.toys import (
    LinearTimes,
    assert_conserved,
    fixed_lengths,
    make_plan,
    poisson_chunks,
    simulate,
    uniform_lengths,
)

TIMES = LinearTimes(0.01, prompt_token_s=1e-4, sequence_s=1e-4)


def block_chunk(arrivals, prompts, ids, outputs=None):
    """Requests of a trace with blocks of 64 tokens."""
    count = len(arrivals)
    return RequestChunk(
        np.array(arrivals), np.array(prompts), np.array(outputs or [4] * count), np.zeros(count, np.int64),
        block_ids=tuple(np.array(i, np.int64) for i in ids), block_tokens=64,
    )  # fmt: skip


def test_a_prompt_that_begins_like_an_earlier_one_skips_what_is_kept():
    chunk = block_chunk([0.0, 1.0], [192, 200], [[1, 2, 3], [1, 2, 9, 10]])

    records = simulate(make_plan(TIMES, prefix_cache=True), iter([chunk]), 2, endless=False)

    assert records.requests.cached_tokens.tolist() == [0, 128]
    assert records.steps.prefill_tokens[records.steps.prefill_tokens > 0].tolist() == [192, 72]
    assert records.steps.prefill_context_tokens.max() == pytest.approx(192 * 193 / 2)


def test_at_least_one_block_of_a_prompt_is_computed_even_if_all_of_it_is_kept():
    chunk = block_chunk([0.0, 1.0], [192, 192], [[1, 2, 3], [1, 2, 3]])

    records = simulate(make_plan(TIMES, prefix_cache=True), iter([chunk]), 2, endless=False)

    assert records.requests.cached_tokens.tolist() == [0, 128]


def test_without_the_cache_nothing_is_skipped():
    chunk = block_chunk([0.0, 1.0], [192, 192], [[1, 2, 3], [1, 2, 3]])

    records = simulate(make_plan(TIMES), iter([chunk]), 2, endless=False)

    assert records.requests.cached_tokens.tolist() == [0, 0]


def test_the_longest_unused_segments_give_way_first_and_the_end_of_a_prompt_before_its_start():
    chunk = block_chunk(
        [0.0, 1.0, 2.0, 3.0, 4.0],
        [256, 256, 256, 256, 256],
        [[1, 2, 3, 4], [11, 12, 13, 14], [21, 22, 23, 24], [1, 2, 3, 4], [11, 12, 13, 14]],
    )

    records = simulate(
        make_plan(TIMES, prefix_cache=True, kv_blocks=40, max_model_len=600), iter([chunk]), 5, endless=False
    )

    assert records.requests.cached_tokens[3] == 64
    assert records.requests.cached_tokens[4] < 192


def test_running_requests_share_blocks_once():
    chunk = block_chunk([0.0, 0.5, 0.5], [640, 640, 640], [list(range(10))] * 3, [400, 400, 400])

    records = simulate(make_plan(TIMES, prefix_cache=True), iter([chunk]), 3, endless=False)

    assert records.steps.kv_blocks.max() < 3 * (640 + 400) / 16 - 2 * 500 / 16


@settings(max_examples=40, deadline=None)
@given(
    kv_blocks=st.integers(100, 600),
    shared=st.integers(0, 300),
    turns=st.integers(1, 5),
    think_s=st.floats(0.0, 2.0),
    rate=st.floats(0.5, 20.0),
    draft_tokens=st.integers(0, 3),
    step_by_step=st.booleans(),
)
def test_blocks_are_conserved_with_shared_prefixes_and_sessions(
    kv_blocks, shared, turns, think_s, rate, draft_tokens, step_by_step
):
    prefix = Prefix(shared_tokens=shared, turns=turns, think_time_s=think_s if turns > 1 else 0.0)
    plain = poisson_chunks(rate, uniform_lengths((10, 200), (1, 60)))
    chunks = with_prefixes(plain, prefix, acceptance_key(1, 0))
    plan = make_plan(TIMES, prefix_cache=True, kv_blocks=kv_blocks, max_model_len=1500, survival=(0.7,) * draft_tokens,
                     replicas=2, step_by_step=step_by_step, router="prefix_aware")  # fmt: skip

    records = simulate(plan, chunks, 120, check=assert_conserved)

    done = records.requests
    served = np.isfinite(done.finish_s) & ~done.rejected
    assert (done.cached_tokens[served] < done.prompt_tokens[served]).all()
    assert (np.diff(done.arrival_s) >= 0).all()
    assert (done.scheduled_s[served] >= done.arrival_s[served]).all()


@pytest.mark.parametrize("turns", [1, 3])
def test_runs_of_steps_leave_the_same_records_with_a_prefix_cache(turns):
    def run(step_by_step):
        plain = poisson_chunks(6.0, uniform_lengths((10, 300), (1, 200)))
        chunks = with_prefixes(plain, Prefix(shared_tokens=100, turns=turns), acceptance_key(1, 0))
        plan = make_plan(
            TIMES, prefix_cache=True, kv_blocks=500, max_model_len=2500, survival=(0.7, 0.5), step_by_step=step_by_step
        )
        return simulate(plan, chunks, 250)

    assert columns_equal(run(False).requests, run(True).requests)


def test_a_session_sends_its_next_turn_after_the_answer_and_a_thought_with_all_that_was_said():
    plain = poisson_chunks(0.01, fixed_lengths(50, 20))
    chunks = with_prefixes(plain, Prefix(shared_tokens=32, turns=3, think_time_s=0.2), acceptance_key(1, 0))

    records = simulate(make_plan(TIMES, prefix_cache=True), chunks, 3)

    requests = records.requests
    assert requests.prompt_tokens[:3].tolist() == [82, 152, 222]
    assert requests.cached_tokens[:3].tolist() == [0, 96, 160]
    assert (requests.arrival_s[1:3] > requests.finish_s[:2]).all()


def test_sessions_arrive_as_the_requests_of_the_stream():
    plain = poisson_chunks(12.0, fixed_lengths(50, 20))
    chunks = with_prefixes(plain, Prefix(turns=4), acceptance_key(1, 0))

    starts = np.concatenate([c.arrival_s[np.isfinite(c.arrival_s)] for c in (next(chunks) for _ in range(40))])
    gaps = np.diff(starts)

    assert gaps.mean() == pytest.approx(1 / 12.0, rel=0.03)
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.04)


def test_a_system_prompt_is_a_segment_of_every_prompt():
    plain = poisson_chunks(12.0, fixed_lengths(50, 20))
    chunk = next(with_prefixes(plain, Prefix(shared_tokens=40), acceptance_key(1, 0)))

    assert set(chunk.prompt_tokens.tolist()) == {90}
    assert all(ids.tolist() == [SYSTEM_PROMPT] for ids in chunk.block_ids)


def test_prefix_aware_routing_sends_a_session_back_to_where_its_kv_is():
    def hit_tokens(router):
        plain = poisson_chunks(0.8, fixed_lengths(300, 40))
        chunks = with_prefixes(plain, Prefix(turns=5, think_time_s=0.1), acceptance_key(1, 0))
        records = simulate(make_plan(TIMES, prefix_cache=True, replicas=4, router=router), chunks, 400)
        return records.requests.cached_tokens.sum()

    assert hit_tokens("prefix_aware") > 2 * hit_tokens("round_robin")


def test_evicting_frees_at_least_what_is_asked_for_and_forgets_the_segment():
    cache, pool = PrefixCache(), BlockPool(10)
    pool.cache = cache
    pool.hold(8)
    for segment in (1, 2):
        cache.add(segment, 4)
    pool.free(cache.leave([1, 2]))

    pool.hold(5)

    assert pool.used == 5
    assert cache.idle_blocks == 4
    assert cache.match([1]) == 1
    assert cache.match([2]) == 0
