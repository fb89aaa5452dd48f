"""Step models of deployments that speculate, for tests of what drafts cost."""

from simulator.physics.step import StepShape
from simulator.physics.step_model import build_step_model
from simulator.spec.deployment import Deployment

ACCEPTANCE = {"all": {"survival": [0.8, 0.6, 0.5, 0.4], "branches": [0.7, 0.1]}}
LLAMA = {"model": "llama-3.1-8b", "weights": "bf16", "kv": "bf16"}
V3 = {"model": "deepseek-v3", "weights": "fp8_block", "kv": "fp8", "tensor_parallel": 8}
EAGLE3 = {"head": {"method": "eagle3", "vocab_size": 32000}}
SMALL = {"model": "llama-3.2-1b"}


def chain(draft_tokens):
    return {"shape": "chain", "draft_tokens": draft_tokens}


def step_model(
    *drafts, target=LLAMA, propose=None, gpu="h200-sxm", policy="vllm", shares=None, engine=None, replicas=1, **more
):
    """The step model of a target with drafts named a, b, …; none: plain decoding."""
    speculation = {"kind": "none"}
    if drafts:
        named = {name: {"acceptance": ACCEPTANCE, **draft} for name, draft in zip("abcd", drafts, strict=False)}
        speculation = {"kind": "drafts", "drafts": named, "propose": propose or chain(4), **more}
    deployment = {
        "gpu": gpu,
        "replicas": replicas,
        "price": 3.0,
        "target": target,
        "engine": {"policy": policy, **(engine or {})},
        "speculation": speculation,
    }
    return build_step_model(Deployment.model_validate(deployment), shares)


def decode(sequences, draft_tokens, context=1024):
    """A step without prompts."""
    return StepShape(sequences, sequences * (draft_tokens + 1), float(sequences * context), 0, 0, 0.0, draft_tokens)


def draft_s(model, sequences=1, context=1024):
    """Seconds of drafting in a step of the deployment's own draft tokens."""
    return model.cost(decode(sequences, model.draft_tokens, context)).draft_s


PROMPT = StepShape(0, 0, 0.0, 1, 2048, 2048 * 1024.5, 0)
