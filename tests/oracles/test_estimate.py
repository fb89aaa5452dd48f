"""The steady-state estimate against the simulation: two ways to the same figures."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from scenarios.load import load_scenario
from simulator.outcome.report import replication_row
from simulator.planning.context import row_context
from simulator.planning.demand import demand_of
from simulator.planning.estimate import estimate, guess_capacity, steady_cluster
from simulator.planning.study import study
from simulator.run import simulate_once, step_model_of
from simulator.spec.scenario import Scenario

SURVIVAL = {"code": [0.8, 0.65, 0.53, 0.43], "prose": [0.68, 0.47, 0.33, 0.23], "math": [0.64, 0.42, 0.28, 0.18]}
DEPLOYMENTS = ("h200-plain", "h200-spec", "b200-plain", "b200-spec")


def scenario(rate_per_s=5.5, requests=4000, slo=True, replicas=2, **arrivals) -> Scenario:
    acceptance = {name: {"survival": values} for name, values in SURVIVAL.items()}
    draft = {"model": "llama-3.2-1b", "weights": "fp8", "kv": "fp8", "acceptance": acceptance}
    speculation = {"kind": "drafts", "drafts": {"general": draft}, "propose": {"draft_tokens": 4}}

    def deployment(name):
        gpu, kind = name.split("-")
        return {
            "gpu": f"{gpu}-sxm",
            "replicas": replicas,
            "price": 4.0,
            "target": {"model": "llama-3.3-70b", "weights": "fp8", "kv": "fp8", "tensor_parallel": 2},
            "engine": {"policy": "vllm", "max_model_len": 8192},
            "speculation": speculation if kind == "spec" else {"kind": "none"},
        }

    return Scenario.model_validate(
        {
            "schema_version": 1,
            "name": "estimate",
            "seed": 11,
            "replications": 3,
            "workload": {
                "arrivals": arrivals or {"kind": "poisson", "rate_per_s": rate_per_s},
                "lengths": {"kind": "empirical", "table": "azure-conv-2023"},
                "classes": {"code": 0.4, "prose": 0.4, "math": 0.2},
                "horizon": {"requests": requests, "warmup_requests": requests // 10},
            },
            "slo": {"ttft_s": {"p95": 1.0}, "tpot_s": {"p95": 0.04}} if slo else None,
            "deployments": {name: deployment(name) for name in DEPLOYMENTS},
        }
    )


def simulated(spec: Scenario, name: str, **overrides):
    """Mean batch, TPOT and TTFT over replications, and the 95th percentile of the TTFT."""
    model = step_model_of(spec.deployments[name])
    rows = [
        replication_row(simulate_once(spec, name, r, **overrides), row_context(spec, name, "base"), r, model=model)
        for r in range(spec.replications)
    ]
    return {
        "mean_batch": np.mean([row["mean_batch"] for row in rows]),
        "tpot": np.mean([row["tpot_s"]["mean"] for row in rows]),
        "ttft": np.mean([row["ttft_s"]["mean"] for row in rows]),
        "ttft_p95": np.mean([row["ttft_s"]["p95"] for row in rows]),
    }


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.3, 0.6, 0.8])
@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_estimate_and_run_agree_below_capacity(name, share):
    base = scenario()
    rate = share * guess_capacity(base, name)
    at_rate = scenario(rate)

    estimated, found = estimate(at_rate, name), simulated(at_rate, name)

    assert estimated["mean_batch"] == pytest.approx(found["mean_batch"], rel=0.05)
    assert estimated["tpot_s"]["mean"] == pytest.approx(found["tpot"], rel=0.05)
    assert estimated["ttft_s"]["mean"] == pytest.approx(found["ttft"], rel=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.5, 0.9])
@pytest.mark.parametrize("replicas", [1, 4, 16])
def test_estimate_and_run_agree_on_few_and_many_replicas(replicas, share):
    base = scenario(replicas=replicas)
    at_rate = scenario(share * guess_capacity(base, "h200-plain"), requests=2000, replicas=replicas)

    estimated, found = estimate(at_rate, "h200-plain"), simulated(at_rate, "h200-plain")

    assert estimated["tpot_s"]["mean"] == pytest.approx(found["tpot"], rel=0.06)
    assert estimated["ttft_s"]["mean"] == pytest.approx(found["ttft"], rel=0.12)
    assert estimated["ttft_s"]["p95"] == pytest.approx(found["ttft_p95"], rel=0.12)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["round_robin", "power_of_two_choices"])
def test_estimate_and_run_agree_whatever_the_router(kind):
    data = scenario(12.0, requests=2000, replicas=4).model_dump(mode="json", exclude_unset=True)
    data["deployments"]["h200-plain"]["router"] = {"kind": kind}
    routed = Scenario.model_validate(data)

    estimated, found = estimate(routed, "h200-plain"), simulated(routed, "h200-plain")

    assert estimated["tpot_s"]["mean"] == pytest.approx(found["tpot"], rel=0.06)
    assert estimated["ttft_s"]["mean"] == pytest.approx(found["ttft"], rel=0.12)
    assert estimated["ttft_s"]["p95"] == pytest.approx(found["ttft_p95"], rel=0.15)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "deployment", "rel"), [("code_completion", "plain", 0.3), ("long_context", "h200", 0.15)]
)
def test_estimate_and_run_agree_where_prompts_are_most_of_the_work(name, deployment, rel):
    horizon = "workload.horizon={requests: 2000, warmup_requests: 200}"
    spec = load_scenario(name, [horizon]).points[0].scenario

    estimated, found = estimate(spec, deployment), simulated(spec, deployment)

    assert estimated["ttft_s"]["mean"] == pytest.approx(found["ttft"], rel=0.15)
    assert estimated["ttft_s"]["p95"] == pytest.approx(found["ttft_p95"], rel=rel)


@pytest.mark.parametrize("router", ["round_robin", "least_outstanding_tokens", "power_of_two_choices"])
def test_a_replica_of_a_larger_cluster_holds_no_less(router):
    data = scenario(replicas=1).model_dump(mode="json", exclude_unset=True)
    data["deployments"]["b200-spec"]["router"] = {"kind": router}
    one = steady_cluster(Scenario.model_validate(data), "b200-spec")

    each = [replace(one, num_replicas=replicas).capacity() / replicas for replicas in (1, 2, 3, 5, 8, 16)]

    assert all(more > 0.98 * fewer for fewer, more in pairwise(each))


@pytest.mark.slow
def test_estimated_and_simulated_capacity_agree():
    spec = scenario(requests=3000)

    rows = {row["deployment"]: row for row in study(spec, guess=guess_capacity).report.rows}

    for name in DEPLOYMENTS:
        assert estimate(spec, name)["capacity_req_per_s"] == pytest.approx(rows[name]["capacity_req_per_s"], rel=0.05)


def test_the_estimate_rises_with_the_load_and_reports_saturation():
    rows = [estimate(scenario(rate), "h200-plain") for rate in (2.0, 6.0, 12.0, 40.0)]

    batches = [row["mean_batch"] for row in rows]
    assert batches == sorted(batches)
    assert [row["saturated"] for row in rows] == [False, False, False, True]
    assert [row["holds_slo"] for row in rows] == [True, True, False, False]


def with_nodes(nodes: int, policy: str = "vllm") -> Scenario:
    data = scenario().model_dump(mode="json", exclude_unset=True)
    data["deployments"]["h200-spec"]["engine"]["policy"] = policy
    speculation = data["deployments"]["h200-spec"]["speculation"]
    speculation["propose"] = {"shape": "tree", "widths": [nodes]}
    for accepted in speculation["drafts"]["general"]["acceptance"].values():
        accepted["branches"] = [0.6, 0.2, 0.1]
    return Scenario.model_validate(data)


def test_a_large_tree_leaves_prompts_their_part_of_the_token_budget():
    few, some, many = (estimate(with_nodes(nodes), "h200-spec")["capacity_req_per_s"] for nodes in (31, 47, 63))

    assert few > some > many > few / 3


@pytest.mark.parametrize(("policy", "most_steps"), [("sglang", 1), ("vllm", 20)])
def test_prompts_share_the_token_budget_where_they_are_computed_beside_decoding_only(policy, most_steps):
    _, steps = demand_of(with_nodes(63, policy), "h200-spec").prompt_step_s(sequences=127, prompt_tokens=640)

    assert most_steps // 2 <= steps <= most_steps


def test_little_holds_in_a_closed_loop():
    row = estimate(scenario(kind="closed_loop", concurrency=32), "b200-plain")

    assert row["req_per_s"] * row["e2e_s"]["mean"] == pytest.approx(32, rel=0.02)


def test_without_a_slo_capacity_is_the_saturation_rate():
    with_slo, without = estimate(scenario(), "h200-plain"), estimate(scenario(slo=False), "h200-plain")

    assert without["capacity_req_per_s"] > with_slo["capacity_req_per_s"]
    assert without["slo_attainment"] is None


def test_fewer_replicas_are_enough_where_more_hold_with_room():
    rows = {name: estimate(scenario(25.0), name) for name in DEPLOYMENTS}

    assert rows["b200-spec"]["replicas_for_offered"] < rows["h200-plain"]["replicas_for_offered"]
