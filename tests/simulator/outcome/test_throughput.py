import numpy as np
import pytest

from simulator.cluster.records import ClusterRecords
from simulator.outcome.occupancy import blocked_shares, kv_utilisation, mean_batch, mean_queue, speculation_means
from simulator.outcome.throughput import good_shares, throughput
from simulator.outcome.window import Window, measured_window, steps_ending_within
from tests.simulator.outcome import toys


def evenly(spacing_s: float, count: int = 200, warmup: int = 50) -> ClusterRecords:
    return toys.served_alone(np.arange(1, count + 1) * spacing_s, warmup, 1, toys.STEP_S)


def test_a_steady_stream_comes_out_as_fast_as_it_goes_in():
    records = evenly(0.5)

    found = throughput(records, measured_window(records))

    assert found.req_per_s == pytest.approx(2.0)
    assert found.output_tokens_per_s == pytest.approx(20.0)
    assert found.input_tokens_per_s == pytest.approx(200.0)
    assert found.total_tokens_per_s == pytest.approx(220.0)


def test_an_overloaded_server_puts_out_what_it_can():
    records = evenly(0.05, count=1000)

    assert throughput(records, measured_window(records)).req_per_s == pytest.approx(10.0, rel=0.01)


def test_the_window_runs_from_the_first_to_the_last_measured_arrival():
    assert measured_window(evenly(0.5)) == Window(25.5, 100.0)


def test_a_batch_queued_at_once_is_measured_over_its_makespan():
    records = toys.served_alone(np.zeros(30), 0, 1, toys.STEP_S)
    window = measured_window(records)

    assert window == Window(0.0, pytest.approx(3.0))
    assert throughput(records, window).completions == 30
    assert throughput(records, window).output_tokens_per_s == pytest.approx(100.0)


def test_a_single_request_is_measured_until_it_ends():
    records = toys.served_alone(np.ones(1), 0, 1, toys.STEP_S)

    assert throughput(records, measured_window(records)).req_per_s == pytest.approx(10.0)


def test_no_window_gives_no_rate_and_no_division_by_zero():
    records = evenly(0.5)

    found = throughput(records, Window(1.0, 1.0))

    assert (found.req_per_s, found.total_tokens_per_s) == (None, None)
    assert mean_queue(records, Window(1.0, 1.0)) is None
    assert kv_utilisation(records, Window(1.0, 1.0)) == (None, None)


def test_steps_count_where_they_end():
    run = toys.steps(np.array([0.0]), np.array([1.0]), np.array([10]))

    assert steps_ending_within(run, Window(0.25, 0.5)).tolist() == [3]


def test_the_parts_of_a_window_add_up_to_the_whole():
    records = toys.toy_cluster(8.0)
    whole = throughput(records, Window(5.0, 35.0))
    parts = [throughput(records, Window(a, a + 10.0)) for a in (5.0, 15.0, 25.0)]

    assert sum(p.completions for p in parts) == whole.completions
    assert sum(p.output_tokens_per_s or 0 for p in parts) == pytest.approx(3 * (whole.output_tokens_per_s or 0))


def test_requests_in_the_system_are_rate_times_time_in_it():
    records = toys.toy_cluster(8.0, requests_=4000, warmup=200)
    requests, window = records.requests, measured_window(records)
    in_system = mean_queue(records, window) + 8.0 * 0.1

    sojourn = (requests.finish_s - requests.arrival_s)[records.measured].mean()

    assert in_system == pytest.approx(throughput(records, window).req_per_s * sojourn, rel=0.02)


def test_shares_of_good_requests_are_one_when_all_are_good():
    records = evenly(0.5)
    window = measured_window(records)

    assert good_shares(records, window, np.ones(200, bool)) == (1.0, 1.0)
    assert good_shares(records, Window(0.0, 0.1), np.ones(200, bool)) is None


def test_a_server_that_decodes_alone_has_a_batch_of_one():
    records = evenly(0.5)

    assert mean_batch(records, measured_window(records)) == pytest.approx(1.0)


def test_an_idle_replica_holds_no_kv():
    records = evenly(1.0)

    mean, peak = kv_utilisation(records, measured_window(records))

    assert mean == pytest.approx(0.1 * 0.1, rel=0.01)
    assert peak == pytest.approx(0.1)


def test_blocked_time_is_a_share_of_all_time():
    records = evenly(1.0)
    records.steps.blocked_by[:] = 2

    shares = blocked_shares(records, measured_window(records))

    assert shares == {
        "kv_blocks": 0.0,
        "max_num_seqs": pytest.approx(0.1, rel=0.01),
        "token_budget": 0.0,
        "batch_wait": 0.0,
    }


def test_plain_decoding_commits_one_token_a_step_and_has_no_acceptance():
    found = speculation_means(evenly(1.0))

    assert found == {"tokens_per_step": 1.0, "acceptance_rate": None, "draft_tokens_mean": 0.0}


def test_acceptance_is_accepted_by_drafted_and_tokens_per_step_hold_the_bonus():
    records = evenly(1.0)
    for name, value in (("steps", 3), ("drafted_tokens", 12), ("accepted_tokens", 6), ("committed_tokens", 9)):
        getattr(records.requests, name)[:] = value

    found = speculation_means(records)

    assert found == {"tokens_per_step": 3.0, "acceptance_rate": 0.5, "draft_tokens_mean": 4.0}
