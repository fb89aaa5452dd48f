import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.cluster.records import ClusterRecords
from simulator.outcome.latency import (
    quantiles,
    request_latencies,
    summaries,
    summarise,
    summarise_weighted,
    token_gaps,
)
from simulator.outcome.window import Window, measured_window
from tests.simulator.outcome import toys


def floats(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)


def whole(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def test_ttft_counts_from_the_arrival_and_so_holds_the_wait():
    columns = toys.requests(floats(1), floats(3), floats(3.5), floats(5))

    assert request_latencies(columns).ttft_s == pytest.approx([2.5])


def test_tpot_divides_by_the_tokens_after_the_first():
    columns = toys.requests(floats(0), floats(0), floats(1), floats(3), output_tokens=whole(5))

    assert request_latencies(columns).tpot_s == pytest.approx([0.5])


def test_one_token_outputs_have_no_tpot_and_do_not_pull_its_mean():
    columns = toys.requests(floats(0, 0), floats(0, 0), floats(1, 1), floats(1, 3), output_tokens=whole(1, 5))

    assert summarise(request_latencies(columns).tpot_s)["mean"] == pytest.approx(0.5)


def test_no_latency_at_all_is_none_not_nan():
    assert set(summarise(floats(np.nan)).values()) == {None}


def test_percentiles_of_requests_are_those_of_numpy():
    values = np.random.default_rng(3).exponential(size=1001)

    assert summarise(values)["p95"] == pytest.approx(np.percentile(values, 95))


def test_weighted_percentiles_equal_those_of_the_values_written_out():
    rng = np.random.default_rng(4)
    values, weights = rng.exponential(size=200), rng.integers(1, 9, size=200)
    written_out = np.repeat(values, weights)

    found = summarise_weighted(values, weights.astype(float))

    assert found["p90"] == np.quantile(written_out, 0.9, method="inverted_cdf")
    assert found["mean"] == pytest.approx(written_out.mean())


def records_of(steps_: object, arrivals: np.ndarray) -> ClusterRecords:
    columns = toys.requests(arrivals, arrivals, arrivals + 1, arrivals + 2)
    return ClusterRecords(columns, steps_, 100, 1, 0, slice(0, arrivals.size))  # type: ignore[arg-type]


def test_a_run_of_steps_gives_one_gap_per_step_and_decoding_sequence():
    run = toys.steps(floats(0), floats(1.0), whole(10), sequences=whole(3))

    gaps, weights = token_gaps(records_of(run, floats(0, 5)), Window(0.0, 5.0))

    assert (gaps, weights) == (pytest.approx([0.1]), pytest.approx([30]))


def test_gaps_outside_the_window_do_not_count():
    run = toys.steps(floats(0), floats(1.0), whole(10))

    _, weights = token_gaps(records_of(run, floats(0, 5)), Window(0.0, 0.55))

    assert weights == pytest.approx([5])


def test_a_step_without_decoding_sequences_is_no_gap():
    run = toys.steps(floats(0), floats(1.0), whole(1), sequences=whole(0))

    gaps, _ = token_gaps(records_of(run, floats(0, 5)), Window(0.0, 5.0))

    assert gaps.size == 0


def test_only_measured_requests_count():
    records = toys.toy_cluster(5.0, requests_=50, warmup=20)

    found = summaries(records, measured_window(records))

    assert found["e2e_s"]["mean"] == pytest.approx(request_latencies(records.requests).e2e_s[20:].mean())


@given(st.lists(st.floats(0.0, 1e6), min_size=1, max_size=50), st.lists(st.floats(0.0, 1.0), min_size=1, max_size=5))
def test_quantiles_are_those_of_numpy_to_the_last_bit(values, shares):
    found = quantiles(np.array(values), np.array(shares))

    assert found.tolist() == np.quantile(values, shares).tolist()


def test_a_lone_server_takes_ten_steps_for_ten_tokens():
    records = toys.toy_cluster(0.01, requests_=20, warmup=0)

    found = summaries(records, measured_window(records))

    assert found["tpot_s"]["p99"] == pytest.approx(toys.STEP_S)
    assert found["itl_s"]["p50"] == pytest.approx(toys.STEP_S)
    assert found["ttft_s"]["p50"] == pytest.approx(toys.STEP_S)


def test_waiting_in_an_m_d_1_queue_is_what_theory_says():
    load, service = 0.7, 10 * toys.STEP_S
    waits = []
    for seed in range(10):
        records = toys.toy_cluster(load / service, requests_=4000, warmup=500, seed=seed)
        waits.append((records.requests.scheduled_s - records.requests.arrival_s)[records.measured].mean())

    assert np.mean(waits) == pytest.approx(load * service / (2 * (1 - load)), rel=0.06)
