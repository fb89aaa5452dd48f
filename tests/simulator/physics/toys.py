"""Deployments for tests of the ledger: a large model, a draft where one is asked for."""

from simulator.physics.ledger import memory_ledger
from simulator.spec.deployment import Deployment

ACCEPTANCE = {"all": {"survival": [0.8, 0.6]}}


def deployment(model="llama-3.3-70b", weights="fp8", gpu="h200-sxm", policy="vllm", draft=None, engine=None, **target):
    speculation = {"kind": "none"}
    if draft is not None:
        drafts = {"small": {**draft, "acceptance": ACCEPTANCE}}
        speculation = {"kind": "drafts", "drafts": drafts, "propose": {"draft_tokens": 2}}
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
