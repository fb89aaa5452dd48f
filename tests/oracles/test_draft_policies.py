"""Policies for K against every fixed K, on the real step model: in closed loop, in capacity, where loads vary."""

import numpy as np
import pytest

from simulator.outcome.throughput import throughput
from simulator.outcome.window import measured_window
from simulator.planning.estimate import estimate
from simulator.run import simulate_once
from simulator.spec.scenario import Scenario

MOST = 5
SURVIVAL = [0.7, 0.49, 0.343, 0.24, 0.168]
LENGTHS = {"kind": "lognormal", "prompt_tokens": {"mean": 512, "p95": 1024}, "output_tokens": {"mean": 128, "p95": 256}}
GOODPUT = {"kind": "goodput"}
BANDS = {"kind": "by_batch", "schedule": [[1, 16, 5], [17, 64, 3], [65, 4096, 0]]}


def scenario(policy, arrivals, draft_tokens=MOST, requests=300, spread=0.0) -> Scenario:
    draft = {"model": "llama-3.2-1b", "weights": "fp8", "kv": "fp8"}
    draft["acceptance"] = {"all": {"survival": SURVIVAL, "spread": spread}}
    deployment = {
        "gpu": "b200-sxm", "replicas": 1, "price": 3,
        "target": {"model": "llama-3.3-70b", "weights": "fp8", "kv": "fp8", "tensor_parallel": 2},
        "engine": {"policy": "vllm", "max_model_len": 8192},
        "speculation": {"kind": "drafts", "drafts": {"d": draft}, "propose": {"draft_tokens": draft_tokens}, "policy": policy},
    }  # fmt: skip
    workload = {
        "arrivals": arrivals,
        "lengths": LENGTHS,
        "horizon": {"requests": requests, "warmup_requests": requests // 5},
    }
    return Scenario.model_validate(
        {"schema_version": 1, "name": "k", "seed": 1, "replications": 1, "workload": workload, "deployments": {"it": deployment}}
    )  # fmt: skip


def tokens_per_s(policy, in_flight, draft_tokens=MOST, spread=0.0):
    loop = {"kind": "closed_loop", "concurrency": in_flight}
    spec = scenario(policy, loop, draft_tokens, max(60, min(12 * in_flight, 2000)), spread)
    records = simulate_once(spec, "it", 0)
    return throughput(records, measured_window(records)).output_tokens_per_s


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.0, 1.0], ids=["alike", "unlike"])
@pytest.mark.parametrize("in_flight", [1, 4, 16, 64, 256])
def test_goodput_never_falls_behind_the_best_fixed_k(in_flight, spread):
    fixed = [tokens_per_s({"kind": "fixed"}, in_flight, k, spread) for k in range(MOST + 1)]

    assert tokens_per_s(GOODPUT, in_flight, spread=spread) > 0.99 * max(fixed)


@pytest.mark.slow
def test_where_the_load_varies_goodput_beats_every_fixed_k():
    """Calm hours and bursts on one replica: no K is right for both."""
    bursts = {"kind": "bursty", "rate_per_s": 9, "burst_factor": 3, "on_s": 10, "off_s": 20}

    def seconds(policy, draft_tokens=MOST):
        done = simulate_once(scenario(policy, bursts, draft_tokens, 800), "it", 0)
        return float(np.nanmean((done.requests.finish_s - done.requests.arrival_s)[done.measured]))

    assert seconds(GOODPUT) < min(seconds({"kind": "fixed"}, k) for k in range(MOST + 1))


@pytest.mark.parametrize(
    "policy", [BANDS, {"kind": "per_request", "candidates": [0, 1, 3]}, GOODPUT], ids=lambda p: p["kind"]
)
@pytest.mark.parametrize("in_flight", [4, 48])
def test_the_estimate_agrees_with_the_run(policy, in_flight):
    spec = scenario(policy, {"kind": "closed_loop", "concurrency": in_flight})

    row = estimate(spec, "it")
    records = simulate_once(spec, "it", 0)

    done = records.requests
    drafted, steps = done.drafted_tokens[records.measured].sum(), done.steps[records.measured].sum()
    rate = throughput(records, measured_window(records)).output_tokens_per_s
    assert row["output_tokens_per_s"] == pytest.approx(rate, rel=0.1)
    assert row["draft_tokens_mean"] == pytest.approx(drafted / steps, abs=1.0)
    assert row["tokens_per_step"] == pytest.approx(done.committed_tokens[records.measured].sum() / steps, rel=0.15)


def test_a_draft_that_is_switched_off_still_costs_its_part_of_every_step():
    off = {"kind": "by_batch", "schedule": [[1, 4096, 0]]}

    without = tokens_per_s({"kind": "fixed"}, 8, draft_tokens=0)

    assert 0.9 * without < tokens_per_s(off, 8) <= without


def test_with_drafts_switched_off_tokens_come_one_by_one():
    off = {"kind": "by_batch", "schedule": [[1, 4096, 0]]}

    loop = {"kind": "closed_loop", "concurrency": 8}
    row, plain = (estimate(scenario(*of), "it") for of in ((off, loop), ({"kind": "fixed"}, loop, 0)))

    assert row["itl_s"]["p50"] == pytest.approx(plain["itl_s"]["p50"], rel=0.1)
