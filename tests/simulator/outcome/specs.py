"""Small scenarios for tests."""

from typing import Any

from simulator.spec.deployment import Deployment
from simulator.spec.scenario import Scenario

PLAIN: dict[str, Any] = {
    "gpu": "h200-sxm",
    "replicas": 1,
    "price": 3.0,
    "target": {"model": "llama-3.1-8b", "weights": "fp8", "kv": "fp8"},
    "engine": {"policy": "vllm", "max_model_len": 4096},
    "speculation": {"kind": "none"},
}

DRAFTS: dict[str, Any] = {
    "kind": "drafts",
    "drafts": {
        "small": {
            "abstract": {"flops_ratio": 0.1, "latency_ratio": 0.1, "weights_gb": 1, "kv_bytes_per_token": 1024},
            "acceptance": {"all": {"survival": [0.8, 0.6]}},
        }
    },
    "propose": {"draft_tokens": 2},
}

MODELLED_DRAFTS: dict[str, Any] = DRAFTS | {
    "drafts": {"small": {"model": "llama-3.2-1b", "acceptance": {"all": {"survival": [0.8, 0.6]}}}}
}


def deployment(**changes: Any) -> Deployment:
    """A deployment of one small model on one GPU."""
    return Deployment.model_validate(PLAIN | changes)


def scenario(deployments: dict[str, dict[str, Any]] | None = None, **changes: Any) -> Scenario:
    """A scenario of toy size; deployments are changes to PLAIN."""
    named = {name: PLAIN | of for name, of in (deployments or {"plain": {}}).items()}
    fields: dict[str, Any] = {
        "schema_version": 1,
        "name": "toy",
        "seed": 1,
        "replications": 3,
        "workload": {
            "arrivals": {"kind": "poisson", "rate_per_s": 6.0},
            "lengths": {"kind": "fixed", "prompt_tokens": 100, "output_tokens": 10},
            "horizon": {"requests": 600, "warmup_requests": 100},
        },
        "deployments": named,
    }
    return Scenario.model_validate(fields | changes)


def workload(arrivals: dict[str, Any], requests: int = 600, warmup: int = 100) -> dict[str, Any]:
    """A workload of toy size with other arrivals."""
    return {
        "arrivals": arrivals,
        "lengths": {"kind": "fixed", "prompt_tokens": 100, "output_tokens": 10},
        "horizon": {"requests": requests, "warmup_requests": warmup},
    }
