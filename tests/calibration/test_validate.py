"""Predicted against measured: rows replayed as they were run, reasons instead of exceptions, honest aggregates."""

import subprocess
import sys
from dataclasses import replace
from math import isfinite, isnan, nan
from pathlib import Path

import pytest

from calibration import validate as module
from calibration.benchmark import replay
from calibration.rows import case_of
from calibration.scores import by_group, score, scores, summary, worst
from calibration.serving_csv import ServingRow, read_serving
from calibration.validate import Outcome, outcome, protocol_of, step_model, validate

PUBLISHED = Path(__file__).parents[1] / "published" / "validation_rows.csv"
ROW = ServingRow(
    id="a", line=2, engine="vllm", gpu="h200-sxm", model="llama-3.1-70b", precision="fp8", load="closed_loop", tp=2,
    isl=1024, osl=1024, concurrency=16, pp=nan, dp=nan, moe_tp=nan, moe_ep=nan, ttft_ms=400.0, tpot_ms=20.0,
    output_tokens_per_s_per_gpu=nan, source="",
)  # fmt: skip
TRTLLM = ROW._replace(engine="trtllm")


@pytest.fixture(scope="module")
def published():
    return validate(PUBLISHED)


def made(tpot_s, tokens_per_s=nan, **changes):
    row = ROW._replace(tpot_ms=10.0, ttft_ms=nan, output_tokens_per_s_per_gpu=100.0, **changes)
    return Outcome(row, "g", "held_out", nan, tpot_s, tokens_per_s, 8.0)


# Rows.


def test_every_published_row_is_predicted_or_says_why(published):
    for one in published.outcomes:
        assert one.reason or isfinite(one.tokens_per_s)
        assert one.reason or one.row.load != "closed_loop" or (one.ttft_s > 0 and one.tpot_s > 0)

    assert sum(not one.reason for one in published.outcomes) >= len(published.outcomes) - 1


def test_dense_rows_come_within_a_third(published):
    dense = [one for one in published.outcomes if "70b" in one.row.model and one.row.load == "closed_loop"]

    assert len(dense) == 7
    assert all(abs(one.tpot_s / (one.row.tpot_ms * 1e-3) - 1) < 0.33 for one in dense)


def test_outcomes_stand_in_the_order_of_the_file(published):
    assert [one.row.id for one in published.outcomes] == [row.id for row in read_serving(PUBLISHED)]


@pytest.mark.slow
def test_the_result_does_not_depend_on_the_number_of_processes(published):
    seen = []

    both = validate(PUBLISHED, 2, lambda done, total: seen.append((done, total)))

    assert repr(both) == repr(published)
    assert seen[-1] == (len(both.outcomes), len(both.outcomes))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"gpu": "h2000"}, "h2000"),
        ({"model": "llama-9"}, "llama-9"),
        ({"engine": "mystery"}, "mystery"),
        ({"precision": ""}, "no precision"),
        ({"precision": "int3"}, "int3"),
        ({"pp": 2.0}, "pipeline"),
        ({"tp": 1, "model": "llama-3.1-405b"}, "no room"),
    ],
)
def test_a_row_that_cannot_be_predicted_says_why(changes, says):
    found = outcome(ROW._replace(**changes))

    assert says in found.reason
    assert "internal" not in found.reason
    assert isnan(found.tpot_s)


def test_what_a_row_meets_never_ends_the_run(monkeypatch):
    monkeypatch.setattr(module, "replay_model", lambda protocol, model: 1 / 0)

    assert outcome(ROW).reason == "internal error: ZeroDivisionError: division by zero"


def test_a_measurement_faster_than_its_kernels_is_flagged():
    assert "faster than its kernels" in outcome(ROW._replace(tpot_ms=5.0)).flag
    assert outcome(ROW).flag == ""


def test_rows_that_are_not_comparable_carry_the_reason_and_count_in_no_figure(published):
    found = summary(published)

    assert found["skipped"]
    assert found["overall"]["count"] == len(published.outcomes) - len(found["skipped"])


def test_a_queue_at_the_start_has_a_rate_and_no_latencies(published):
    queued = [one for one in published.outcomes if one.row.load == "queued_at_once"]

    assert queued
    assert all(isnan(one.ttft_s) and one.tokens_per_s > 0 for one in queued)


def test_prompts_longer_than_a_step_are_split():
    case = case_of(TRTLLM)

    assert not protocol_of(case).chunked
    assert protocol_of(case._replace(protocol=replace(case.protocol, token_budget=512))).chunked


# Aggregates.


def test_errors_are_those_of_a_hand_computed_example():
    found = score([1.1, 0.8, 1.0, nan])

    assert found["count"] == 3
    assert found["median_ape"] == pytest.approx(0.1)
    assert found["mean_ape"] == pytest.approx(0.1)
    assert found["bias"] == pytest.approx(-0.1 / 3)


def test_a_group_counts_what_was_not_predicted_but_takes_no_error_from_it():
    failed = made(nan)._replace(reason="no room")

    found = scores([made(0.011), failed])

    assert (found["count"], found["share_predicted"], found["tpot"]["count"]) == (2, 0.5, 1)
    assert found["tpot"]["bias"] == pytest.approx(0.1)
    assert found["ttft"] == {"count": 0, "median_ape": None, "mean_ape": None, "bias": None}


def test_groups_are_told_apart_by_their_columns():
    found = by_group([made(0.01), made(0.02, gpu="b200-sxm"), made(0.01)])

    assert [(group["gpu"], group["count"]) for group in found] == [("b200-sxm", 1), ("h200-sxm", 2)]
    assert found[0]["tpot"]["bias"] == pytest.approx(1.0)


def test_the_worst_rows_are_the_furthest_off_in_either_direction():
    rows = [made(0.011, id="near"), made(0.004, id="low"), made(0.02, id="high")]

    assert [one.row.id for one in worst(rows)] == ["low", "high", "near"]


def test_one_fault_does_not_fill_the_list_of_the_worst():
    rows = [made(0.004, id=str(i)) for i in range(9)] + [made(0.009, id="other", gpu="b200-sxm")]

    assert [one.row.id for one in worst(rows)] == ["0", "1", "2", "other"]


def test_the_summary_has_the_shape_of_the_design(published):
    found = summary(published)
    metric = {"count", "median_ape", "mean_ape", "bias"}

    for group in (found["overall"], *found["groups"], *found["halves"].values()):
        assert {"count", "share_predicted", "ttft", "tpot", "output_tokens_per_s"} <= set(group)
        assert all(set(group[name]) == metric for name in ("ttft", "tpot", "output_tokens_per_s"))
    assert all({"engine", "gpu", "model", "precision", "load"} <= set(group) for group in found["groups"])
    assert all(set(row) >= {"id", "reason"} for row in found["unpredicted"])
    assert len(found["worst"]) <= 10
    assert all(row["cause"] for row in found["worst"])
    assert sum(half["count"] for half in found["halves"].values()) == found["overall"]["count"]


def test_the_likely_cause_follows_the_circumstances():
    assert outcome(TRTLLM).cause == "batch wait"
    assert outcome(ROW._replace(tp=1, isl=8192)).cause in ("KV-bound", "long prefill")
    assert outcome(ROW._replace(concurrency=2)).cause == "small batch: per-step constants"
    assert "experts" in outcome(ROW._replace(model="gpt-oss-120b", gpu="b200-sxm", precision="fp4")).cause


# The protocol: each detail moves the result as measured/README.md says.


def shift(row, kv_held=None, **changes):
    """TTFT and TPOT with a change ÷ without."""
    case = case_of(row, kv_held)
    protocol, model = protocol_of(case), step_model(case)
    base, moved = replay(protocol, model), replay(replace(protocol, **changes), model)
    return moved.ttft_s / base.ttft_s, moved.tpot_s / base.tpot_s


def test_fixed_nominal_lengths_run_in_lockstep():
    assert shift(ROW, shortest=1.0)[0] > 1.3


def test_without_the_opening_burst_the_first_token_comes_sooner():
    assert shift(ROW, skip_burst=True)[0] < 0.9


SPREAD = TRTLLM._replace(gpu="b200-sxm", model="gpt-oss-120b", precision="fp4", tp=1, dp=4, moe_tp=1, moe_ep=4)


def test_data_parallel_ranks_wait_for_each_other_only_where_there_are_several():
    assert protocol_of(case_of(SPREAD)).wait_iterations == 50
    assert protocol_of(case_of(SPREAD._replace(tp=4, dp=1, moe_tp=4, moe_ep=1))).wait_iterations == 0


def test_ranks_that_a_file_counts_twice_are_counted_once():
    case = case_of(SPREAD._replace(moe_tp=2, moe_ep=2))

    assert (case.deployment.target.data_parallel, case.deployment.target.num_gpus) == (2, 2)


def test_without_batch_wait_the_first_token_comes_sooner():
    assert protocol_of(case_of(TRTLLM)).wait_iterations == 20
    assert shift(TRTLLM, wait_iterations=0)[0] < 0.8


def test_without_a_kv_limit_nobody_queues_and_steps_are_longer():
    ttft, tpot = shift(TRTLLM, kv_held=12_000, kv_tokens=10**8)

    assert ttft < 0.5
    assert tpot > 1.02


def test_without_the_one_step_overlap_the_first_token_comes_sooner():
    ttft, tpot = shift(ROW, overlap_steps=0)

    assert 0.7 < ttft < 0.99
    assert tpot == pytest.approx(1.0, abs=0.05)


def test_without_host_time_the_first_token_comes_sooner():
    assert protocol_of(case_of(ROW)).request_host_s > 0
    assert shift(ROW, request_host_s=0.0)[0] < 0.99


# The house.


def test_it_imports_neither_torch_nor_the_engine():
    code = "import sys, calibration.validate, calibration.scores; print(*[n for n in ('torch', 'engine') if n in sys.modules])"

    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert out.strip() == ""
