"""The page of predicted against measured: its goals, and that it says what it is made of."""

import json
from math import nan
from pathlib import Path

import pytest

from app.console import json_text
from calibration.coverage import coverage
from calibration.fitted_on import FILE, fitted_groups, groups_of, half_of
from calibration.goals import Goal, goals, speedups
from calibration.scores import score, summary
from calibration.serving_csv import ServingRow
from calibration.speculation_validation import validate_speculation
from calibration.validate import Outcome, Validation, validate
from calibration.validation_doc import document, main
from docs.pictures.make_validation import picture
from tests.calibration.speculating import CHAIN, TREE, written

PUBLISHED = Path(__file__).parents[1] / "published" / "validation_rows.csv"
SERVING = Path(__file__).parents[3] / "shared" / "measured" / "serving.csv"


def queued(gpu, measured, predicted, tp=1):
    row = ServingRow(
        f"{gpu} {measured}", 2, "trtllm", gpu, "llama-3.3-70b", "fp8", "queued_at_once", tp, 128, 128, nan,
        nan, nan, nan, nan, nan, nan, measured, "",
    )  # fmt: skip
    return Outcome(row, "g", "held_out", nan, nan, predicted, 100.0)


def test_a_goal_is_met_only_with_both_median_and_mean():
    assert Goal("x", "tpot", 0.10, 0.05, score([1.02, 1.03])).met
    assert not Goal("x", "tpot", 0.10, 0.05, score([1.02, 1.03, 1.5])).met
    assert Goal("x", "tpot", 0.10, None, score([1.02, 1.03, 1.5])).met
    assert Goal("x", "tpot", 0.10, 0.05, score([])).met is None


def test_a_speedup_takes_the_best_row_of_each_gpu_in_cells_that_both_have():
    rows = [
        queued("h200-sxm", 100.0, 90.0),
        queued("h200-sxm", 200.0, 80.0),
        queued("b200-sxm", 400.0, 180.0),
        queued("b200-sxm", 400.0, 180.0, tp=2),
    ]

    (found,) = speedups(rows)

    assert found == ((128, 128, 1), pytest.approx(2.0), pytest.approx(2.0))


def test_coverage_counts_the_rows_within_what_a_report_would_state():
    near, far = (
        one._replace(row=one.row._replace(load="closed_loop"))
        for one in (queued("h200-sxm", 100.0, 101.0), queued("h200-sxm", 100.0, 150.0))
    )

    (found,) = coverage([near, far, near._replace(half="fitted"), near._replace(reason="not modelled")])

    assert found.known.exact
    assert found.inside["output_tokens_per_s"] == (1, 2)
    assert found.inside["ttft"] == (0, 0)


def test_the_picture_has_a_dot_for_each_row_that_nothing_was_fitted_on():
    rows = [queued("h200-sxm", 100.0, 90.0), queued("h200-sxm", 200.0, 190.0)]
    found = json.loads(json_text(summary(Validation("x", rows))))

    dots = picture(found).count('r="3.4"')

    assert dots == 2
    assert picture({**found, "rows": [row | {"half": "fitted"} for row in found["rows"]]}).count('r="3.4"') == 0


def test_a_batch_queued_at_once_is_judged_by_others_left_out():
    (found,) = coverage([queued("h200-sxm", 100.0, 101.0)])

    assert not found.known.exact


def test_a_row_queued_at_once_was_never_fitted_on():
    row = queued("h200-sxm", 1.0, 1.0).row
    group = min(fitted_groups())

    assert half_of(row, group) == "held_out"
    assert half_of(row._replace(load="closed_loop"), group) == "fitted"


def test_the_page_has_its_tables_and_is_the_same_every_time(tmp_path):
    found, gains = validate(PUBLISHED), validate_speculation(written(tmp_path, CHAIN, TREE))

    first, second = document(found, gains), document(found, gains)

    assert first == second
    assert all(
        f"## {title}" in first for title in ("All rows", "Goals", "Beside other tools", "Furthest off", "Speculation")
    )
    assert "AIConfigurator" in first
    assert "no precision" in first
    assert len(goals(found.outcomes)) > 8


def test_without_a_file_the_command_says_how_it_is_called(capsys):
    assert main([]) == 2
    assert "usage" in capsys.readouterr().err


@pytest.mark.skipif(not SERVING.exists(), reason="the published rows are not beside this checkout")
def test_the_committed_list_of_fitted_groups_is_that_of_the_fit():
    assert FILE.exists()
    assert groups_of(str(SERVING)) == sorted(fitted_groups())
