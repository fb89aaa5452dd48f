"""Constants: found where they are known, fitted on half of the groups, never on rows that stand apart."""

import numpy as np
import pandas as pd
import pytest

from calibration.fit_constants import CONSTANTS, Linear, cases, constants_at, halves, solve
from calibration.rows import case_of, skip_reason
from calibration.versions import OLD_TRTLLM_EXTRA_US, OLD_VLLM_FACTOR, is_old, older
from simulator.catalog.load import load_profile

ROW = {
    "id": "x", "engine": "trtllm", "gpu": "h200-sxm", "model": "llama-3.1-70b", "precision": "fp8", "tp": 4.0, "dp": 1.0,
    "moe_ep": 1.0, "isl": 1024, "osl": 1024, "load": "closed_loop", "concurrency": 16.0, "ttft_ms": 282.0,
    "tpot_ms": 8.9, "output_tokens_per_s_per_gpu": float("nan"), "measured_on": "2025-10-29",
}  # fmt: skip


def row(**changes):
    return next(pd.DataFrame([ROW | changes]).itertuples())


def test_every_other_group_is_judged_and_none_is_both():
    fitted, judged = halves(["c", "a", "b", "a", "d"])

    assert (fitted, judged) == ({"a", "c"}, {"b", "d"})


def test_constants_come_back_from_how_rows_move():
    rng = np.random.default_rng(3)
    truth = np.array([1.2, 8.0, 0.4, 14.0, 21.0])
    start = np.array([limits.start for limits in CONSTANTS.values()])
    slopes = rng.uniform(0.002, 0.02, (5, 60, 2))
    at = np.tensordot(start - truth, slopes, axes=1)

    assert solve(Linear(start, at, slopes), np.ones(60), sweeps=400) == pytest.approx(truth, rel=0.25)


def test_rows_without_weight_do_not_pull():
    start = np.array([limits.start for limits in CONSTANTS.values()])
    slopes = np.zeros((5, 10, 2))
    slopes[0] = 0.1
    at = np.full((10, 2), 0.05)
    at[5:] = -0.2
    weights = np.array([1.0] * 5 + [0.0] * 5)

    assert solve(Linear(start, at, slopes), weights)[0] == pytest.approx(0.0, abs=0.05)


def test_constants_keep_their_bounds_and_their_source():
    constants = constants_at(np.array([0.4751, 4.0, 0.5, 0.0, 16.2]))

    assert (constants.step_ms, constants.source, constants.overlap_steps) == (0.475, "constants", 1)


def test_a_row_becomes_what_was_run():
    case = case_of(row())

    assert case.group == "trtllm h200-sxm llama-3.1-70b fp8 4x 1024/1024"
    assert (case.protocol.requests, case.protocol.token_budget, case.protocol.wait_iterations) == (160, 16384, 20)
    assert case.protocol.reserve_output
    assert case.deployment.target.num_gpus == 4


def test_vllm_splits_prompts_and_waits_for_nobody():
    protocol = case_of(row(engine="vllm")).protocol

    assert (protocol.chunked, protocol.reserve_output, protocol.wait_iterations) == (True, False, 0)
    assert protocol.token_budget == 8192


def test_deepseek_spreads_its_experts_whatever_the_row_says():
    target = case_of(row(model="deepseek-v3", tp=64.0, concurrency=16.0)).deployment.target

    assert (target.tensor_parallel, target.expert_parallel, target.weights) == (8, 8, "fp8_block")


@pytest.mark.parametrize(
    "change",
    [
        {"model": "llama-3.1-8b", "gpu": "h100-sxm", "precision": float("nan")},
        {"model": "llama-3.1-8b", "engine": "vllm"},
        {"gpu": "gb200"},
    ],
)
def test_rows_that_cannot_be_compared_say_why(change):
    assert skip_reason(row(**change))
    assert cases(pd.DataFrame([ROW | change])) == []


def test_only_rows_of_2025_on_h200_ran_the_older_kernels():
    assert is_old(row())
    assert not is_old(row(measured_on="2026-02-25"))
    assert not is_old(row(measured_on=float("nan")))
    assert not is_old(row(gpu="b200-sxm"))


def test_older_kernels_move_what_is_documented_and_nothing_else():
    new, old = (
        profile.linear[1] for profile in (load_profile("h200-sxm", "vllm"), older(load_profile("h200-sxm", "vllm")))
    )
    ratio = np.array(old.us) / np.array(new.us)
    inside = [16 < m <= 64 for m in new.rows]

    assert new.dtype == "fp8"
    assert np.allclose(ratio[..., inside], OLD_VLLM_FACTOR)
    assert np.allclose(ratio[..., [not x for x in inside]], 1.0)


def test_the_older_all_reduce_is_slower_from_a_mebibyte_over_eight_gpus():
    new, old = (
        {t.gpus: t for t in profile.all_reduce}
        for profile in (load_profile("h200-sxm", "trtllm"), older(load_profile("h200-sxm", "trtllm")))
    )
    at = new[8].bytes.index(2**20)

    assert old[8].us[at] - new[8].us[at] == pytest.approx(OLD_TRTLLM_EXTRA_US)
    assert old[4] == new[4]
