"""Schedulers, routers, admission and preemption: each does what its name says, and none knows an output length."""

from dataclasses import replace

import numpy as np
import pytest

from simulator.cluster.lengths import LENGTHS, LONGEST_OUTPUT
from simulator.cluster.plan import asked_output
from simulator.cluster.records import columns_equal
from simulator.cluster.routing import ROUTERS
from simulator.cluster.traffic import RequestChunk
from simulator.cluster.waiting import SCHEDULERS
from simulator.outcome.latency import token_gaps
from simulator.outcome.window import Window
from simulator.planning.steady_state import SPACING
from simulator.spec.deployment import Engine, Router
from simulator.spec.workload import Workload
from tests.simulator.cluster.toys import (
    LinearTimes,
    assert_conserved,
    fixed_lengths,
    make_plan,
    poisson_chunks,
    simulate,
    uniform_lengths,
)

TIMES = LinearTimes(0.01, prompt_token_s=2e-5, sequence_s=1e-4, context_token_s=1e-7)


def queue_of(prompts, priorities=None, outputs=None):
    count = len(prompts)
    return RequestChunk(
        np.zeros(count), np.array(prompts), np.array(outputs or [3] * count), np.zeros(count, np.int64),
        priority=None if priorities is None else np.array(priorities),
    )  # fmt: skip


def order_served(scheduler, **chunk):
    plan = make_plan(TIMES, max_num_seqs=1, scheduler=scheduler)
    records = simulate(plan, iter([queue_of(**chunk)]), len(chunk["prompts"]), endless=False, queued_at_once=True)
    return np.argsort(records.requests.scheduled_s).tolist()


def test_first_come_first_served():
    assert order_served("fcfs", prompts=[300, 100, 200]) == [0, 1, 2]


def test_the_shortest_prompt_is_served_first():
    assert order_served("shortest_prompt", prompts=[300, 100, 200]) == [1, 2, 0]


def test_the_lowest_priority_number_is_served_first_and_equals_in_order():
    assert order_served("priority", prompts=[10, 10, 10, 10], priorities=[2, 1, 2, 0]) == [3, 1, 0, 2]


def test_the_choices_of_the_scenario_are_the_functions_of_the_simulation():
    assert set(Engine.model_fields["scheduler"].annotation.__args__) == set(SCHEDULERS)
    assert set(Router.model_fields["kind"].annotation.__args__) == set(ROUTERS)


def test_the_estimate_knows_every_router():
    assert set(SPACING) == set(ROUTERS)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("router", ROUTERS)
def test_no_policy_knows_an_output_length(scheduler, router):
    """Two workloads alike but for their outputs: until a request ends, every decision is the same."""

    def decisions(outputs):
        count = 40
        chunk = RequestChunk(
            np.linspace(0, 0.4, count), np.arange(count) * 7 % 90 + 10, np.full(count, outputs), np.zeros(count, np.int64),
            priority=np.arange(count) % 3,
        )  # fmt: skip
        plan = make_plan(TIMES, replicas=3, scheduler=scheduler, router=router, max_num_batched_tokens=128)
        requests = simulate(plan, iter([chunk]), count, endless=False).requests
        return requests.replica.tolist(), requests.scheduled_s.tolist()

    assert decisions(outputs=400) == decisions(outputs=4000)


def test_power_of_two_choices_balances_better_than_chance_and_is_repeatable():
    def loads():
        plan = make_plan(TIMES, replicas=8, router="power_of_two_choices")
        records = simulate(plan, poisson_chunks(30.0, uniform_lengths((10, 400), (50, 60))), 2000)
        return np.bincount(records.requests.replica, minlength=8)

    first = loads()

    assert first.std() < np.sqrt(2000 / 8)
    assert (first == loads()).all()


def crowded(**choices):
    plan = make_plan(TIMES, kv_blocks=260, max_model_len=1400, **choices)
    chunks = poisson_chunks(12.0, uniform_lengths((10, 600), (1, 400)))
    return simulate(plan, chunks, 250, check=assert_conserved, max_output_tokens=400)


def test_reserving_the_longest_output_never_evicts():
    reserved, on_demand = crowded(reserve_output_tokens=400), crowded()

    assert reserved.requests.preemptions.sum() == 0
    assert on_demand.requests.preemptions.sum() > 0
    assert reserved.steps.sequences.max() < on_demand.steps.sequences.max()


@pytest.mark.parametrize("choices", [{"swap_block_s": 1e-4}, {"reserve_output_tokens": 400}, {"scheduler": "shortest_prompt"},
                                     {"batch_wait_steps": 8, "batch_wait_tokens": 900.0}, {"overlap_steps": 1}, {"prefill_first": True}], ids=str)  # fmt: skip
@pytest.mark.parametrize("survival", [(), (0.8, 0.6)], ids=["plain", "K=2"])
def test_runs_of_steps_leave_the_same_records_whatever_the_policy(choices, survival):
    together, one_by_one = (crowded(survival=survival, step_by_step=flag, **choices) for flag in (False, True))

    assert columns_equal(together.requests, one_by_one.requests)


def test_swapping_keeps_the_path_and_costs_the_moves():
    swapped, cheap, computed = crowded(swap_block_s=1e-3), crowded(swap_block_s=1e-9), crowded()

    assert swapped.requests.preemptions.sum() > 0
    assert (swapped.requests.steps[:200] == swapped.requests.output_tokens[:200] - 1).all()
    assert np.nanmean(cheap.requests.finish_s[:200]) < np.nanmean(swapped.requests.finish_s[:200])
    assert cheap.steps.prefill_tokens.sum() < computed.steps.prefill_tokens.sum()


def test_prompts_wait_for_company_but_not_for_ever():
    chunk = RequestChunk(np.array([0.0, 0.5]), np.array([20, 20]), np.array([500, 5]), np.zeros(2, np.int64))

    def wait_of_the_second(**choices):
        requests = simulate(make_plan(LinearTimes(0.01), **choices), iter([chunk]), 2, endless=False).requests
        return requests.scheduled_s[1] - requests.arrival_s[1]

    assert wait_of_the_second() == pytest.approx(0.0, abs=0.011)
    assert wait_of_the_second(batch_wait_steps=20, batch_wait_tokens=7000.0) == pytest.approx(0.2, abs=0.011)
    assert wait_of_the_second(batch_wait_steps=20, batch_wait_tokens=15.0) == pytest.approx(0.0, abs=0.011)


def test_outputs_are_cut_at_what_requests_ask_for():
    records = simulate(make_plan(TIMES), poisson_chunks(1.0, fixed_lengths(20, 90)), 5, max_output_tokens=30)

    assert set(records.requests.output_tokens.tolist()) == {30}
    assert records.requests.truncated.all()


def test_with_overlap_a_token_reaches_the_client_one_step_later_or_when_the_replica_runs_dry():
    chunk = RequestChunk(np.array([0.0, 0.0]), np.array([20, 20]), np.array([2, 4]), np.zeros(2, np.int64))

    def times(**choices):
        requests = simulate(make_plan(LinearTimes(0.25), **choices), iter([chunk]), 2, endless=False).requests
        return requests.first_token_s.tolist(), requests.finish_s.tolist()

    assert times() == ([0.25, 0.25], [0.5, 1.0])
    assert times(overlap_steps=1) == ([0.5, 0.5], [0.75, 1.0])


def test_a_request_reaches_the_scheduler_after_the_host_has_handled_it():
    chunk = RequestChunk(np.array([0.0, 1.0]), np.array([20, 20]), np.array([2, 2]), np.zeros(2, np.int64))
    plan = replace(make_plan(LinearTimes(0.25)), request_host_s=0.125)

    requests = simulate(plan, iter([chunk]), 2, endless=False).requests

    assert requests.arrival_s.tolist() == [0.0, 1.0]
    assert requests.scheduled_s.tolist() == [0.125, 1.125]


def test_a_client_of_a_closed_loop_hears_of_the_end_when_the_token_reaches_it():
    chunk = RequestChunk(np.full(4, np.nan), np.full(4, 20), np.array([2, 9, 2, 2]), np.zeros(4, np.int64))
    plan = replace(make_plan(LinearTimes(0.25), overlap_steps=1), request_host_s=0.1)

    requests = simulate(plan, iter([chunk]), 3, endless=False, concurrency=2).requests

    assert requests.arrival_s[2] == 0.85
    assert requests.scheduled_s[2] == 1.1


def test_prompts_first_leaves_decoding_out_of_steps_with_prompts_and_its_gaps_show_it():
    chunk = RequestChunk(np.array([0.0, 0.3]), np.array([20, 20]), np.array([6, 2]), np.zeros(2, np.int64))

    records = simulate(make_plan(LinearTimes(0.25), prefill_first=True), iter([chunk]), 2, endless=False)

    assert records.steps.sequences.tolist() == [0, 1, 0, 2, 1]
    assert records.steps.stalled_s.tolist() == [0.0, 0.0, 0.0, 0.25, 0.0]
    assert token_gaps(records, Window(0.0, 9.0))[0].max() == 0.5
    assert records.requests.first_token_s.tolist() == [0.25, 0.75]


def test_an_engine_that_reserves_takes_the_longest_output_of_the_workload_where_requests_ask_for_none():
    lengths = {"kind": "uniform", "prompt_tokens": [10, 20], "output_tokens": [5, 321]}
    workload = Workload.model_validate(
        {"arrivals": {"kind": "queued_at_once"}, "lengths": lengths, "horizon": {"requests": 5}}
    )

    assert asked_output(workload) == 321
    assert asked_output(workload.model_copy(update={"max_output_tokens": 64})) == 64
    assert set(LONGEST_OUTPUT) == set(LENGTHS)
