import numpy as np
import pytest

from simulator.outcome.latency import summaries
from simulator.outcome.slo import attainment, good_requests, limit_ratios, verdict
from simulator.outcome.window import measured_window
from simulator.spec.workload import Slo
from tests.simulator.outcome import toys


def three_requests(first: list[float], finish: list[float]):
    arrival = np.zeros(3)
    return toys.requests(arrival, arrival, np.array(first), np.array(finish))


def test_a_request_is_good_within_the_highest_percentile_stated():
    slo = Slo(ttft_s={"p50": 1.0, "p95": 2.0})

    good = good_requests(three_requests([0.5, 1.5, 2.5], [3, 3, 3]), slo)

    assert good.tolist() == [True, True, False]


def test_every_metric_must_be_met_to_be_good():
    slo = Slo(ttft_s={"p95": 2.0}, e2e_s={"p50": 3.0})

    good = good_requests(three_requests([0.5, 0.5, 2.5], [2, 4, 3]), slo)

    assert good.tolist() == [True, False, False]


def test_a_request_that_never_finished_is_not_good():
    slo = Slo(ttft_s={"p95": 2.0})

    good = good_requests(three_requests([0.5, np.nan, 0.5], [2, np.nan, np.nan]), slo)

    assert good.tolist() == [True, False, False]


def test_a_latency_that_a_request_does_not_have_cannot_be_missed():
    columns = toys.requests(*(np.zeros(1),) * 4, output_tokens=np.ones(1, np.int64), steps=np.zeros(1, np.int64))

    assert good_requests(columns, Slo(tpot_s={"p95": 1e-9}, itl_s={"p95": 1e-9})).all()


def test_a_request_s_own_itl_is_its_mean_gap():
    columns = toys.requests(np.zeros(1), np.zeros(1), np.ones(1), np.array([4.0]), steps=np.array([3]))

    assert good_requests(columns, Slo(itl_s={"p50": 1.01})).all()
    assert not good_requests(columns, Slo(itl_s={"p50": 0.99})).any()


def test_pressure_is_the_percentile_nearest_to_its_limit():
    records = toys.toy_cluster(5.0)
    slo = Slo(ttft_s={"p95": 10.0}, tpot_s={"p95": 0.02})

    found = verdict(records, slo, open_loop=True)

    assert (found.worst, found.pressure) == ("tpot_s.p95", pytest.approx(0.5))
    assert found.holds


def test_one_missed_percentile_is_enough_to_fail():
    records = toys.toy_cluster(5.0)

    assert not verdict(records, Slo(tpot_s={"p50": 0.009}, ttft_s={"p95": 100.0}), open_loop=True).holds


def test_a_saturated_run_does_not_hold_even_if_its_latencies_do():
    records = toys.toy_cluster(15.0, requests_=1500)

    found = verdict(records, Slo(ttft_s={"p95": 1e6}), open_loop=True)

    assert (found.holds, found.saturated) == (False, True)
    assert found.pressure > 1


def test_without_an_slo_a_run_holds_until_it_saturates():
    assert verdict(toys.toy_cluster(7.0, requests_=1500), None, open_loop=True).holds
    assert not verdict(toys.toy_cluster(15.0, requests_=1500), None, open_loop=True).holds


def test_nothing_served_holds_nothing():
    records = toys.toy_cluster(5.0)
    records.requests.finish_s[:] = np.nan

    assert not verdict(records, None, open_loop=True).holds


def test_attainment_counts_rejected_requests_as_bad():
    records = toys.toy_cluster(0.1, requests_=40, warmup=0)
    records.requests.finish_s[:10] = np.nan

    assert attainment(records, Slo(e2e_s={"p99": 1.0})) == pytest.approx(0.75)


def test_ratios_name_metric_and_percentile():
    records = toys.toy_cluster(5.0)
    found = summaries(records, measured_window(records))

    ratios = limit_ratios(found, Slo(itl_s={"p99": 0.1}))

    assert ratios == {"itl_s.p99": pytest.approx(0.1)}
