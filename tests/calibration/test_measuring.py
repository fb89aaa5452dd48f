"""The measuring run: steps of the wanted shape, a file that survives a kill, blocks in random order, noise told."""

import subprocess
import sys
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from time import perf_counter

import pytest

pytest.importorskip("torch", reason="measuring needs torch")

import torch

from calibration.measure import measure, parser
from calibration.measuring import session, store
from calibration.measuring.noise import drift, half_width, repeats, verdict
from calibration.measuring.padded import assume
from calibration.measuring.points import Bounds, Point, points
from calibration.measuring.session import Pace, measure_steps
from calibration.measuring.steps import Stage, Taken
from calibration.measuring.store import MeasurementError, Store
from engine.commands.setup import Workbench
from engine.drafters.union import Union
from engine.loop import EngineOptions
from engine.model import Model
from engine.scheduler import Limits
from engine.sequence import Request, SequenceState
from engine.trace import StepCost, StepRow, StepShape
from engine.trees import tree_of_widths
from tests.engine.test_asynchronous import here
from tests.engine.toys import make_drafter, tiny_weights

ROOT = Path(__file__).parents[2]
HEADER = {"device": {"name": "this"}, "model": {"name": "tiny"}, "options": {}, "quick": True}
BOUNDS = Bounds(max_num_seqs=4, max_num_batched_tokens=64, max_model_len=128, cache_tokens=600)
PACE = Pace(steps=2, least_blocks=2, most_blocks=3, tight=0.5, budget_s=60.0)


class FakeStage:
    """An engine whose steps take as long as they have rows."""

    bounds = BOUNDS

    def __init__(self, die_at=None):
        self.visited = []
        self.die_at = die_at

    def visit(self, point, steps):
        self.visited.append(point.key)
        if len(self.visited) == self.die_at:
            raise KeyboardInterrupt
        shape = StepShape(point.sequences, point.rows, 1.0, point.prompts, 0, 0.0, point.draft_tokens)
        return [
            Taken(StepRow(0.0, shape, StepCost(linear_s=point.rows * 1e-3), 0.0, 0, 0, 0, 0, "nothing", 0), 1e-6)
        ] * steps


def run(path, stage, **more):
    kept = Store(path, HEADER, **more)
    measure_steps(kept, {False: stage}, PACE, quick=True, seed=3, say=lambda *what: None)
    return kept


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path):
    whole, first = FakeStage(), FakeStage(die_at=9)
    run(tmp_path / "whole.json", whole)

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "file.json", first)
    second = FakeStage()
    kept = run(tmp_path / "file.json", second)

    assert first.visited[:8] + second.visited == whole.visited
    assert {key: len(seen) for key, seen in kept.data["visits"].items()} == {
        key: len(seen) for key, seen in store.read_measurements(tmp_path / "whole.json")["visits"].items()
    }


KILLED = """
import os, signal, sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("pydantic", "pandas", "pyarrow", "scipy", "typer", "simulator", "scenarios", "app"):
            raise ImportError(f"{name} must not be needed")
sys.meta_path.insert(0, Blocked())
import calibration.measure
from calibration.measuring.store import Store
from pathlib import Path
kept = Store(Path(sys.argv[1]), {"device": {"name": "this"}, "model": {"name": "tiny"}, "options": {}, "quick": True})
for number in range(5):
    kept.add_visit("point", [number])
replace = Path.replace
Path.replace = lambda self, target: os.kill(os.getpid(), signal.SIGKILL)
kept.add_visit("point", [5])
"""


def test_measuring_needs_nothing_of_the_planner_and_a_kill_loses_one_visit_at_most(tmp_path):
    file = tmp_path / "file.json"

    done = subprocess.run([sys.executable, "-c", KILLED, file], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == -9, done.stderr
    assert Store(file, HEADER).visits("point") == [[0], [1], [2], [3], [4]]


def test_measurements_of_another_device_are_not_mixed_in(tmp_path):
    Store(tmp_path / "file.json", HEADER).save()

    with pytest.raises(MeasurementError, match=r"holds measurements of another device.*--force"):
        Store(tmp_path / "file.json", HEADER | {"device": {"name": "other"}})
    assert Store(tmp_path / "file.json", HEADER | {"device": {"name": "other"}}, fresh=True).data["visits"] == {}


def test_every_block_visits_all_points_in_an_order_of_its_own(tmp_path):
    stage = FakeStage()
    run(tmp_path / "file.json", stage)
    references = {p.key for p in session.reference_points(False, BOUNDS)}

    grid = [key for key in stage.visited if key not in references]
    half = len(grid) // 2

    assert set(grid[:half]) == set(grid[half:])
    assert grid[:half] != grid[half:]
    assert all(Counter(stage.visited)[key] >= 4 for key in references)


def test_a_point_whose_median_is_tight_is_left_out_of_later_blocks(tmp_path):
    kept = run(tmp_path / "file.json", FakeStage())

    assert {len(seen) for key, seen in kept.data["visits"].items() if "reference" not in key} == {3}


def test_held_out_points_are_none_of_the_grid():
    found = points(True, Bounds(16, 512, 2048, 8192), quick=False)

    held = {p._replace(held_out=False) for p in found if p.held_out}
    assert len(held) == 7
    assert not held & {p for p in found if not p.held_out}


@pytest.fixture(scope="module")
def bench():
    weights = tiny_weights(dtype=torch.float32)

    def drafter():
        return make_drafter("noisy_target", weights, blocks=150)

    options = EngineOptions(150, Limits(128, max_num_seqs=8, max_num_batched_tokens=64), 4, 3)
    return Workbench("tiny", Model(weights), None, options, drafter, 0, perf_counter, 0.0)


@pytest.mark.parametrize(
    "point",
    [
        Point(False, 3, 0, 40), Point(True, 2, 3, 40), Point(False, prompts=2, prompt_tokens=10),
        Point(True, 2, 2, 30, 1, 20),
    ],
    ids=lambda point: point.key,
)  # fmt: skip
def test_a_visit_takes_steps_of_the_wanted_shape(bench, point):
    stage = Stage(bench, drafted=point.drafted)

    taken = stage.visit(point, 3)

    shapes = [step.row.shape for step in taken]
    assert len(shapes) == 3
    assert {(s.sequences, s.verify_tokens, s.prefill_tokens) for s in shapes} == {
        (point.sequences, point.sequences * (point.draft_tokens + 1), point.prompts * point.prompt_tokens)
    }
    assert all(abs(s.context_tokens - point.sequences * point.context) <= 4 * point.sequences for s in shapes)
    assert stage.engine.scheduler.idle()


@pytest.mark.parametrize("name", ["union", "tree", "table's tree", "ahead"])
def test_drafts_are_filled_up_to_the_rows_that_a_step_is_to_have(bench, name):
    weights = tiny_weights(dtype=torch.float32)
    shape = tree_of_widths([2, 1])
    made = {
        "union": lambda: Union([make_drafter("lookup", weights), make_drafter("ngram", weights)]),
        "tree": lambda: make_drafter("noisy_target", weights, blocks=150, shape=shape),
        "table's tree": lambda: make_drafter("ngram", weights, shape=shape),
        "ahead": lambda: here(weights, payload="ids"),
    }
    stage = Stage(replace(bench, new_drafter=made[name]), drafted=True, most_drafted=4)

    taken = [
        step.row.shape for point in (Point(True, 2, 4, 40), Point(True, 2, 3, 40)) for step in stage.visit(point, 3)
    ]

    assert [(s.verify_tokens, s.draft_tokens) for s in taken] == [(10, 4)] * 3 + [(8, 3)] * 3
    assert stage.bounds.most_drafted == 4


def test_the_cpus_seconds_are_refused_where_a_step_waits_for_another_process(tmp_path):
    words = f"--draft noisy_target --draft-process ids --clock cpu --out {tmp_path}/file.json"

    with pytest.raises(MeasurementError, match="--clock wall"):
        measure(parser().parse_args(words.split()), lambda *said: None)


def test_no_more_is_drafted_than_a_tree_has_nodes():
    few, many = (points(True, BOUNDS._replace(most_drafted=most), quick=False) for most in (4, 12))

    assert {p.draft_tokens for p in few if p.sequences == 1} == {1, 2, 3, 4}
    assert max(p.draft_tokens for p in many) == 12


def test_sequences_of_a_measured_step_have_their_blocks_scattered_over_the_cache(bench, monkeypatch):
    stage, tables = Stage(bench, drafted=False), []

    def remember(self, start_s):
        tables.append([list(sequence.table.blocks) for sequence in self.engine.scheduler.running.values()])
        self.engine.step(start_s())

    monkeypatch.setattr(Stage, "_step", lambda self: remember(self, self.engine.clock))
    stage.visit(Point(False, sequences=3, context=40), 1)

    pairs = [pair for blocks in tables[0] for pair in pairwise(blocks)]
    assert len(tables[0]) == 3
    assert sum(second == first + 1 for first, second in pairs) < len(pairs) / 2


def test_a_long_prompt_is_measured_in_its_chunks(bench):
    taken = Stage(bench, drafted=False).visit(Point(False, prompts=1, prompt_tokens=80), 2)

    assert {step.row.shape.prefill_tokens for step in taken} == {64, 16}


def test_noise_is_told_by_its_cause():
    assert verdict(0.01, 0.02, 0.1, 0) == []
    assert [text.split(" (")[0] for text in verdict(0.08, 0.3, 4.0, 0)] == [
        "the same step differs by 8.0% between two visits",
        "a reference step drifted by 30.0% over the run",
        "4 other processes wanted to run before it began",
    ]


def test_others_may_have_the_cores_that_the_measurement_leaves_free():
    assert verdict(0.01, 0.02, 1.2, 1) == []
    assert verdict(0.01, 0.02, 1.2, 0) == ["1.2 other processes wanted to run before it began (limit 0.5)"]


def test_one_hiccup_is_no_drift_and_few_visits_give_no_interval():
    assert drift({"a": [1.0, 1.0, 1.0, 1.0, 9.0]}) == 0.0
    assert drift({"a": [1.0, 1.0, 1.5, 1.5, 1.5]}) > 0.3
    assert repeats({"a": [1.0, 1.1], "b": [1.0]}) == pytest.approx(0.1)
    assert half_width([1.0, 1.0]) == float("inf")


@pytest.mark.parametrize("name", ["head", "noisy_target"])
def test_a_draft_of_a_union_does_not_compute_a_context_that_is_assumed(name):
    weights = tiny_weights()
    drafts = [make_drafter("lookup", weights), make_drafter(name, weights)]
    sequence = SequenceState(0, Request(tuple(range(9)), 4), 2, 4, None, list(range(9)))

    assume(Union(drafts), sequence)

    assert len(drafts[1].catch_up(sequence).tokens) == 1
