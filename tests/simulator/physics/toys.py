"""Deployments for tests of the ledger: a large model, a draft where one is asked for."""

from simulator.physics.ledger import memory_ledger
from simulator.spec.deployment import Deployment

ACCEPTANCE = {"all": {"survival": [0.8, 0.6]}}
ROUTED = {
    "kind": "routed", "routes": {"all": "a"}, "accuracy": {"all": 0.9}, "fallback": "b",
    "router": {"parameters": 150e6, "latency_s": 0.001},
}  # fmt: skip
UNION = {"kind": "union", "recursive_rejection": {"correlation": 0.5}}


def deployment(
    model="llama-3.3-70b",
    weights="fp8",
    gpu="h200-sxm",
    policy="vllm",
    draft=None,
    drafts=None,
    speculation=None,
    engine=None,
    acceptance=ACCEPTANCE,
    **target,
):
    """draft: the only one; drafts: by name, combined as the speculation says."""
    drafts = {"small": draft} if draft is not None else drafts or {}
    given = {name: {**one, "acceptance": acceptance} for name, one in drafts.items()}
    drafted = {"kind": "drafts", "drafts": given, "propose": {"draft_tokens": 2}}
    speculation = {"kind": "none"} if not drafts else drafted | (speculation or {})
    return Deployment.model_validate(
        {
            "gpu": gpu,
            "replicas": 1,
            "price": 2.0,
            "target": {"model": model, "weights": weights, **target},
            "engine": {"policy": policy, **(engine or {})},
            "speculation": speculation,
        }
    )


def ledger(**choices):
    """The ledger of the target's GPUs."""
    return memory_ledger("it", deployment(**choices))[0]
