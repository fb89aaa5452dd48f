"""The replay of a benchmark: each detail of client and scheduler moves the result as it should."""

from dataclasses import replace

import pytest

from calibration.benchmark import replay
from calibration.protocol import Protocol
from simulator.errors import ScenarioError

BASE = Protocol(
    prompt_tokens=1024,
    output_tokens=256,
    requests=80,
    concurrency=8,
    max_num_seqs=8,
    token_budget=8192,
    kv_tokens=10**9,
    chunked=True,
    reserve_output=False,
)


class Times:
    """10 ms a decode step, 1 µs a context token and 20 µs a prompt token."""

    def seconds(self, shape):
        return 0.01 + 1e-6 * shape.context_tokens + 20e-6 * shape.prefill_tokens

    def decode_affine(self, sequences):
        return 0.01, 1e-6


def run(protocol):
    return replay(protocol, Times())


def test_one_request_alone_takes_its_prompt_and_its_steps():
    found = run(replace(BASE, requests=1, concurrency=1, shortest=1.0, overlap_steps=0))
    tpot_s = 0.01 + 1e-6 * (1024 + 1 + (255 - 1) / 2)

    assert found.ttft_s == pytest.approx(0.01 + 20e-6 * 1024)
    assert found.tpot_s == pytest.approx(tpot_s, rel=1e-3)
    assert found.output_tokens_per_s == pytest.approx(256 / (found.ttft_s + 255 * tpot_s), rel=1e-3)


def test_the_same_seed_gives_the_same_figures():
    assert run(BASE) == run(BASE)
    assert run(BASE) != run(replace(BASE, seed=1))


def test_throughput_is_what_the_clients_allow():
    found = run(BASE)

    assert found.mean_batch <= 8.0
    assert found.output_tokens_per_s == pytest.approx(8 / (found.tpot_s + found.ttft_s / 230), rel=0.1)


def test_fixed_lengths_run_in_lockstep_and_wait_longer():
    assert run(replace(BASE, shortest=1.0)).ttft_s > 1.5 * run(BASE).ttft_s


def test_the_opening_burst_raises_the_mean():
    assert run(replace(BASE, skip_burst=True)).ttft_s < 0.9 * run(BASE).ttft_s


def test_a_late_hand_over_adds_a_step_to_the_first_token_only():
    late, soon = run(BASE), run(replace(BASE, overlap_steps=0))

    assert 0.005 < late.ttft_s - soon.ttft_s < 0.02
    assert late.tpot_s == pytest.approx(soon.tpot_s, rel=0.03)


def test_a_slow_host_adds_its_time_to_the_first_token():
    slow = run(replace(BASE, request_host_s=0.02))

    assert slow.ttft_s == pytest.approx(run(BASE).ttft_s + 0.025, abs=0.015)


def test_waiting_for_company_raises_the_first_token():
    whole = replace(BASE, chunked=False, reserve_output=True, token_budget=16384)
    waits = replace(whole, wait_iterations=20, wait_tokens=14000)

    assert run(waits).ttft_s > 1.5 * run(whole).ttft_s


def test_a_kv_limit_queues_requests_that_reserve_their_output():
    whole = replace(BASE, chunked=False, reserve_output=True, token_budget=16384)
    tight = replace(whole, kv_tokens=4 * 1280)

    assert run(tight).ttft_s > 5 * run(whole).ttft_s
    assert run(tight).mean_batch < 5.0


def test_without_reservation_a_full_cache_preempts_and_still_ends():
    found = run(replace(BASE, kv_tokens=5 * 1280))

    assert found.mean_batch < 7.0
    assert found.ttft_s > run(BASE).ttft_s


def test_prompts_that_may_not_be_split_wait_for_room():
    split = run(replace(BASE, token_budget=1100))
    whole = run(replace(BASE, token_budget=1100, chunked=False))

    assert split.ttft_s != pytest.approx(whole.ttft_s, rel=1e-3)


def test_prompts_first_leave_decoding_out_of_their_steps():
    assert run(replace(BASE, prefill_first=True)).tpot_s > run(BASE).tpot_s


def test_a_queue_at_the_start_is_served_to_its_end():
    found = run(replace(BASE, concurrency=None, requests=64, max_num_seqs=32))

    assert 16.0 < found.mean_batch <= 32.0
    assert found.output_tokens_per_s > 500


def test_a_prompt_that_never_fits_is_refused():
    with pytest.raises(ScenarioError, match="never fit a step of 512"):
        run(replace(BASE, token_budget=512, chunked=False))
