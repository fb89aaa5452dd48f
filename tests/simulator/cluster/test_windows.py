"""Windows and tiers in a simulation: what no request reaches changes nothing, what one does changes its times."""

import numpy as np
import pytest

from simulator.cluster.plan import longest_sequence
from simulator.planning.estimate import estimate
from simulator.run import simulate_once
from simulator.spec.scenario import Scenario
from simulator.spec.workload import Workload

SMALL = {"model": "llama-3.2-1b", "acceptance": {"all": {"survival": [0.8, 0.6]}}}
FIXED = {"kind": "fixed", "prompt_tokens": 300, "output_tokens": 40}


def scenario(window=None, engine=None, lengths=FIXED, **workload):
    draft = SMALL | ({"window": {"recent": window - 4}} if window else {})
    return Scenario.model_validate(
        {
            "schema_version": 1, "name": "it", "description": "?", "seed": 3, "replications": 1,
            "workload": {
                "arrivals": {"kind": "poisson", "rate_per_s": 20.0}, "lengths": lengths,
                "horizon": {"requests": 60, "warmup_requests": 5},
            } | workload,
            "deployments": {
                "it": {
                    "gpu": "h200-sxm", "replicas": 1, "price": 3.0,
                    "target": {"model": "llama-3.1-8b", "weights": "bf16"},
                    "engine": {"policy": "vllm"} | (engine or {}),
                    "speculation": {"kind": "drafts", "drafts": {"small": draft}, "propose": {"draft_tokens": 2}},
                }
            },
        }
    )  # fmt: skip


def finished(given):
    return np.asarray(simulate_once(given, "it", 0).requests.finish_s)[:60].tolist()


def test_a_window_no_shorter_than_any_request_is_none_whatever_the_engine_would_take():
    none, wide = scenario(), scenario(window=340)

    assert finished(wide) == finished(none)
    assert estimate(wide, "it") == estimate(none, "it")


def test_a_window_that_requests_outgrow_changes_their_times():
    assert finished(scenario(window=339)) != finished(scenario())


def test_a_shorter_window_is_never_slower_at_long_contexts():
    long = {"kind": "fixed", "prompt_tokens": 30_000, "output_tokens": 40}
    ends = [max(finished(scenario(window=window, lengths=long))) for window in (516, 4096, 16_384, None)]

    assert ends == sorted(ends)
    assert ends[0] < ends[-1]


@pytest.mark.parametrize(
    ("lengths", "longest"),
    [
        (FIXED, 340),
        ({"kind": "uniform", "prompt_tokens": [10, 99], "output_tokens": [5, 60]}, 159),
        ({"kind": "quantiles", "prompt_tokens": [9.0, 99.0], "output_tokens": [[9.0, 50.0]]}, 149),
        (
            {"kind": "lognormal", "prompt_tokens": {"mean": 300, "p95": 700}, "output_tokens": {"mean": 40, "p95": 90}},
            float("inf"),
        ),
    ],
)
def test_the_longest_sequence_is_what_the_lengths_allow(lengths, longest):
    workload = scenario(lengths=lengths).workload

    assert longest_sequence(workload) == longest


def test_turns_and_shared_prompts_lengthen_a_sequence():
    prefix = {"shared_tokens": 500, "turns": 3, "think_time_s": 1.0}
    workload = scenario(prefix=prefix).workload

    assert isinstance(workload, Workload)
    assert longest_sequence(workload) == 3 * 340 + 500


def test_a_request_too_long_for_hbm_is_served_with_the_host():
    long = {"kind": "fixed", "prompt_tokens": 60_000, "output_tokens": 20}
    tight = {"hbm_budget_gb": 26.0, "max_model_len": 65_536, "kv_host_gb": 20.0}

    assert np.isfinite(finished(scenario(engine=tight, lengths=long))).all()


def test_a_request_of_nine_hundred_thousand_tokens_is_served_where_the_model_allows_it():
    far = {"kind": "fixed", "prompt_tokens": 900_000, "output_tokens": 300}
    given = scenario(lengths=far, arrivals={"kind": "closed_loop", "concurrency": 2}).model_dump()
    served = given["deployments"]["it"] | {
        "gpu": "b300-sxm",
        "target": {"model": "deepseek-v4-pro", "weights": "fp8", "kv": "fp8", "tensor_parallel": 8},
    }

    ends = finished(Scenario.model_validate(given | {"deployments": {"it": served}}))

    assert np.isfinite(ends).all()
    assert longest_sequence(Workload.model_validate(given["workload"])) == 900_300
