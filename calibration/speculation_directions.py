"""Directions that public threads report of speculation, and what the step model says: no row of a file holds them.

A case whose model is not in the catalog is told by one of its kind. Compared are the direction, and gain against loss.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from simulator.physics.acceptance import expected_tokens_per_step
from simulator.physics.step import StepShape
from simulator.physics.step_model import build_step_model
from simulator.spec.deployment import Deployment

CONTEXT_TOKENS = 1000
EAGER = {"policy": "vllm", "cuda_graph_max_tokens": 0}
"""Releases of 2024 and early 2025, whose drafts ran without graphs: an assumption."""


class Direction(NamedTuple):
    """A reported direction beside predicted speed-ups."""

    id: str
    """In field_cases.csv."""
    reported: str
    modelled: str
    """What stands for it here."""
    speedups: tuple[tuple[str, float], ...]
    """By setting, in the order of the report."""
    holds: bool
    """Whether gains fall as they were reported to."""
    signs: bool
    """Whether gain and loss lie where they were reported."""


def directions() -> list[Direction]:
    """All that are checked."""
    return [_falls_with_load(), _launch_bound_draft(), _draft_split_like_its_target(), _falls_with_split()]


def _falls_with_load() -> Direction:
    """S04: MTP of DeepSeek-R1 pays at low load only."""
    served = _served("h200-sxm", "deepseek-r1", 8, weights="fp8_block")
    draft = {"head": {"method": "mtp", "dense": False}, "weights": "fp8_block"}
    gains = [(f"{n} sequences", _gain(served, draft, 1, 0.815, n)) for n in (1, 16, 64, 256, 512)]
    return Direction(
        "S04",
        "1.63× at 1 request/s, 1.18× at 2, none beyond 8 (DeepSeek-R1, TP8, MTP, one draft token)",
        "the same model on 8 H200, by sequences that run at once",
        tuple(gains),
        gains[-1][1] < gains[0][1],
        _signs(gains) == [True] * 4 + [False],
    )


def _launch_bound_draft() -> Direction:
    """S08: a draft with as many layers as its target is no cheaper, whatever its parameters say."""
    served = _served("h100-sxm", "qwen2.5-1.5b", 1) | {"engine": EAGER}
    draft = {"model": "smollm2-135m"}
    gains = [(f"{k} draft tokens", _gain(served, draft, k, 0.9, 1)) for k in (1, 3, 5)]
    ordered = gains[0][1] > gains[1][1] > gains[2][1]
    return Direction(
        "S08",
        "30 % slower with five draft tokens, fewer are better, none is best (SmolLM2-1.7B, 24 layers, with 135M, 30)",
        "Qwen2.5-1.5B (28 layers) with SmolLM2-135M (30), accepted at 0.9, one H100, kernels launched one by one",
        tuple(gains),
        ordered and gains[-1][1] < 1.0,
        _signs(gains) == [False] * 3,
    )


def _draft_split_like_its_target() -> Direction:
    """S10: split like its target, a small draft waits for its all-reduces."""
    gains = []
    for split in (1, 2, 4):
        served = _served("h100-sxm", "qwen2.5-32b", split) | {"engine": EAGER}
        draft = {"model": "qwen2.5-0.5b", "tensor_parallel": split}
        gains.append((f"TP {split}", _gain(served, draft, 8, 0.6, 1)))
    return Direction(
        "S10",
        "1.22× at TP 1, 0.59× at TP 2, 0.39× at TP 4 (OPT-30B with OPT-125M split alike)",
        "Qwen2.5-32B with Qwen2.5-0.5B, eight draft tokens accepted at 0.6, H100, kernels launched one by one",
        tuple(gains),
        gains[0][1] > gains[1][1] > gains[2][1],
        _signs(gains) == [True, False, False],
    )


def _falls_with_split() -> Direction:
    """S18: a target over more GPUs is faster, its head is not."""
    gains = []
    for split in (1, 4):
        served = _served("h100-sxm", "qwen2.5-32b", split, policy="sglang")
        gains.append((f"TP {split}", _gain(served, {"head": {"method": "eagle"}}, 3, 0.6, 1)))
    return Direction(
        "S18",
        "1.43× at TP 1, 0.97× at TP 4 (QwQ-32B, EAGLE, SGLang)",
        "Qwen2.5-32B, which has its shapes, EAGLE, three draft tokens accepted at 0.6, H100",
        tuple(gains),
        gains[0][1] > gains[1][1],
        _signs(gains) == [True, False],
    )


def _signs(gains: Sequence[tuple[str, float]]) -> list[bool]:
    """Whether each setting gains."""
    return [gain > 1.0 for _, gain in gains]


def _served(gpu: str, model: str, split: int, weights: str = "bf16", policy: str = "vllm") -> dict[str, Any]:
    target = {"model": model, "weights": weights, "kv": "bf16", "tensor_parallel": split}
    return {"gpu": gpu, "replicas": 1, "price": 1.0, "target": target, "engine": {"policy": policy}}


def _gain(served: dict[str, Any], draft: dict[str, Any], draft_tokens: int, rate: float, sequences: int) -> float:
    """Speed-up of decoding with a chain of which every position is accepted at the same rate."""
    drafts = {"draft": draft | {"acceptance": {"all": {"survival": _survival(rate, draft_tokens)}}}}
    speculation = {"kind": "drafts", "drafts": drafts, "propose": {"shape": "chain", "draft_tokens": draft_tokens}}
    tokens = expected_tokens_per_step(rate, draft_tokens)
    plain_s = _step_s(served, sequences, 0)
    return tokens * plain_s / _step_s(served | {"speculation": speculation}, sequences, draft_tokens)


def _survival(rate: float, draft_tokens: int) -> Sequence[float]:
    return [rate ** (i + 1) for i in range(draft_tokens)]


def _step_s(deployment: dict[str, Any], sequences: int, draft_tokens: int) -> float:
    context = float(sequences * CONTEXT_TOKENS)
    shape = StepShape(sequences, sequences * (draft_tokens + 1), context, 0, 0, 0.0, draft_tokens)
    return build_step_model(Deployment.model_validate(deployment)).seconds(shape)
