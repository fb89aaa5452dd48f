"""Predicted speed-ups: two runs of the step model, judged with constants from other rows, beside a trivial one."""

from pathlib import Path

import pytest

from calibration.fit_speculation import constants
from calibration.speculation_choices import regrets, tree_pairs
from calibration.speculation_host import HostTimes, fitted_host_times, shipped, with_host_times
from calibration.speculation_scores import summary
from calibration.speculation_times import times_of
from calibration.speculation_validation import predicted, validate_speculation
from simulator.catalog.load import load_engine
from tests.calibration.speculating import CHAIN, LOOKUP, TREE, cases, written

SHARED = Path(__file__).parents[3] / "shared" / "measured" / "speculation.csv"
QWEN = CHAIN.replace("Llama-3.1-8B-Instruct", "Qwen3-30B-A3B-Instruct-2507").replace("chain,1,gpqa", "chain,8,gpqa")


@pytest.fixture(scope="module")
def published_file():
    if not SHARED.is_file():
        pytest.skip(f"needs the published speed-ups ({SHARED})")
    return validate_speculation(SHARED)


def swept(measured, accepted=(2.9, 3.4, 3.7)):
    """A sweep of K = 3, 5, 7 that was measured so fast."""
    return [
        CHAIN.replace("gpqa,5,1,3.4,1,2.3", f"gpqa,{k},1,{length},1,{speedup}").replace("chain,S", f"K{k},S")
        for k, speedup, length in zip((3, 5, 7), measured, accepted, strict=True)
    ]


def test_a_speed_up_is_the_ratio_of_two_runs(tmp_path):
    (case,) = cases(tmp_path, CHAIN)
    times = times_of(case)
    slow = 3.4 * times.plain.step.total_s / times.speculative.step.total_s

    assert times.plain.steps == pytest.approx(3.4 * times.speculative.steps)
    assert 1.0 < times.speedup < slow
    assert times.speedup == pytest.approx(slow, rel=0.05)


def test_more_accepted_tokens_are_faster_and_more_host_time_is_slower(tmp_path):
    few, many = cases(tmp_path, CHAIN, CHAIN.replace(",3.4,1,", ",4.4,1,"))
    times = times_of(few)
    longer = with_host_times(times, few, HostTimes(1e-3, 1e-3, 0.0))

    assert times_of(many).speedup > times.speedup > longer.speedup
    assert longer.speculative.step.total_s - times.speculative.step.total_s == pytest.approx(
        5 * (1e-3 - shipped("sglang").draft_pass_s) + 1e-3 - shipped("sglang").speculative_step_s
    )


def test_copied_text_has_no_pass_whose_host_time_could_change(tmp_path):
    (case,) = cases(tmp_path, LOOKUP)
    times = times_of(case)

    assert with_host_times(times, case, HostTimes(1.0, 1.0, 1.0)).speedup == times.speedup


def test_a_parallel_head_has_the_host_time_of_one_pass_whatever_it_proposes(tmp_path):
    (case,) = cases(tmp_path, CHAIN.replace("EAGLE-3 chain", "DSpark"))
    times, now = times_of(case), shipped("sglang")
    longer = with_host_times(times, case, now._replace(draft_pass_s=now.draft_pass_s + 1e-3))

    assert longer.speculative.step.total_s - times.speculative.step.total_s == pytest.approx(1e-3)


def test_the_fit_finds_the_host_times_of_rows_made_with_them(tmp_path):
    wanted = HostTimes(3e-4, 2e-4, 30.0)
    rows = cases(tmp_path, *swept((1, 1, 1)), TREE)
    times = [times_of(case) for case in rows]
    made = [
        case._replace(row=case.row._replace(speedup=with_host_times(t, case, wanted).speedup))
        for case, t in zip(rows, times, strict=True)
    ]

    assert fitted_host_times(made, times) == pytest.approx(wanted, rel=1e-6)


def test_constants_of_a_target_come_from_the_engines_other_rows(tmp_path):
    found = constants(predicted(validate_speculation(written(tmp_path, *swept((2.1, 2.3, 2.2)), TREE, QWEN, LOOKUP))))

    assert list(found["fitted"]) == ["sglang"]
    assert set(found["left_out"]) == {"sglang h200-sxm llama-3.1-8b", "sglang h200-sxm qwen3-30b-a3b"}
    assert found["left_out"]["sglang h200-sxm llama-3.1-8b"] != found["left_out"]["sglang h200-sxm qwen3-30b-a3b"]


def test_a_row_is_judged_by_host_times_of_other_rows(tmp_path):
    fitted, other = validate_speculation(written(tmp_path, CHAIN, LOOKUP)).outcomes

    assert fitted.times.speedup == fitted.speedup != fitted.shipped_times.speedup
    assert other.times == other.shipped_times


def test_the_engine_policy_holds_what_was_fitted_on_all_rows(published_file):
    found = constants(predicted(published_file))
    overhead = load_engine("sglang").overhead

    for name, value in found["fitted"]["sglang"].items():
        assert getattr(overhead, name) == pytest.approx(value, rel=0.1), name


def test_the_trivial_prediction_knows_nothing_of_its_own_target(tmp_path):
    first, other = validate_speculation(written(tmp_path, CHAIN, QWEN.replace(",2.3,", ",1.7,"))).outcomes

    assert first.baseline == pytest.approx(1.7)
    assert other.baseline == pytest.approx(2.3)


def test_a_choice_loses_what_the_best_measured_one_gains_more(tmp_path):
    done = predicted(validate_speculation(written(tmp_path, *swept((2.0, 2.5, 2.4), accepted=(3.9, 4.0, 4.1)))))
    found = regrets(done)

    assert found["by_sweep"][0]["predicted_best"] == 3
    assert found["mean"] == found["worst"] == pytest.approx(0.2)
    assert found["always_mean"] == 0.0


@pytest.mark.parametrize(("measured", "right"), [(2.0, 1), (2.4, 0)])
def test_a_tree_is_held_against_the_chain_of_as_many_nodes(tmp_path, measured, right):
    tree = TREE.replace(",1.85,", f",{measured},")
    found = tree_pairs(predicted(validate_speculation(written(tmp_path, *swept((2.1, 2.3, 2.2)), tree))))

    assert (found["pairs"], found["ranked_right"], len(found["wrong"])) == (1, right, 1 - right)


def test_the_summary_counts_what_was_not_predicted(tmp_path):
    found = summary(validate_speculation(written(tmp_path, CHAIN, CHAIN.replace("H200", "A100"))))

    assert found["overall"]["count"] == 1
    assert found["overall"]["share_predicted"] == 0.5
    assert found["unpredicted"] == [{"id": "chain (line 3)", "line": 3, "reason": "GPU A100 is not in the catalog"}]
    assert found["groups"][0]["speedup"]["sign_right"] == 1.0


def test_published_speed_ups_are_predicted_as_well_as_the_goals_say(published_file):
    found = summary(published_file)
    regret = found["best_draft_tokens"]

    assert found["overall"]["count"] == 167
    assert found["overall"]["speedup"]["median_ape"] <= 0.05
    assert regret["mean"] <= 0.01
    assert regret["worst"] <= 0.04
    assert found["trees"]["ranked_right"] >= 0.95 * found["trees"]["pairs"]
