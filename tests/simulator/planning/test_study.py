import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from simulator.outcome.report import EXTRA_FIELDS, ROW_FIELDS
from simulator.planning.replication import Task, study_replication
from simulator.planning.study import StudyResult, study, to_json_ready
from simulator.spec.scenario import Scenario
from tests.simulator.outcome import specs, toys

TWO = {"h200": {}, "b200": {"gpu": "b200-sxm", "price": 5.0}}
SLO = {"ttft_s": {"p95": 0.3}}


def studied(scenario: Scenario, **options: Any) -> StudyResult:
    return study(scenario, simulate=toys.simulate, **options)


@pytest.fixture(scope="module")
def result() -> StudyResult:
    return studied(specs.scenario(TWO, slo=SLO))


def row_of(result: StudyResult, name: str) -> dict[str, Any]:
    return next(row for row in result.report.rows if row["deployment"] == name)


def test_a_study_is_json_with_its_seven_parts(result):
    ready = to_json_ready(result)

    json.dumps(ready, allow_nan=False)
    assert list(ready) == ["scenario", "provenance", "rows", "replications", "comparison", "economics", "evidence"]
    assert (len(ready["rows"]), len(ready["replications"])) == (2, 6)


def test_every_row_has_every_field(result):
    rows = [*result.report.rows, *result.report.replications]

    assert all(tuple(row) == ROW_FIELDS + EXTRA_FIELDS for row in rows)


def test_a_faster_gpu_has_more_capacity_and_needs_no_more_replicas(result):
    h200, b200 = row_of(result, "h200"), row_of(result, "b200")

    assert b200["capacity_req_per_s"] > 1.9 * h200["capacity_req_per_s"]
    assert b200["replicas_for_offered"] <= h200["replicas_for_offered"]


def test_capacity_of_a_queue_under_a_target_lies_below_its_service_rate(result):
    assert 5.0 < row_of(result, "h200")["capacity_req_per_s"] < 10.0


def test_utilisation_is_offered_by_capacity_in_every_replication(result):
    for row in result.report.replications:
        assert row["utilisation"] == pytest.approx(6.0 / row["capacity_req_per_s"])


def test_the_same_scenario_gives_the_same_bytes(result):
    again = studied(specs.scenario(TWO, slo=SLO))

    assert json.dumps(to_json_ready(again)) == json.dumps(to_json_ready(result))


def test_any_executor_gives_the_same_bytes(result):
    with ThreadPoolExecutor(3) as pool:
        parallel = studied(specs.scenario(TWO, slo=SLO), executor=pool)

    assert json.dumps(to_json_ready(parallel)) == json.dumps(to_json_ready(result))


def test_a_task_travels_to_another_process():
    task = Task(specs.scenario(), "plain", 0, None, "base", toys.simulate)

    travelled = pickle.loads(pickle.dumps(task))

    assert study_replication(travelled) == study_replication(task)


def test_progress_counts_tasks():
    seen: list[tuple[int, int]] = []

    studied(specs.scenario(replications=2), progress=lambda done, total: seen.append((done, total)))

    assert seen == [(0, 2), (1, 2), (2, 2)]


def test_a_good_guess_needs_fewer_runs(result):
    capacity = {row["deployment"]: row["capacity_req_per_s"] for row in result.report.rows}

    guessed = studied(specs.scenario(TWO, slo=SLO), guess=lambda scenario, name: capacity[name])

    assert row_of(guessed, "b200")["simulated_runs"] < row_of(result, "b200")["simulated_runs"]
    assert row_of(guessed, "b200")["capacity_req_per_s"] == pytest.approx(capacity["b200"], rel=0.02)


def test_what_does_not_fit_is_a_row_and_not_an_error():
    big = {"target": {"model": "llama-3.3-70b", "weights": "bf16"}}

    found = studied(specs.scenario({"plain": {}, "big": big}))

    row = row_of(found, "big")
    assert (row["fits"], row["capacity_req_per_s"]) == (False, None)
    assert "GiB" in row["reason"]
    assert (found.comparison["winner"], list(found.comparison["unable"])) == ("plain", ["big"])


def test_more_load_needs_more_replicas():
    def replicas(rate: float) -> int:
        workload = specs.workload({"kind": "poisson", "rate_per_s": rate})
        return int(row_of(studied(specs.scenario(workload=workload, slo=SLO)), "plain")["replicas_for_offered"])

    needed = [replicas(rate) for rate in (3.0, 15.0, 60.0)]

    assert needed == sorted(needed)
    assert needed[0] == 1
    assert needed[-1] >= 7


def test_a_target_that_cannot_be_met_has_no_fleet_and_says_why():
    row = row_of(studied(specs.scenario(slo={"tpot_s": {"p50": 0.001}})), "plain")

    assert (row["capacity_req_per_s"], row["replicas_for_offered"]) == (0, None)
    assert row["fleet_note"].startswith("no number of replicas holds")


def test_a_batch_is_measured_by_its_makespan():
    workload = specs.workload({"kind": "queued_at_once"}, requests=50, warmup=0)

    row = row_of(studied(specs.scenario(workload=workload)), "plain")

    assert row["capacity_req_per_s"] == pytest.approx(10.0)
    assert (row["offered_req_per_s"], row["utilisation"], row["replicas_for_offered"]) == (None, None, None)


def test_a_batch_with_a_deadline_has_a_fleet():
    workload = specs.workload({"kind": "queued_at_once"}, requests=60, warmup=0)

    row = row_of(studied(specs.scenario(workload=workload, slo={"e2e_s": {"p99": 2.05}})), "plain")

    assert row["replicas_for_offered"] == 3


def test_a_closed_loop_with_a_target_serves_as_many_clients_as_hold():
    workload = specs.workload({"kind": "closed_loop", "concurrency": 4})

    row = row_of(studied(specs.scenario(workload=workload, slo={"e2e_s": {"p99": 0.75}}, replications=1)), "plain")

    assert row["capacity_req_per_s"] == pytest.approx(10.0, rel=0.02)
    assert row["saturated"] is False


def test_a_closed_loop_without_a_target_has_the_throughput_of_many_clients():
    workload = specs.workload({"kind": "closed_loop", "concurrency": 1})

    row = row_of(studied(specs.scenario({"plain": {"replicas": 4}}, workload=workload, replications=1)), "plain")

    assert row["capacity_req_per_s"] == pytest.approx(40.0, rel=0.03)
    assert row["utilisation"] == pytest.approx(0.25, rel=0.03)


def test_provenance_holds_version_seed_profile_prices_and_sources(result):
    found = result.report.provenance

    assert found["seed"] == 1
    assert found["profile"].startswith("h200-sxm-vllm of ")
    assert found["calibration"]["b200"]["profile"] == "b200-sxm-vllm"
    assert found["prices"]["b200"]["usd_per_gpu_hour"] == 5.0
    assert {source["file"] for source in found["sources"]} >= {"gpus/h200-sxm", "profiles/b200-sxm-vllm"}


def test_what_the_scenario_states_without_a_source_is_an_assumption():
    found = studied(specs.scenario({"spec": {"speculation": specs.DRAFTS}}, replications=1)).report.provenance

    assert "spec: $3 per GPU-hour (plain number in the scenario)" in found["assumptions"]
    assert "spec: acceptance of class all as the scenario states it" in found["assumptions"]


def test_a_batch_on_the_real_cluster_puts_out_every_token_in_its_makespan():
    scenario = specs.scenario(
        workload=specs.workload({"kind": "queued_at_once"}, requests=80, warmup=0), replications=1
    )

    row = row_of(study(scenario), "plain")

    assert row["output_tokens_per_s"] * row["window_s"] == pytest.approx(80 * 10)
    assert row["input_tokens_per_s"] * row["window_s"] == pytest.approx(80 * 100)


def test_a_study_of_the_real_cluster_prices_speculation_and_explains_itself():
    workload = specs.workload({"kind": "poisson", "rate_per_s": 20.0}, requests=400, warmup=100)
    deployments = {"plain": {}, "spec": {"speculation": specs.MODELLED_DRAFTS}}

    found = study(specs.scenario(deployments, workload=workload, slo={"tpot_s": {"p95": 0.05}}, replications=2))

    spec = row_of(found, "spec")
    assert spec["tokens_per_step"] == pytest.approx(1 + 0.8 + 0.6, rel=0.05)
    assert 0.1 < spec["draft_flops_ratio"] < 0.25
    assert 0.1 < spec["draft_latency_ratio"] < 0.6
    assert sum(spec["step_time_share"].values()) == pytest.approx(1.0)
    assert found.comparison["why"]
