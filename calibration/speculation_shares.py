"""Where the time of a speculative step goes: published shares beside predicted ones.

vLLM's sampler and its time of a step with drafts were read from three of these rows; nothing is fitted on the others.
"""

from pathlib import Path
from typing import Any, NamedTuple

from calibration import csv_cells
from simulator.physics.step import StepCost, StepShape
from simulator.physics.step_model import build_step_model
from simulator.spec.deployment import Deployment

FILE = "speculation_time_share.csv"
"""Beside the file of speed-ups."""
PARTS = ("draft", "verify", "sample", "overhead")
TARGETS = {"Llama3.1-8B": ("llama-3.1-8b", 1), "Llama3-70B": ("llama-3.3-70b", 4), "Qwen3-8B": ("qwen3-8b", 1)}
"""Model of the catalog, and GPUs: four for the 70B, an assumption."""
DRAFT_MODELS = {"Llama3-70B": "llama-3.2-1b", "Qwen3-8B": "qwen3-0.6b"}
"""Drafts of the rows with a draft model: an assumption, the source does not name them here."""
DRAFT_TOKENS = 3
"""As in the same source's speed-ups; an assumption."""
CONTEXT_TOKENS = 300
"""Of each sequence, an assumption: what most of the source's data sets come to."""


class Shares(NamedTuple):
    """Shares of a step [0 to 1]."""

    draft: float
    verify: float
    sample: float
    overhead: float


class TimeShare(NamedTuple):
    """One configuration."""

    model: str
    method: str
    sequences: int
    measured: Shares
    predicted: Shares


def time_shares(folder: Path) -> list[TimeShare]:
    """All configurations of the file in a folder; none where there is no file."""
    path = folder / FILE
    if not path.is_file():
        return []
    found = []
    for _, line in csv_cells.read_lines(path, lambda columns: None):
        measured = Shares(*(float(line[part]) for part in PARTS))
        model, method, sequences = line["model"], line["method"], int(line["bs"])
        found.append(TimeShare(model, method, sequences, measured, _predicted(model, method, sequences)))
    return found


def _predicted(model: str, method: str, sequences: int) -> Shares:
    name, split = TARGETS[model]
    speculation = _speculation(model, method)
    served = {
        "gpu": "h100-sxm",
        "replicas": 1,
        "price": 1.0,
        "target": {"model": name, "weights": "bf16", "kv": "bf16", "tensor_parallel": split},
        "engine": {"policy": "vllm"},
    }
    deployment = Deployment.model_validate(served | ({"speculation": speculation} if speculation else {}))
    k = deployment.speculation.draft_tokens
    shape = StepShape(sequences, sequences * (k + 1), float(sequences * CONTEXT_TOKENS), 0, 0, 0.0, k)
    return shares_of(build_step_model(deployment).cost(shape))


def _speculation(model: str, method: str) -> dict[str, Any] | None:
    drafts: dict[str, dict[str, Any]] = {
        "EAGLE": {"head": {"method": "eagle"}},
        "EAGLE-3": {"head": {"method": "eagle3", "vocab_size": 32000}},
        "n-gram": {"ngram": {}},
        "draft-model": {"model": DRAFT_MODELS.get(model)},
    }
    if method not in drafts:
        return None
    acceptance = {"all": {"tokens_per_step": 2.0, "at": DRAFT_TOKENS}}
    propose = {"shape": "chain", "draft_tokens": DRAFT_TOKENS}
    return {"kind": "drafts", "drafts": {"draft": drafts[method] | {"acceptance": acceptance}}, "propose": propose}


def shares_of(cost: StepCost) -> Shares:
    """The source's four parts of a step's cost; what it costs is all that the target computes in verify.

    >>> shares_of(StepCost(linear_s=0.006, attention_s=0.002, draft_s=0.002)).draft
    0.2
    """
    verify_s = cost.linear_s + cost.experts_s + cost.attention_s + cost.collectives_s
    return Shares(*(part / cost.total_s for part in (cost.draft_s, verify_s, cost.sampling_s, cost.overhead_s)))
