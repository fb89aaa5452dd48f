"""The tokens per step that a user gives are the tokens per step that come out, spread over requests or not."""

import numpy as np
import pytest

from simulator.run import simulate_once
from simulator.spec.scenario import Scenario


def simulated_tokens_per_step(acceptance, draft_tokens, outputs=(200, 400)):
    draft = {"model": "llama-3.2-1b", "weights": "fp8", "acceptance": {"all": acceptance}}
    scenario = Scenario.model_validate(
        {
            "schema_version": 1,
            "name": "acceptance",
            "seed": 5,
            "workload": {
                "arrivals": {"kind": "queued_at_once"},
                "lengths": {"kind": "uniform", "prompt_tokens": [50, 60], "output_tokens": list(outputs)},
                "horizon": {"requests": 6000},
            },
            "deployments": {
                "d": {
                    "gpu": "b200-sxm",
                    "replicas": 1,
                    "price": 1.0,
                    "target": {"model": "llama-3.1-8b", "weights": "fp8", "tensor_parallel": 1},
                    "engine": {"policy": "vllm", "max_model_len": 4096},
                    "speculation": {"kind": "drafts", "drafts": {"d": draft}, "propose": {"draft_tokens": draft_tokens}},
                }
            },
        }
    )  # fmt: skip
    requests = simulate_once(scenario, "d", 0).requests
    return requests.committed_tokens, requests.steps


@pytest.mark.parametrize("spread", [0.0, 1.0])
@pytest.mark.parametrize(
    ("acceptance", "draft_tokens", "expected"),
    [
        ({"survival": [0.8, 0.6, 0.5]}, 3, 2.9),
        ({"tokens_per_step": 2.9, "at": 4}, 4, 2.9),
        ({"histogram": {0: 20, 1: 30, 2: 50}}, 2, 2.3),
        ({"preset": "kimi-k2.5-nvfp4-eagle3-thinking-on"}, 3, 2.88),
    ],
    ids=["survival", "tokens_per_step", "histogram", "preset"],
)
def test_tokens_per_step_over_steps_are_those_given(acceptance, draft_tokens, expected, spread):
    committed, steps = simulated_tokens_per_step({**acceptance, "spread": spread}, draft_tokens)

    assert committed.sum() / steps.sum() == pytest.approx(expected, rel=0.006)


def test_a_figure_that_averages_over_requests_is_met_as_such():
    given = {"tokens_per_step": 3.0, "at": 4, "spread": 1.2, "averaged_over": "requests"}

    committed, steps = simulated_tokens_per_step(given, 4, outputs=(400, 400))

    assert np.mean(committed / steps) == pytest.approx(3.0, rel=0.01)
    assert committed.sum() / steps.sum() < 2.9
