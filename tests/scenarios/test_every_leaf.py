"""Nothing in a scenario is without effect: each leaf of the schema changes an output, or its new value is refused."""

import json
from typing import get_args, get_origin

import numpy as np
import pytest

from scenarios.load import load_scenario
from scenarios.shape import bare, branches, is_model, kinds
from scenarios.store import resolved_document
from simulator.errors import ScenarioError
from simulator.physics.ledger import memory_ledger
from simulator.planning.estimate import estimate
from simulator.planning.provenance import provenance
from simulator.planning.study import study, to_json_ready
from simulator.run import simulate_once
from simulator.spec.scenario import Scenario
from tests.scenarios.leaves import LEAVES
from tests.scenarios.speculation_leaves import SPECULATION

BASE = """\
schema_version: 1
name: leaf
description: What changes?
seed: 7
replications: 1
workload:
  arrivals: {kind: poisson, rate_per_s: 8}
  lengths: {kind: fixed, prompt_tokens: 300, output_tokens: 40}
  horizon: {requests: 80, warmup_requests: 10}
slo: {tpot_s: {p95: 0.05}}
deployments:
  it:
    gpu: h200-sxm
    replicas: 1
    price: 3
    target: {model: llama-3.1-8b, weights: bf16}
    engine: {policy: vllm, max_model_len: 8192}
"""


def simulated(loaded):
    requests = simulate_once(loaded.points[0].scenario, "it", 0).requests
    return [np.asarray(getattr(requests, name)).tolist() for name in requests.__dataclass_fields__]


OUTPUTS = {
    "requests": simulated,
    "study": lambda loaded: to_json_ready(study(loaded.points[0].scenario)),
    "estimate": lambda loaded: estimate(loaded.points[0].scenario, "it"),
    "memory": lambda loaded: memory_ledger("it", loaded.points[0].scenario.deployments["it"]),
    "provenance": lambda loaded: provenance(loaded.points[0].scenario),
    "file": resolved_document,
}
"""What `run`, `estimate` and `memory` tell, and what a run folder says of where it comes from."""


def row(number, step_s):
    """A row of a trace of our own."""
    return json.dumps({"arrival_s": number * step_s, "prompt_tokens": 100 + number, "output_tokens": 10})


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    """Loads BASE with sets, in which TRACE and OTHER_TRACE are files."""
    folder = tmp_path_factory.mktemp("traces")
    for name, step_s in (("TRACE", 0.1), ("OTHER_TRACE", 0.2)):
        (folder / name).write_text("\n".join(row(number, step_s) for number in range(60)))

    def load_with(sets):
        files = [text.replace("file: TRACE", f"file: {folder}/TRACE") for text in sets]
        return load_scenario("leaf.yaml", [text.replace("=OTHER", f"={folder}/OTHER") for text in files], text=BASE)

    return load_with


@pytest.mark.parametrize("leaf", [*LEAVES, *SPECULATION], ids=lambda leaf: leaf.place)
def test_a_leaf_changes_an_output_or_is_refused(leaf, load):
    before = load(leaf.given)

    if leaf.output == "refused":
        with pytest.raises(ScenarioError):
            load([*leaf.given, leaf.new])
    else:
        of = OUTPUTS[leaf.output]
        assert repr(of(load([*leaf.given, leaf.new]))) != repr(of(before))


def leaves(annotation, place=""):
    """Places of the schema below which there are no more keys of specfleet's own."""
    options = branches(bare(annotation))
    for option in options:
        here = place if len(options) == 1 else f"{place}[{label(option)}]"
        values = get_args(option)[1] if get_origin(option) is dict else None
        if is_model(option):
            for name, field in option.model_fields.items():
                yield from leaves(field.annotation, f"{here}.{name}".removeprefix("."))
        elif values is not None and any(is_model(branch) for branch in branches(bare(values))):
            yield from leaves(values, f"{here}.*")
        else:
            yield here


def label(option):
    """Name of a branch: its kind or shape, or its type's name."""
    return next(iter(kinds(option)), None) or option.__name__


def test_the_table_holds_every_leaf_of_the_schema_and_no_other():
    assert sorted(leaf.place for leaf in [*LEAVES, *SPECULATION]) == sorted(set(leaves(Scenario)))
