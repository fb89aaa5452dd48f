"""What is predicted of a benchmark is what the simulation of its requests says."""

import json

import pytest

from app.export.exported import exported
from app.export.files import bench_files
from app.export.prediction import bench_scenario, predicted, rates_of
from app.export.requests import requests_of, trace_text
from simulator.outcome.latency import request_latencies
from simulator.run import simulate_once
from simulator.spec.prediction import Prediction
from tests.app.export import examples


@pytest.fixture
def traced(tmp_path):
    scenario = examples.scenario(examples.MODEL, deployment={"replicas": 2})
    served = exported(scenario, "plain").served
    rows = requests_of(served, scenario.workload, scenario.seed, 40)
    trace = tmp_path / "requests.jsonl"
    trace.write_text(trace_text(rows))
    return scenario, served, trace, rows


def test_a_prediction_is_of_the_requests_that_are_sent(traced):
    scenario, served, trace, rows = traced

    found = predicted(served, scenario, trace, len(rows))

    assert found.load.prompt_tokens == sum(row.prompt_tokens for row in rows)
    assert found.load.output_tokens == sum(row.output_tokens for row in rows)
    assert (found.gpus, found.load.requests, found.load.clients) == (1, 40, None)


def test_its_latencies_are_those_of_one_replica(traced):
    scenario, served, trace, rows = traced

    found = predicted(served, scenario, trace, len(rows))
    asked = bench_scenario(served, scenario, trace, len(rows))
    records = simulate_once(asked, "plain", 0)

    assert asked.deployments["plain"].replicas == 1
    assert found.figures.ttft_s["mean"] == pytest.approx(request_latencies(records.requests).ttft_s.mean())
    assert found.figures.tokens_per_step == pytest.approx(2.8, rel=0.15)


def test_engines_that_are_given_a_mean_have_it_with_the_least_variance():
    one = examples.export("sglang", examples.head("eagle3"))

    assert rates_of(one.served) == pytest.approx((1.0, 0.8, 0.0))


def test_a_schedule_is_predicted_with(tmp_path):
    scenario = examples.scenario(examples.MODEL | {"policy": examples.BY_BATCH})

    found = json.loads(bench_files(exported(scenario, "plain"), scenario, requests=20)["predicted.json"])

    assert 1.0 < found["figures"]["tokens_per_step"] < 4.0


@pytest.mark.parametrize("arrivals", [{"kind": "queued_at_once"}, {"kind": "closed_loop", "concurrency": 4}])
def test_loads_without_times_of_their_own_are_predicted_too(arrivals):
    scenario = examples.scenario(workload={"arrivals": arrivals})

    found = json.loads(bench_files(exported(scenario, "plain"), scenario, requests=20)["predicted.json"])

    assert found["load"]["prompt_tokens"] == found["load"]["requests"] * 200
    assert found["figures"]["output_tokens_per_s"] > 0


def test_the_file_reads_as_it_was_written(traced):
    scenario, served, trace, rows = traced

    found = predicted(served, scenario, trace, len(rows))

    assert Prediction.model_validate_json(found.model_dump_json()) == found
