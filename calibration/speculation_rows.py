"""From a row of measured speculation to the two deployments that it compares, and the requests that they served.

What a source does not say stands here as an assumption, with what it rests on.
"""

import re
from collections.abc import Mapping
from math import isfinite
from typing import Any, NamedTuple

from calibration.accepted_lengths import AcceptedLength, Key, accepted_length, word
from calibration.speculation_csv import SpeculationRow
from simulator.catalog.load import names as catalog_names
from simulator.spec.deployment import Deployment

TARGETS = {
    "llama318binstruct": "llama-3.1-8b",
    "llama318b": "llama-3.1-8b",
    "qwen330ba3binstruct2507": "qwen3-30b-a3b",
    "qwen3coder30ba3binstruct": "qwen3-30b-a3b",
}
"""Models of the catalog by the sources' names: instruct and coder versions have the shapes of the base model."""
HEADS: dict[tuple[str, str], dict[str, Any]] = {
    ("llama-3.1-8b", "eagle3"): {"vocab_size": 32000},
    ("qwen3-30b-a3b", "eagle3"): {"vocab_size": 32000, "intermediate_size": 6144},
}
"""Shapes of published heads that are not the target's own; all have one layer.

SpecForge configs/qwen3-30B-eagle3.json @d1be9542 (draft_vocab_size 32000, intermediate_size 6144), which its
checkpoints for the instruct and the coder model are taken to share; EAGLE-3 of Llama-3.1-8B: draft vocabulary 32000 by
its published configuration; EAGLE of Llama-3.1-8B keeps the target's vocabulary. Any other head is assumed to have one
layer of the target's shape, its embedding and its output head.
"""
LOOKUP_US = 1.5
"""Host time of a look-up [µs]: speculation_time_share.csv, 1.03 and 1.32 % of the steps at 64 and 128 sequences."""
LOOKUP_FINDS = {"sharegpt": 0.2, "cnn": 0.4, "gsm8k": 0.2, "instructcoder": 0.8}
"""Share of the steps that accept no token of a look-up in which it had nevertheless found something.

SpecDecode-Bench/simulator@260263c3 simulator.py, NGRAM_MATCHING_PROBABILITY.
"""
ONE_GPU = "one GPU: the source gives no tensor parallelism"


Unit = tuple[str, str, str]
"""Engine, GPU and target: what is left out together when a constant is fitted."""


class Lengths(NamedTuple):
    """Typical requests of a data set; an assumption. [tokens]"""

    prompt: int
    """Computed; what a prefix cache holds is not."""
    output: int


BUNDLE = {
    "gsm8k": Lengths(700, 150),
    "math500": Lengths(120, 600),
    "mtbench": Lengths(300, 450),
    "humaneval": Lengths(180, 400),
    "livecodebench": Lengths(500, 600),
    "financeqa": Lengths(700, 250),
    "gpqa": Lengths(280, 600),
}
"""Of SpecBundle: orders of magnitude by what SpecForge/benchmarks asks (gsm8k with five examples, mtbench with two
turns, outputs of at most 2,048 tokens); an assumption."""
DECODE_BENCH = {
    "gsm8k": Lengths(110, 150),
    "cnn": Lengths(900, 270),
    "instructcoder": Lengths(250, 215),
    "sharegpt": Lengths(230, 780),
}
"""Of SpecDecode-Bench: by the sizes of its published token lists (SpecDecode-Bench/simulator@59fc3d78
data/llama3.1-8B), the prompt by the first lists; an estimate."""
UNKNOWN_LENGTHS = Lengths(300, 400)


class SpeculationCase(NamedTuple):
    """A row, ready to be predicted."""

    row: SpeculationRow
    target: str
    """Model of the catalog."""
    method: str
    """eagle, eagle3, mtp, parallel or ngram; chain or tree."""
    plain: Deployment
    speculative: Deployment
    sequences: int
    lengths: Lengths
    tokens_per_step: float
    assumed: tuple[str, ...]
    """What the row does not say, in words."""

    @property
    def unit(self) -> Unit:
        """What is left out together when a constant is fitted."""
        return self.plain.engine.policy, self.plain.gpu, self.target


WAYS = {
    "eagle": "eagle", "eagle3": "eagle3", "eagle3chain": "eagle3", "eagle3tree": "eagle3", "ngram": "ngram",
    "mtp": "mtp", "dspark": "parallel",
}  # fmt: skip
"""How methods draft, by the sources' names."""


def case_of(row: SpeculationRow, known: Mapping[Key, float]) -> SpeculationCase | str:
    """A row made ready, or why it cannot be predicted.

    known: accepted lengths that are published apart.
    """
    if not isfinite(row.speedup):
        return "no time was measured"
    gpu, engine, target = _gpu(row.gpu), _engine(row.framework), _target(row.target)
    if not gpu:
        return f"GPU {row.gpu} is not in the catalog"
    if not engine:
        return f"engine {row.framework or '(none given)'} is not in the catalog"
    if not target:
        return f"target {row.target} is not in the catalog"
    if word(row.method) not in WAYS:
        return f"method {row.method} is not modelled"
    if not (isfinite(row.draft_len) and isfinite(row.sequences)):
        return "no draft length or no batch"
    length = _length(row, known)
    if length is None:
        return f"no accepted length of {row.method} on {row.dataset or 'its data'} is known"
    return _ready(row, _deployment(gpu, engine, target, row.tp), length)


def _length(row: SpeculationRow, known: Mapping[Key, float]) -> AcceptedLength | None:
    if isfinite(row.accept_len):
        return AcceptedLength(row.accept_len, 0.0)
    return accepted_length(known, row.target, WAYS[word(row.method)], row.dataset, int(row.draft_len))


def _ready(row: SpeculationRow, base: dict[str, Any], length: AcceptedLength) -> SpeculationCase:
    tree, target, way = _tree(row), base["target"]["model"], WAYS[word(row.method)]
    propose = tree or {"shape": "chain", "draft_tokens": int(row.draft_len)}
    drafts = {"draft": _draft(row, target, way, length)}
    speculation = {"kind": "drafts", "drafts": drafts, "propose": propose}
    assumed = () if isfinite(row.tp) else (ONE_GPU,)
    return SpeculationCase(
        row=row,
        target=target,
        method=f"{way} {'tree' if tree else 'chain'}",
        plain=Deployment.model_validate(base),
        speculative=Deployment.model_validate(base | {"speculation": speculation}),
        sequences=int(row.sequences),
        lengths=_lengths(row),
        tokens_per_step=length.tokens,
        assumed=assumed + ((length.borrowed,) if length.borrowed else ()),
    )


def _deployment(gpu: str, engine: str, target: str, tensor_parallel: float) -> dict[str, Any]:
    split = int(tensor_parallel) if isfinite(tensor_parallel) else 1
    served = {"model": target, "weights": "bf16", "kv": "bf16", "tensor_parallel": split}
    return {"gpu": gpu, "replicas": 1, "price": 1.0, "target": served, "engine": {"policy": engine}}


def _draft(row: SpeculationRow, target: str, way: str, length: AcceptedLength) -> dict[str, Any]:
    """The draft as a scenario would write it, but that it accepts nothing: what was accepted does not price a step."""
    tree = _tree(row)
    at = tree["depth"] if tree else int(row.draft_len)
    acceptance: dict[str, Any] = {"tokens_per_step": 1.0, "at": at} | ({"of": "tree"} if tree else {})
    if way != "ngram":
        head = {"method": way} | HEADS.get((target, way), {})
        return {"head": head, "acceptance": {"all": acceptance}}
    missed = LOOKUP_FINDS.get(word(row.dataset))
    if missed is not None and length.first:
        found = round(1000 * (length.first + (1.0 - length.first) * missed))
        acceptance["drafted"] = {0: 1000 - found, at: found}
    return {"ngram": {"host_us_per_sequence": LOOKUP_US}, "acceptance": {"all": acceptance}}


def _tree(row: SpeculationRow) -> dict[str, Any] | None:
    """The tree of SGLang's arguments, or nothing for a chain."""
    if not (isfinite(row.topk) and row.topk > 1):
        return None
    steps = re.search(r"steps=(\d+)", row.notes)
    nodes = int(row.draft_len) - 1
    depth = int(steps.group(1)) if steps else nodes
    return {"shape": "dynamic_tree", "depth": min(depth, nodes), "top_k": int(row.topk), "nodes": nodes}


def _lengths(row: SpeculationRow) -> Lengths:
    of = BUNDLE if row.source.startswith("SpecBundle") else DECODE_BENCH
    return of.get(word(row.dataset), UNKNOWN_LENGTHS)


def _listed(kind: str, text: str) -> str:
    """The catalog's name of what a source calls so; empty where it has none."""
    return next((name for name in catalog_names(kind) if word(name) == word(text)), "")


def _gpu(text: str) -> str:
    return _listed("gpus", text) or _listed("gpus", f"{text}-sxm")


def _target(text: str) -> str:
    return TARGETS.get(word(text)) or _listed("models", text)


def _engine(text: str) -> str:
    return _listed("engines", text.split(" ")[0])
