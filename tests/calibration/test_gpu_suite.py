"""The suite for a GPU, on a CPU: what it finds wrong, what it goes on after, and what it times."""

import json
import operator
import os
import time

import pytest

pytest.importorskip("torch", reason="measuring needs torch")

import torch

from calibration.measuring import gpu_paths, gpu_suite
from calibration.measuring.apart import Apart
from calibration.measuring.gpu_paths import WAYS, Way, checked, modes_of
from calibration.measuring.gpu_trees import Verified
from calibration.measuring.store import MeasurementError
from engine.drafters import model_draft
from engine.graphs import Graphs, PaddedPass
from engine.kv_cache import KvStore
from engine.model import Model
from engine.trees import tree_of_widths
from tests.engine.toys import tiny_weights

torch.set_num_threads(1)
HERE = [name for name, way in WAYS.items() if way.beside is None]
FEW = ("plain", "chain", "tree", "union", "draft_kv_fp8", "moe_subset")


def test_it_runs_through_on_tiny_models(monkeypatch, tmp_path):
    monkeypatch.setattr(gpu_suite, "WAYS", ["plain", "tree", "asynchronous"])

    found = gpu_suite.measure_gpu(tmp_path / "gpu.json", "cpu", tiny=True)

    assert found["correct"] == {"graph_equals_eager": True, "equals_cpu": True}
    assert {row["tokens"] for row in found["step_8b"]} == {1, 4}
    assert {(row["sequences"], row["rows"]) for row in found["verify_8b"]} == {(2, 5), (2, 11)}
    assert {name: path["ok"] for name, path in found["paths"].items()} == dict.fromkeys(found["paths"], True)
    assert 0 < found["paths"]["asynchronous"]["eager"]["acceptance_rate"] < 1
    assert json.loads((tmp_path / "gpu.json").read_text()) == json.loads(json.dumps(found))


def test_a_path_that_fails_stops_no_other_and_is_named_in_the_end(monkeypatch, tmp_path):
    out, fine = tmp_path / "gpu.json", {"ok": True}
    parts = {"ceilings": lambda: 1 / 0, "correct": lambda: {"equals_cpu": False}, "step_8b": list,
             "paths.a": lambda: {}["a"], "paths.b": lambda: fine}  # fmt: skip
    monkeypatch.setattr(gpu_suite, "_parts", lambda *_: parts.items())

    with pytest.raises(MeasurementError, match=r"gpu.json: failed: ceilings, correct, paths.a; why stands there"):
        gpu_suite.measure_gpu(out, "cpu", tiny=True)

    found = json.loads(out.read_text())
    assert found["ceilings"] == {"ok": False, "why": "ZeroDivisionError: division by zero"}
    assert (found["step_8b"], found["paths"]) == ([], {"a": {"ok": False, "why": "KeyError: 'a'"}, "b": fine})


def test_no_part_is_begun_when_time_is_up(monkeypatch, tmp_path):
    monkeypatch.setattr(gpu_suite, "BUDGET_S", -1.0)

    gpu_suite.measure_gpu(tmp_path / "gpu.json", "cpu", tiny=True)

    found = json.loads((tmp_path / "gpu.json").read_text())
    assert found["left_out"][:2] == ["correct", "ceilings"]
    assert len(found["left_out"]) == 5 + len(WAYS)


def test_a_device_that_is_not_there_is_told_before_anything_is_measured(monkeypatch, tmp_path):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)

    with pytest.raises(MeasurementError, match="--device cuda: no CUDA device is at hand; to try the suite"):
        gpu_suite.measure_gpu(tmp_path / "gpu.json", "cuda", tiny=True)


class Replayed:
    """Stands for a captured graph: computes the padded pass again into the same logits."""

    def __init__(self, padded_pass, logits):
        self.padded_pass, self.logits = padded_pass, logits

    @torch.inference_mode()
    def replay(self):
        self.logits.copy_(self.padded_pass.compute())


@pytest.fixture
def padded_passes(monkeypatch):
    """Lets models without experts compute as on a GPU, but for the capture."""

    def capture(graphs, *key):
        padded_pass = PaddedPass(graphs._model, graphs._store, *key)
        padded_pass.inputs[2].fill_(graphs._store.spare_slot)
        logits = padded_pass.compute()
        return padded_pass, Replayed(padded_pass, logits), logits

    def passes(model, store):
        in_graphs = Graphs(model, store).forward
        return in_graphs if model.architecture.mixture is None else lambda batch: model.forward(batch, store)

    monkeypatch.setattr(Graphs, "_capture", capture)
    monkeypatch.setattr("engine.loop.passes", passes)
    monkeypatch.setattr(model_draft, "passes", passes)


@pytest.mark.parametrize("name", [n if n in FEW else pytest.param(n, marks=pytest.mark.slow) for n in HERE])
def test_every_way_to_draft_is_right_eagerly_and_in_padded_passes(padded_passes, name):
    eager = checked(name, "cpu", "eager")
    captured = eager if WAYS[name].target.mixture else checked(name, "cpu", "graphs")

    assert (eager.get("why"), captured.get("why")) == (None, None)
    assert captured == eager | {"graphs": captured["graphs"]}
    assert (eager["graphs"], captured["graphs"] > 0) == (0, WAYS[name].target.mixture is None)


def test_a_tree_whose_path_is_not_moved_is_told(monkeypatch):
    monkeypatch.setattr(KvStore, "move", lambda *_: None)

    found = checked("tree", "cpu", "eager")

    assert not found["ok"]
    assert found["why"].startswith("8 of 8 outputs are not those of plain decoding (request 0 first)")


def test_a_draft_that_proposes_something_else_than_on_the_cpu_is_told(monkeypatch):
    other = Way(gpu_paths._alone("noisy_target", epsilon=0.3), beside=gpu_paths.CHAIN)
    monkeypatch.setitem(WAYS, "chain", other)

    found = checked("chain", "cpu", "eager")

    told = f"{found['accepted_tokens']} of {found['drafted_tokens']} draft tokens accepted instead of 111 of 255"
    assert found["why"] == f"other drafts than on the CPU: {told}"
    assert found["acceptance_rate"] < found["acceptance_rate_on_cpu"] == 111 / 255


def test_a_run_that_was_to_use_graphs_and_did_not_is_told():
    assert checked("chain", "cpu", "graphs")["why"] == "no pass was captured as a graph"


def test_eager_passes_are_tried_though_graphs_fail_and_the_other_way_round():
    def check(name, device, mode):
        return {"ok": True, "acceptance_rate": 0.5} if mode == "eager" else 1 / 0

    found = gpu_suite.path("chain", "cuda", check)

    assert (found["ok"], found["why"]) == (False, "graphs: ZeroDivisionError: division by zero")
    assert found["eager"] == {"ok": True, "acceptance_rate": 0.5}
    assert {way: modes for way in WAYS if len(modes := modes_of(way, "cuda")) == 1} == {
        **dict.fromkeys((way for way in WAYS if way.startswith(("mixture", "moe"))), ("eager",)),
        **dict.fromkeys(("asynchronous", "asynchronous_on_cpu"), ("graphs",)),
    }


def test_a_process_that_fails_crashes_or_hangs_is_followed_by_a_new_one():
    told = []
    with Apart(operator.call, 60.0) as apart:
        for job in ((int, "x"), (os._exit, 3)):
            with pytest.raises(MeasurementError) as caught:
                apart(*job)
            told.append(str(caught.value))
        after = apart(len, "abc")
    with Apart(operator.call, 0.1) as hasty, pytest.raises(MeasurementError, match=r"^not done within 0.1 s$"):
        hasty(time.sleep, 60)

    assert told == ["ValueError: invalid literal for int() with base 10: 'x'", "its process ended with exit code 3"]
    assert after == 3


def verified(widths):
    return Verified(Model(tiny_weights()), 2, 8, tree_of_widths(widths))


def test_a_tree_of_width_one_is_verified_like_the_chain_and_a_wider_one_is_not():
    narrow, wide = (
        torch.equal(*(steps.step(branched=branched, graph=False) for branched in (True, False)))
        for steps in map(verified, ([1, 1, 1], [2, 1]))
    )

    assert (narrow, wide) == (True, False)


def test_the_last_path_of_a_tree_is_moved_behind_its_root():
    steps = verified([2, 1])
    keys = steps._store.keys[0]
    keys.copy_(torch.arange(len(keys)).view(-1, 1, 1).expand_as(keys))

    steps.keep_path()

    moved = {slot: int(value) for slot, value in enumerate(keys[:, 0, 0].tolist()) if slot != value}
    assert moved == {9: 10, 10: 12, 25: 26, 26: 28}


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize(("name", "mode"), [(name, mode) for name in WAYS for mode in modes_of(name, "cuda")])
def test_every_way_to_draft_is_right_on_a_gpu(name, mode):
    assert checked(name, "cuda", mode).get("why") is None
