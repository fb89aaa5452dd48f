"""The trace: the seam's columns, what adds up, and what it costs."""

import csv
import json
from dataclasses import fields
from time import perf_counter

import pytest

from engine import trace
from engine.measure import Marks, step_row
from engine.scheduler import Plan
from engine.trace import REQUEST_COLUMNS, STEP_COLUMNS, write_trace
from simulator.physics import step
from tests.engine.toys import make_engine, random_prompts, serve, tiny_weights


def test_shape_and_cost_are_the_planners():
    assert trace.StepShape._fields == step.StepShape._fields
    assert [f.name for f in fields(trace.StepCost)] == [f.name for f in fields(step.StepCost)]
    assert STEP_COLUMNS[1:16] == (*step.StepShape._fields, *step.CAUSES)


def test_cost_sums_as_the_planners_does():
    values = [2.0**-i for i in range(8)]
    cost = trace.StepCost(*(0.0 if name in ("experts_s", "collectives_s") else v
                            for name, v in zip(step.CAUSES, values, strict=True)))  # fmt: skip

    assert cost.total_s == step.StepCost(*(getattr(cost, name) for name in step.CAUSES)).total_s


@pytest.fixture(scope="module")
def served():
    engine = make_engine(tiny_weights(), draft="noisy_target", blocks=22, max_num_batched_tokens=40)
    return engine, serve(engine, random_prompts(40))


def test_steps_add_up_to_requests(served):
    engine, sequences = served
    shapes = [row.shape for row in engine.steps]

    assert sum(r.committed_tokens for r in engine.steps) == sum(s.committed_tokens for s in sequences)
    assert sum(r.emitted_tokens for r in engine.steps) == sum(s.num_output for s in sequences)
    assert sum(s.sequences for s in shapes) == sum(s.steps for s in sequences)
    assert sum(s.verify_tokens - s.sequences for s in shapes) == sum(sum(s.drafted_at) for s in sequences)
    assert all(s.accepted_at == sorted(s.accepted_at, reverse=True) for s in sequences)


def test_rows_never_exceed_the_budget_nor_blocks_the_cache(served):
    engine, _ = served

    assert all(r.shape.verify_tokens + r.shape.prefill_tokens <= 40 for r in engine.steps)
    assert 0 < max(r.kv_blocks for r in engine.steps) <= 22


def test_causes_are_never_negative_and_fill_the_step(served):
    engine, _ = served
    for row, after in zip(engine.steps, engine.steps[1:], strict=False):
        cost = [getattr(row.cost, name) for name in step.CAUSES]

        assert min(cost) >= 0.0
        assert row.cost.total_s <= after.start_s - row.start_s
        assert row.schedule_s <= row.cost.overhead_s


def test_times_of_a_request_are_in_order(served):
    _, sequences = served

    assert all(s.scheduled_s < s.first_token_s <= s.finish_s for s in sequences)


def test_files_hold_what_was_recorded(served, tmp_path):
    engine, sequences = served

    write_trace(tmp_path / "out", engine.steps, sequences, {"threads": 1})

    with (tmp_path / "out" / "steps.csv").open(encoding="utf-8") as file:
        steps = list(csv.DictReader(file))
    with (tmp_path / "out" / "requests.csv").open(encoding="utf-8") as file:
        requests = list(csv.DictReader(file))
    assert tuple(steps[0]) == STEP_COLUMNS
    assert tuple(requests[0]) == REQUEST_COLUMNS
    assert sum(int(row["emitted_tokens"]) for row in steps) == sum(int(row["output_tokens"]) for row in requests)
    assert json.loads((tmp_path / "out" / "about.json").read_text()) == {"threads": 1}


def test_rounds_say_what_each_verify_step_drafted_and_accepted(served, tmp_path):
    engine, sequences = served
    write_trace(tmp_path, engine.steps, sequences, {})

    for s in sequences:
        assert len(s.rounds) == s.steps
        assert sum(drafted for drafted, _ in s.rounds) == sum(s.drafted_at)
        assert sum(accepted + 1 for _, accepted in s.rounds) == s.committed_tokens
    with (tmp_path / "requests.csv").open(encoding="utf-8") as file:
        row = next(csv.DictReader(file))
    assert [int(n) for n in row["accepted_by_round"].split()] == [accepted for _, accepted in sequences[0].rounds]


def test_a_row_costs_microseconds():
    plan = Plan([], [], 0, "nothing", ())
    rows, best = [], 1.0
    for _ in range(20):
        start = perf_counter()
        rows += [step_row(plan, [], [], [], None, Marks(perf_counter)) for _ in range(100)]
        best = min(best, (perf_counter() - start) / 100)

    assert best < 50e-6
