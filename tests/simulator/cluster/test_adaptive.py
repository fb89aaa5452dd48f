"""Draft tokens that a policy chooses while requests run: the same luck, the same blocks, and a draft that catches up."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.cluster.adaptive import AdaptiveDecoding
from simulator.cluster.draft_policy import CHOOSERS
from simulator.cluster.records import columns_equal
from simulator.cluster.running import BLOCKS, MISSED, SLOTS, computed_again, fresh
from simulator.cluster.streams import request_bits, round_uniforms
from simulator.cluster.traffic import RequestChunk
from simulator.spec.draft_policy import ByBatch, Goodput, PerRequest
from tests.simulator.cluster.toys import (
    LinearTimes,
    UnevenLinearTimes,
    assert_conserved,
    fixed_lengths,
    make_plan,
    poisson_chunks,
    simulate,
    uniform_lengths,
)

SURVIVAL = (0.8, 0.6, 0.5)
ONE_BAND = ByBatch(kind="by_batch", schedule=((1, 10**6, 3),))
POLICIES = {
    "one band": ONE_BAND,
    "by_batch": ByBatch(kind="by_batch", schedule=((1, 3, 3), (4, 8, 1), (9, 10**6, 0))),
    "per_request": PerRequest(kind="per_request", candidates=(0, 1, 3)),
    "goodput": Goodput(kind="goodput"),
}
LOADS = {
    "idle": {"rate": 0.5, "kv_blocks": 4000},
    "busy": {"rate": 12.0, "kv_blocks": 4000},
    "short of blocks": {"rate": 12.0, "kv_blocks": 260},
    "swapping": {"rate": 12.0, "kv_blocks": 260, "swap_block_s": 1e-5},
    "nothing evicted": {"rate": 12.0, "kv_blocks": 600, "reserve_output_tokens": 400},
    "prompts first": {"rate": 12.0, "kv_blocks": 4000, "prefill_first": True},
    "late tokens": {"rate": 12.0, "kv_blocks": 4000, "overlap_steps": 1},
}
TIMES = LinearTimes(0.01, prompt_token_s=2e-5, sequence_s=1e-4, context_token_s=1e-7)
UNEVEN = UnevenLinearTimes(0.01, prompt_token_s=2e-5, sequence_s=1e-4, context_token_s=1e-7, draft_token_s=5e-4)


def adaptive(plan, policy, times=UNEVEN):
    """The plan with a policy that chooses draft tokens."""
    planner = dataclasses.replace(plan.planner, drawn=False)
    choose = CHOOSERS[policy.kind](policy, times)
    return dataclasses.replace(
        plan,
        times=times,
        planner=planner,
        decoding=lambda book, _, limits: AdaptiveDecoding(book, times, limits, planner, choose),
    )


def run(rate, policy=None, times=UNEVEN, survival=SURVIVAL, requests=300, check=None, seed=0, **limits):
    plan = make_plan(TIMES, replicas=2, survival=survival, **limits)
    chunks = poisson_chunks(rate, uniform_lengths((10, 1000), (1, 400)), seed)
    plan = plan if policy is None else adaptive(plan, policy, times)
    return simulate(plan, chunks, requests, warmup_requests=20, check=check)


def measured(records):
    """Columns of the measured requests."""
    names = records.requests.__dataclass_fields__
    return {name: getattr(records.requests, name)[records.measured] for name in names}


@pytest.mark.parametrize("load", LOADS)
def test_a_schedule_of_one_band_is_fixed_k_bit_for_bit(load):
    flat = UnevenLinearTimes(0.01, prompt_token_s=2e-5, sequence_s=1e-4, context_token_s=1e-7)

    fixed, banded = run(**LOADS[load]), run(**LOADS[load], policy=ONE_BAND, times=flat)

    for name, values in measured(fixed).items():
        assert np.array_equal(values, measured(banded)[name], equal_nan=values.dtype.kind == "f"), name


@pytest.mark.parametrize("policy", [name for name in POLICIES if name != "goodput"])
@pytest.mark.parametrize("load", ["idle", "busy", "short of blocks", "swapping"])
def test_windows_of_steps_leave_the_same_records_as_steps_one_by_one(policy, load):
    together = run(**LOADS[load], policy=POLICIES[policy], requests=150)
    one_by_one = run(**LOADS[load], policy=POLICIES[policy], requests=150, step_by_step=True)

    assert columns_equal(together.requests, one_by_one.requests)


@pytest.mark.parametrize("kind", [kind for kind in POLICIES if kind != "one band"])
@settings(max_examples=25, deadline=None)
@given(
    rate=st.floats(0.2, 30.0),
    kv_blocks=st.integers(90, 2000),
    max_num_seqs=st.integers(1, 40),
    budget=st.integers(8, 2000),
    requests=st.integers(25, 80),
    swaps=st.booleans(),
)
def test_requests_tokens_and_blocks_are_conserved(kind, rate, kv_blocks, max_num_seqs, budget, requests, swaps):
    limits = {"kv_blocks": kv_blocks, "max_num_seqs": max_num_seqs, "max_num_batched_tokens": budget,
              "max_model_len": 1400, "swap_block_s": 1e-5 if swaps else None}  # fmt: skip

    records = run(rate, POLICIES[kind], requests=requests, check=assert_conserved, **limits)

    done, here = records.requests, records.measured
    served = np.isfinite(done.finish_s[here]) & ~done.rejected[here]
    steps, drafted = done.steps[here][served], done.drafted_tokens[here][served]
    accepted, committed = done.accepted_tokens[here][served], done.committed_tokens[here][served]
    plain = (done.output_tokens[here] - 1 - (0 if swaps else done.preemptions[here]))[served]
    assert (drafted <= 3 * steps).all()
    assert (accepted <= drafted).all()
    assert (committed >= plain).all()
    assert (committed <= plain + 3).all()
    assert (records.steps.draft_tokens <= 3 * records.steps.sequences).all()
    assert (records.steps.kv_blocks <= kv_blocks + 1e-9).all()


def test_the_luck_of_a_round_is_the_requests_whatever_k_is():
    plan = adaptive(make_plan(TIMES, survival=SURVIVAL), ByBatch(kind="by_batch", schedule=((1, 9, 1),)))

    records = simulate(plan, poisson_chunks(0.001, fixed_lengths(100, 50)), 1)

    uniforms = round_uniforms(request_bits(plan.planner.key, np.array([0])), np.arange(1, 50))
    committed = np.cumsum(1 + (uniforms < SURVIVAL[0]))
    assert records.requests.steps[0] == np.argmax(committed >= 49) + 1
    assert records.requests.committed_tokens[0] == committed[np.argmax(committed >= 49)]
    assert records.requests.drafted_tokens[0] == records.requests.steps[0]


def test_draft_tokens_follow_the_batch():
    records = run(**LOADS["busy"], policy=POLICIES["by_batch"])

    steps = records.steps
    k = steps.draft_tokens / np.maximum(steps.sequences, 1)
    assert set(k[(steps.sequences > 0) & (steps.sequences <= 3)]) == {3.0}
    assert set(k[(steps.sequences > 3) & (steps.sequences <= 8)]) == {1.0}
    assert set(k[steps.sequences > 8]) == {0.0}


def test_a_draft_that_did_not_run_reads_what_it_missed_before_it_runs_again():
    """Two requests are drafted for only when one is alone: until the shorter ends, each step commits one token."""
    policy = ByBatch(kind="by_batch", schedule=((1, 1, 2), (2, 9, 0)))
    chunk = RequestChunk(np.zeros(2), np.full(2, 10), np.array([100, 21]), np.zeros(2, np.int64))
    ends = []

    for read_s in (0.0, 0.001):
        times = UnevenLinearTimes(0.01, read_token_s=read_s)
        plan = adaptive(make_plan(TIMES, survival=(0.0, 0.0)), policy, times)
        ends.append(simulate(plan, iter([chunk]), 2, endless=False).requests.finish_s[0])

    assert ends[1] - ends[0] == pytest.approx(20 * 0.001)


def test_a_prompt_that_is_computed_again_is_read_by_its_draft_too():
    behind = fresh(request=0, row=0, output_tokens=9, prompt_tokens=16, blocks=1)
    behind.columns[MISSED] = 5

    again = computed_again(behind, prompt_tokens=22, blocks=2)

    assert (again.columns[SLOTS], again.columns[BLOCKS], again.columns[MISSED]) == (22, 2, 0)


def test_a_preempted_request_goes_on_with_its_rounds_and_the_mean_of_what_was_accepted():
    calm = run(12.0, POLICIES["per_request"], kv_blocks=4000)
    tight = run(12.0, POLICIES["per_request"], kv_blocks=260, swap_block_s=1e-9)

    assert tight.requests.preemptions.sum() > 0
    assert np.isfinite(tight.requests.finish_s[tight.measured]).all()
    assert tight.requests.drafted_tokens.sum() / tight.requests.steps.sum() == pytest.approx(
        calm.requests.drafted_tokens.sum() / calm.requests.steps.sum(), rel=0.05
    )
