"""Small systems on which claims are predicted: deployments, their steps, their throughput."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from simulator.catalog.load import load_price_list, load_profile, names
from simulator.physics.acceptance import survival_from_conditional
from simulator.planning.estimate import estimate
from simulator.planning.model_error import step_error
from simulator.planning.speculation_gain import (
    MOST_DRAFT_TOKENS,
    SpeculationGrid,
    speculation_grid,
    speedup,
    tokens_by_draft,
)
from simulator.spec.deployment import Deployment
from simulator.spec.profile import Profile
from simulator.spec.scenario import Scenario

GPUS, ENGINE = ("h200-sxm", "b200-sxm"), "vllm"
"""What the systems run on."""

MANY = 256
"""Clients that keep a replica full."""


def deployment(
    gpu: str, model: str, weights: str, gpus: int = 1, *, kv: str = "fp8", draft: Mapping[str, Any] | None = None
) -> Deployment:
    """One replica under vLLM, by default without a draft; prices play no part.

    draft: of kind `drafts`, with 4 draft tokens; its acceptance plays no part.
    """
    speculation = {
        "kind": "drafts",
        "drafts": {"draft": {**(draft or {}), "acceptance": {"all": {"survival": [0.8, 0.64, 0.5, 0.4]}}}},
        "propose": {"shape": "chain", "draft_tokens": 4},
    }
    return Deployment.model_validate(
        {
            "gpu": gpu,
            "replicas": 1,
            "price": 1.0,
            "target": {"model": model, "weights": weights, "kv": kv, "tensor_parallel": gpus},
            "engine": {"policy": ENGINE, "max_model_len": 16384},
            "speculation": {"kind": "none"} if draft is None else speculation,
        }
    )


def profiles() -> list[Profile]:
    """Profiles that the step times of the systems come from."""
    return [profile for gpu in GPUS if (profile := load_profile(gpu, ENGINE)) is not None]


def mtp(weights: str, gpus: int) -> dict[str, Any]:
    """The module for multi-token prediction that comes with a mixture of experts, split like its target."""
    return {"head": {"method": "mtp", "dense": False}, "weights": weights, "kv": "fp8", "tensor_parallel": gpus}


def closed_loop(one: Deployment, prompt_tokens: int, output_tokens: int, clients: int) -> Scenario:
    """So many clients, each with one request after the other, of one length."""
    return Scenario.model_validate(
        {
            "schema_version": 1,
            "name": "claim",
            "seed": 1,
            "workload": {
                "arrivals": {"kind": "closed_loop", "concurrency": clients},
                "lengths": {"kind": "fixed", "prompt_tokens": prompt_tokens, "output_tokens": output_tokens},
                "horizon": {"requests": 1000, "warmup_requests": 0},
            },
            "deployments": {"it": one.model_dump()},
        }
    )


def tokens_per_s_per_gpu(one: Deployment, prompt_tokens: int, output_tokens: int) -> tuple[float, float]:
    """Output and total tokens per second of a GPU of a replica that MANY clients keep full."""
    row = estimate(closed_loop(one, prompt_tokens, output_tokens, MANY), "it")
    return row["output_tokens_per_s"] / one.num_gpus, row["total_tokens_per_s"] / one.num_gpus


def with_error(value: float, one: Deployment) -> list[float]:
    """A throughput as far as the step times of the deployment may err (95 %); without a known error the value."""
    known = step_error(one)
    factor = 1.0 if known is None else known.step
    return [value / factor, value * factor]


def gain_grid(one: Deployment) -> SpeculationGrid:
    """Step times of a deployment with a draft, for prompts of 1,000 and outputs of 250 tokens."""
    return speculation_grid(closed_loop(one, 1000, 250, 1), "it")


def gain(grid: SpeculationGrid, conditional_acceptance: float, sequences: int) -> float:
    """Throughput ÷ that of plain decoding with as many sequences in flight, at the best K of at least 1 [ratio]."""
    tokens = tokens_by_draft(survival_from_conditional([conditional_acceptance] * MOST_DRAFT_TOKENS))
    return float(np.nanmax(speedup(grid.at(np.array([float(sequences)])), tokens)[0, 1:]))


def listed_prices(gpu: str) -> list[float]:
    """Prices on demand of all lists of the catalog [USD per GPU-hour]."""
    lists = [load_price_list(name) for name in names("prices")]
    return [
        entry.usd_per_gpu_hour for one in lists if one.basis == "on_demand" for entry in one.prices if entry.gpu == gpu
    ]
