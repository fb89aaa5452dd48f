"""Drafts that do not always propose K tokens, through the whole simulation and the estimate."""

import numpy as np
import pytest

from simulator.cluster.records import columns_equal
from simulator.planning.estimate import estimate
from simulator.planning.study import study
from simulator.run import simulate_once
from simulator.spec.scenario import Scenario

SURVIVAL = [0.4, 0.25, 0.15]


def scenario(drafted=None, rate_per_s=30.0, requests=500):
    acceptance = {"survival": SURVIVAL} | ({} if drafted is None else {"drafted": drafted})
    lookup = {"flops_ratio": 1e-6, "latency_ratio": 0.001, "weights_gb": 0, "kv_bytes_per_token": 0}
    return Scenario.model_validate(
        {
            "schema_version": 1,
            "name": "drafted",
            "seed": 5,
            "replications": 2,
            "workload": {
                "arrivals": {"kind": "poisson", "rate_per_s": rate_per_s},
                "lengths": {"kind": "fixed", "prompt_tokens": 300, "output_tokens": 150},
                "horizon": {"requests": requests, "warmup_requests": 50},
            },
            "deployments": {
                "d": {
                    "gpu": "h200-sxm",
                    "replicas": 1,
                    "price": 3.0,
                    "target": {"model": "llama-3.1-8b", "weights": "fp8", "tensor_parallel": 1},
                    "engine": {"policy": "vllm", "max_model_len": 4096},
                    "speculation": {
                        "kind": "drafts",
                        "drafts": {"d": {"abstract": lookup, "acceptance": {"all": acceptance}}},
                        "propose": {"draft_tokens": 3},
                    },
                }
            },
        }
    )


def test_drafts_that_always_propose_k_change_nothing():
    said, unsaid = (simulate_once(scenario(drafted), "d", 0) for drafted in ({3: 7}, None))

    assert columns_equal(said.requests, unsaid.requests)
    assert columns_equal(said.steps, unsaid.steps)
    assert estimate(scenario({3: 7}), "d") == estimate(scenario(), "d")


def test_drafting_less_for_the_same_acceptance_is_faster():
    less, more = (simulate_once(scenario(d), "d", 0) for d in ({0: 50, 1: 10, 3: 40}, None))

    same = slice(0, 500)
    assert np.array_equal(less.requests.committed_tokens[same], more.requests.committed_tokens[same])
    assert (less.requests.finish_s[same] <= more.requests.finish_s[same] + 1e-9).all()
    assert less.requests.finish_s[same].mean() < more.requests.finish_s[same].mean() - 1e-4


def test_the_report_counts_what_is_drafted():
    drafted = {0: 50, 1: 10, 3: 40}
    mean = (10 + 120) / 100

    row = study(scenario(drafted, requests=300)).report.rows[0]
    guess = estimate(scenario(drafted), "d")

    assert row["draft_tokens_mean"] == guess["draft_tokens_mean"] == pytest.approx(mean)
    assert row["acceptance_rate"] == pytest.approx((row["tokens_per_step"] - 1) / mean)
    assert guess["acceptance_rate"] == pytest.approx(sum(SURVIVAL) / mean, rel=0.02)


def test_estimate_and_simulation_agree():
    drafted = {0: 50, 1: 10, 3: 40}
    requests = simulate_once(scenario(drafted, requests=2000), "d", 0).requests
    tpot_s = float(np.nanmean((requests.finish_s - requests.first_token_s) / (requests.output_tokens - 1)))

    assert estimate(scenario(drafted), "d")["tpot_s"]["mean"] == pytest.approx(tpot_s, rel=0.03)
