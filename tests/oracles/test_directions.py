"""What must move the right way: more GPUs, higher acceptance, higher prices, more load; and what must not move at all."""

import json

import numpy as np
import pytest

from simulator.cluster.records import columns_equal
from simulator.outcome.interval import t_interval
from simulator.outcome.latency import request_latencies
from simulator.planning.estimate import guess_capacity
from simulator.planning.study import study, to_json_ready
from simulator.run import simulate_once
from simulator.spec.scenario import Scenario

BASE = {
    "schema_version": 1,
    "name": "directions",
    "seed": 3,
    "replications": 4,
    "workload": {
        "arrivals": {"kind": "poisson", "rate_per_s": 8.0},
        "lengths": {"kind": "lognormal", "prompt_tokens": {"mean": 600, "p95": 1500}, "output_tokens": {"mean": 120, "p95": 300}},
        "horizon": {"requests": 600, "warmup_requests": 60},
    },
    "slo": {"ttft_s": {"p95": 1.0}, "tpot_s": {"p95": 0.05}},
}  # fmt: skip


def deployment(survival=(), replicas=2, price=3.0, gpu="h200-sxm", tensor_parallel=2, **draft):
    speculation = {"kind": "none"}
    if survival or draft:
        of = {
            "model": "llama-3.2-1b",
            "weights": "fp8",
            "kv": "fp8",
            "acceptance": {"all": {"survival": list(survival)}},
        }
        k = draft.get("draft_tokens", len(survival))
        speculation = {"kind": "drafts", "drafts": {"d": of}, "propose": {"draft_tokens": k}}
    return {
        "gpu": gpu,
        "replicas": replicas,
        "price": price,
        "target": {"model": "llama-3.3-70b", "weights": "fp8", "kv": "fp8", "tensor_parallel": tensor_parallel},
        "engine": {"policy": "vllm", "max_model_len": 8192},
        "speculation": speculation,
    }


def scenario(**deployments) -> Scenario:
    return Scenario.model_validate({**BASE, "deployments": deployments})


def paired_difference(spec, better, worse, measure):
    """95 % interval of worse − better over replications."""
    return t_interval(
        [measure(simulate_once(spec, worse, r)) - measure(simulate_once(spec, better, r)) for r in range(4)]
    )


def mean_latency(name):
    return lambda records: float(np.nanmean(getattr(request_latencies(records.requests), name)[records.measured]))


@pytest.mark.parametrize("metric", ["ttft_s", "tpot_s", "e2e_s"])
@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (deployment(replicas=4), deployment(replicas=2)),
        (deployment(survival=(0.9, 0.8, 0.7)), deployment(survival=(0.7, 0.5, 0.3))),
        (deployment(gpu="b200-sxm"), deployment(gpu="h200-sxm")),
        (deployment(tensor_parallel=4), deployment(tensor_parallel=2)),
    ],
    ids=["more replicas", "higher acceptance", "newer GPU", "more tensor parallelism"],
)
def test_better_hardware_and_better_drafts_are_never_slower(better, worse, metric):
    _, high = paired_difference(scenario(better=better, worse=worse), "better", "worse", mean_latency(metric))

    assert high >= 0


def test_a_higher_price_costs_more_and_changes_nothing_else():
    cheap, dear = (study(scenario(d=deployment(price=price))).report.rows[0] for price in (3.0, 4.5))

    assert dear["usd_per_million_output_tokens"] == pytest.approx(1.5 * cheap["usd_per_million_output_tokens"])
    assert dear["capacity_req_per_s"] == cheap["capacity_req_per_s"]
    assert dear["ttft_s"] == cheap["ttft_s"]


def test_more_load_never_shortens_the_wait():
    spec = scenario(d=deployment())
    waits = [
        np.mean([mean_latency("ttft_s")(simulate_once(spec, "d", r, rate_per_s=rate)) for r in range(3)])
        for rate in (2.0, 6.0, 12.0, 24.0)
    ]

    assert waits == sorted(waits)


def test_no_draft_tokens_are_the_same_as_no_speculation_but_for_the_draft_prefill_and_memory():
    spec = scenario(plain=deployment(), off=deployment(survival=(0.5,), draft_tokens=0))

    plain, off = simulate_once(spec, "plain", 0), simulate_once(spec, "off", 0)

    assert (off.requests.steps[:600] == plain.requests.steps[:600]).all()
    assert off.kv_blocks_total < plain.kv_blocks_total
    slower = np.nanmean(off.requests.first_token_s[:500]) - np.nanmean(plain.requests.first_token_s[:500])
    assert 0 < slower < 0.5


def test_the_same_seed_gives_the_same_bytes_and_another_seed_does_not():
    spec = scenario(d=deployment(survival=(0.8, 0.6)))
    again = Scenario.model_validate({**BASE, "seed": 4, "deployments": {"d": deployment(survival=(0.8, 0.6))}})

    first, second, other = (json.dumps(to_json_ready(study(s, guess=guess_capacity))) for s in (spec, spec, again))

    assert first == second
    assert first != other


def test_deployments_of_a_scenario_see_the_same_requests():
    spec = scenario(a=deployment(), b=deployment(gpu="b200-sxm", survival=(0.8,)))

    a, b = simulate_once(spec, "a", 1), simulate_once(spec, "b", 1)

    many = min(len(a.requests.arrival_s), len(b.requests.arrival_s))
    assert (a.requests.arrival_s[:many] == b.requests.arrival_s[:many]).all()
    assert (a.requests.prompt_tokens[:many] == b.requests.prompt_tokens[:many]).all()


def test_step_by_step_gives_the_same_records_on_the_real_step_model():
    spec = scenario(d=deployment(survival=(0.8, 0.6)))

    together, one_by_one = (simulate_once(spec, "d", 0, step_by_step=flag) for flag in (False, True))

    assert columns_equal(together.requests, one_by_one.requests)
