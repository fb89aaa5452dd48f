from math import sqrt
from statistics import fmean, stdev

import numpy as np
import pytest

from simulator.outcome.aggregate import aggregate_rows
from simulator.outcome.interval import t_quantile
from simulator.outcome.precision import replications_needed, too_few_samples
from simulator.outcome.window import measured_window
from tests.simulator.outcome import toys
from tests.simulator.outcome.test_report import row


def few(requests):
    records = toys.toy_cluster(5.0, requests, 0)
    return too_few_samples(records, measured_window(records))


def test_a_p99_wants_a_thousand_samples_and_a_p95_two_hundred():
    assert "ttft_s.p99" in few(999)
    assert "ttft_s.p99" not in few(1000)
    assert "ttft_s.p95" in few(199)
    assert "ttft_s.p95" not in few(200)


def test_gaps_between_tokens_are_more_than_requests():
    names = few(500)

    assert "e2e_s.p99" in names
    assert "itl_s.p99" not in names


def test_a_latency_that_no_request_has_is_not_marked():
    records = toys.toy_cluster(5.0, 30, 0)
    records.requests.output_tokens[:] = 1

    assert not any(name.startswith("tpot_s") for name in too_few_samples(records, measured_window(records)))


@pytest.mark.parametrize("seed", range(6))
def test_the_suggestion_is_the_smallest_number_that_is_enough(seed):
    values = np.random.default_rng(seed).normal(100, 15, 5).tolist()

    found = replications_needed(values)

    def half(number):
        return t_quantile(0.95, number - 1) * stdev(values) / sqrt(number) / fmean(values)

    assert half(found) <= 0.05
    assert found == 2 or half(found - 1) > 0.05


def test_more_precision_takes_more_replications():
    values = [9.0, 10.0, 12.0]

    assert replications_needed(values, 0.01) > replications_needed(values, 0.05) > replications_needed(values, 0.5)


@pytest.mark.parametrize("values", [[], [1.0], [-1.0, 1.0]])
def test_without_spread_or_mean_nothing_is_suggested(values):
    assert replications_needed(values) is None


def test_rows_over_replications_suggest_for_capacity_and_ttft():
    merged = aggregate_rows([row(seed) | {"capacity_req_per_s": 8.0 + seed / 10} for seed in range(4)])

    assert set(merged["replications_for_5_percent"]) == {"capacity_req_per_s", "ttft_s.p95"}
    assert aggregate_rows([row(1)])["replications_for_5_percent"] is None


def test_latencies_of_a_saturated_row_have_no_interval_and_no_suggestion():
    merged = aggregate_rows([row(seed, rate=14.0) for seed in range(3)])

    assert merged["saturated"]
    assert merged["ttft_s"]["p95"] > 1
    assert not any(name.startswith(("ttft_s", "tpot_s", "itl_s", "e2e_s", "queue")) for name in merged["interval"])
    assert "req_per_s" in merged["interval"]
    assert "ttft_s.p95" not in merged["replications_for_5_percent"]


def test_warm_up_and_samples_follow_the_majority():
    found = zip((0, 100, 2000), (["a", "b"], ["a"], ["b"]), strict=True)
    rows = [row(1) | {"warmup_found_requests": cut, "too_few_samples": names} for cut, names in found]

    merged = aggregate_rows(rows)

    assert merged["warmup_found_requests"] == 100
    assert sorted(merged["too_few_samples"]) == ["a", "b"]
    assert "warmup_found_requests" not in merged["interval"]
