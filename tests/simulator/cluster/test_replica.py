"""A replica's batching, memory and preemption, with step times that are known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.cluster.records import columns_equal
from simulator.cluster.traffic import RequestChunk
from tests.simulator.cluster.toys import (
    LinearTimes,
    assert_conserved,
    fixed_lengths,
    make_plan,
    poisson_chunks,
    simulate,
    uniform_lengths,
)

LOADS = {
    "idle": {"rate": 0.5, "kv_blocks": 4000},
    "busy": {"rate": 12.0, "kv_blocks": 4000},
    "short of blocks": {"rate": 12.0, "kv_blocks": 260},
    "few places": {"rate": 12.0, "kv_blocks": 4000, "max_num_seqs": 6},
    "small budget": {"rate": 6.0, "kv_blocks": 4000, "max_num_batched_tokens": 256},
    "whole prompts": {"rate": 6.0, "kv_blocks": 4000, "max_num_batched_tokens": 1200, "chunked_prefill": False},
    "short of blocks, whole prompts": {"rate": 12.0, "kv_blocks": 260, "chunked_prefill": False},
}
TIMES = LinearTimes(0.01, prompt_token_s=2e-5, sequence_s=1e-4, context_token_s=1e-7)


def run(rate, survival, step_by_step=False, requests=300, check=None, **limits):
    plan = make_plan(TIMES, replicas=2, survival=survival, step_by_step=step_by_step, **limits)
    chunks = poisson_chunks(rate, uniform_lengths((10, 1000), (1, 400)))
    return simulate(plan, chunks, requests, warmup_requests=20, check=check)


@pytest.mark.parametrize("survival", [(), (0.8, 0.6, 0.5)], ids=["plain", "K=3"])
@pytest.mark.parametrize("load", LOADS)
def test_a_run_of_steps_leaves_the_same_records_as_its_steps_one_by_one(load, survival):
    together = run(**LOADS[load], survival=survival)
    one_by_one = run(**LOADS[load], survival=survival, step_by_step=True)

    assert columns_equal(together.requests, one_by_one.requests)


def test_runs_are_what_makes_quiet_loads_cheap():
    quiet = run(**LOADS["idle"], survival=(0.8,))

    assert quiet.steps.num_steps.sum() > 10 * len(quiet.steps.num_steps)


@pytest.mark.parametrize("load", ["short of blocks", "short of blocks, whole prompts"])
def test_too_few_blocks_lead_to_preemption_and_all_requests_still_end(load):
    records = run(**LOADS[load], survival=(0.8, 0.6))
    measured = records.requests.finish_s[records.measured]

    assert records.requests.preemptions.sum() > 0
    assert np.isfinite(measured).all()


@settings(max_examples=60, deadline=None)
@given(
    rate=st.floats(0.2, 30.0),
    kv_blocks=st.integers(90, 2000),
    max_num_seqs=st.integers(1, 40),
    budget=st.integers(8, 2000),
    draft_tokens=st.integers(0, 5),
    chunked=st.booleans(),
    requests=st.integers(25, 120),
)
def test_requests_tokens_and_blocks_are_conserved(
    rate, kv_blocks, max_num_seqs, budget, draft_tokens, chunked, requests
):
    survival = tuple(0.8**i for i in range(1, draft_tokens + 1))
    limits = {"kv_blocks": kv_blocks, "max_num_seqs": max_num_seqs, "chunked_prefill": chunked,
              "max_num_batched_tokens": budget, "max_model_len": 1400}  # fmt: skip

    records = run(rate, survival, requests=requests, check=assert_conserved, **limits)

    done = records.requests
    ended = np.isfinite(done.finish_s)
    served = ended & ~done.rejected
    assert ended[records.measured].all() or done.rejected[records.measured].any()
    assert (done.arrival_s[served] <= done.scheduled_s[served]).all()
    assert (done.scheduled_s[served] < done.first_token_s[served]).all()
    assert (done.first_token_s[served] <= done.finish_s[served]).all()
    assert (done.committed_tokens[served] >= done.steps[served]).all()
    assert (done.accepted_tokens[served] <= done.drafted_tokens[served]).all()
    plain_tokens = done.output_tokens[served] - 1 - done.preemptions[served]
    assert (done.committed_tokens[served] >= plain_tokens).all()
    assert (done.committed_tokens[served] <= plain_tokens + draft_tokens).all()
    assert (records.steps.kv_blocks <= kv_blocks + 1e-9).all()
    assert (records.steps.sequences <= max_num_seqs).all()


def test_emitted_tokens_of_the_steps_are_the_output_tokens_of_the_requests():
    plan = make_plan(TIMES, survival=(0.7, 0.5), replicas=1)
    chunk = RequestChunk(np.zeros(50), np.full(50, 100), np.arange(1, 51), np.zeros(50, np.int64))

    records = simulate(plan, iter([chunk]), 50, endless=False, queued_at_once=True)

    assert records.steps.emitted_tokens.sum() == records.requests.output_tokens.sum()


def test_one_request_alone_takes_what_the_closed_form_says():
    plan = make_plan(LinearTimes(0.01, prompt_token_s=1e-4, sequence_s=1e-3, context_token_s=1e-6))

    records = simulate(plan, poisson_chunks(0.001, fixed_lengths(100, 50)), 1)

    first_token = records.requests.first_token_s[0] - records.requests.arrival_s[0]
    decode = records.requests.finish_s[0] - records.requests.first_token_s[0]
    contexts = 101 + np.arange(49)
    assert first_token == pytest.approx(0.01 + 100e-4, rel=1e-12)
    assert decode == pytest.approx((0.011 + 1e-6 * contexts).sum(), rel=1e-12)


def test_a_prompt_longer_than_the_budget_is_computed_in_chunks():
    plan = make_plan(LinearTimes(0.01), max_num_batched_tokens=64)

    records = simulate(plan, poisson_chunks(0.001, fixed_lengths(200, 1)), 1)

    assert records.steps.prefill_tokens.tolist() == [64, 64, 64, 8]
    assert records.steps.prefill_context_tokens.sum() == pytest.approx(200 * 201 / 2)


def test_verify_tokens_share_the_budget_with_prompts():
    plan = make_plan(LinearTimes(0.01), survival=(0.5, 0.5, 0.5), max_num_batched_tokens=64)
    chunk = RequestChunk(np.array([0.0, 0.005]), np.array([60, 100]), np.array([40, 1]), np.zeros(2, np.int64))

    records = simulate(plan, iter([chunk]), 2, endless=False)

    assert records.steps.prefill_tokens[:3].tolist() == [60, 60, 40]


def test_a_prompt_that_no_cache_could_hold_is_rejected_and_counted():
    plan = make_plan(LinearTimes(0.01), kv_blocks=10, max_model_len=8192)
    chunk = RequestChunk(np.zeros(2), np.array([500, 20]), np.array([5, 5]), np.zeros(2, np.int64))

    records = simulate(plan, iter([chunk]), 2, endless=False)

    assert records.requests.rejected.tolist() == [True, False]
    assert np.isnan(records.requests.finish_s[0])


def test_an_output_is_cut_at_the_longest_sequence():
    plan = make_plan(LinearTimes(0.01), max_model_len=128)
    chunk = RequestChunk(np.zeros(1), np.array([100]), np.array([500]), np.zeros(1, np.int64))

    records = simulate(plan, iter([chunk]), 1, endless=False)

    assert records.requests.output_tokens.tolist() == [28]
    assert records.requests.truncated.tolist() == [True]


def test_an_arrival_at_the_very_end_of_a_step_is_seen_by_the_next():
    plan = make_plan(LinearTimes(0.25))
    chunk = RequestChunk(np.array([0.0, 0.5]), np.array([10, 10]), np.array([9, 1]), np.zeros(2, np.int64))

    records = simulate(plan, iter([chunk]), 2, endless=False)

    assert records.requests.scheduled_s.tolist() == [0.0, 0.5]


def test_the_next_request_of_a_closed_loop_misses_the_step_that_starts_as_the_last_one_ends():
    plan = make_plan(LinearTimes(0.25))
    chunk = RequestChunk(np.full(6, np.nan), np.full(6, 10), np.array([2, 8, 2, 2, 2, 2]), np.zeros(6, np.int64))

    records = simulate(plan, iter([chunk]), 4, endless=False, concurrency=2)

    assert records.requests.arrival_s[2] == 0.5
    assert records.requests.scheduled_s[2] == 0.75


def test_a_closed_loop_keeps_its_requests_in_flight():
    plan = make_plan(TIMES, survival=(0.8, 0.6), replicas=2)
    chunks = poisson_chunks(1.0, uniform_lengths((10, 200), (5, 100)))

    records = simulate(plan, chunks, 200, warmup_requests=10, concurrency=12)

    starts, ends = records.requests.arrival_s, records.requests.finish_s
    middle = np.nanmedian(ends)
    in_flight = ((starts <= middle) & ~(ends <= middle)).sum()
    assert in_flight == 12


def test_round_robin_deals_evenly_and_least_outstanding_prefers_the_emptier():
    chunk = RequestChunk(np.zeros(3), np.array([500, 10, 10]), np.full(3, 50), np.zeros(3, np.int64))
    replicas = {
        router: simulate(make_plan(TIMES, replicas=2, router=router), iter([chunk]), 3, endless=False).requests.replica
        for router in ("round_robin", "least_outstanding_tokens")
    }

    assert replicas["round_robin"].tolist() == [0, 1, 0]
    assert replicas["least_outstanding_tokens"].tolist() == [0, 1, 1]
