import json

import numpy as np
import pytest

from simulator.outcome.evidence import BINS, LEVELS, run_evidence, span_means, timeline, trial_evidence
from simulator.outcome.occupancy import kv_utilisation, mean_queue
from simulator.outcome.slo import verdict
from simulator.outcome.window import Window
from simulator.spec.workload import Slo
from tests.simulator.outcome import toys


def test_quantiles_are_those_of_the_measured_requests():
    records = toys.toy_cluster(8.0, 2000, 200)
    ttft = (records.requests.first_token_s - records.requests.arrival_s)[200:]

    found = run_evidence(records)

    at = found["shares"].index(0.95)
    assert found["quantiles"]["ttft_s"][at] == pytest.approx(np.quantile(ttft, 0.95), rel=1e-4)
    assert len(LEVELS) == len(found["quantiles"]["e2e_s"]) <= 400


def test_evidence_is_small_and_plain():
    text = json.dumps(run_evidence(toys.toy_cluster(8.0, 20_000, 200)), allow_nan=False)

    assert len(text) < 20_000


def test_means_over_spans_weigh_by_time():
    start, end = np.array([0.0, 0.5, 3.0]), np.array([1.0, np.nan, 3.5])

    found = span_means(start, end, np.array([2.0, 1.0, 4.0]), np.array([0.0, 1.0, 2.0, 4.0]))

    assert found.tolist() == pytest.approx([2.5, 1.0, 2.0])


def test_the_timeline_averages_to_the_figures_of_the_row():
    records = toys.toy_cluster(8.0, 2000, 0, servers=2)
    end = float(records.requests.arrival_s[-1])
    whole = Window(0.0, end)

    found = timeline(records)

    assert len(found["queue"]) == BINS
    assert np.mean(found["queue"]) == pytest.approx(mean_queue(records, whole), rel=0.01)
    assert np.mean(found["kv"]) == pytest.approx(kv_utilisation(records, whole)[0], rel=0.01)


def test_nothing_arrived_is_no_timeline():
    records = toys.served_alone(np.zeros(0), 0, 1, 0.01)

    assert timeline(records) == {}


def test_a_trial_keeps_what_a_curve_needs():
    records, slo = toys.toy_cluster(8.0, 1000, 100), Slo(ttft_s={"p95": 0.3})

    found = trial_evidence(8.0, records, verdict(records, slo, open_loop=True), slo)

    assert found["load"] == 8.0
    assert 0 < found["goodput_req_per_s"] <= found["req_per_s"] * 1.001
    assert found["saturated"] is False
    assert trial_evidence(8.0, records, verdict(records, None, open_loop=True), None)["goodput_req_per_s"] is None
