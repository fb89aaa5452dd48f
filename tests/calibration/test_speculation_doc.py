"""The part of the validation page on speculation: every table, and directions that people reported."""

import pytest

from calibration.speculation_directions import directions
from calibration.speculation_doc import speculation_blocks
from calibration.speculation_shares import time_shares
from calibration.speculation_validation import validate_speculation
from tests.calibration.speculating import CHAIN, TREE, written

SHARES = """\
model,method,bs,draft,verify,sample,overhead,source
Llama3.1-8B,baseline,1,0.0,0.86,0.01,0.13,a figure
Llama3.1-8B,EAGLE-3,128,0.08,0.84,0.01,0.07,a figure
"""


@pytest.fixture
def page(tmp_path):
    (tmp_path / "speculation_time_share.csv").write_text(SHARES, encoding="utf-8")
    lines = [CHAIN.replace("chain,S", f"K{k},S").replace("gpqa,5,", f"gpqa,{k},") for k in (3, 5, 7)]
    return "\n\n".join(speculation_blocks(validate_speculation(written(tmp_path, *lines, TREE))))


def test_it_has_errors_choices_directions_shares_and_what_was_assumed(page):
    for text in ("| sglang | h200-sxm | llama-3.1-8b |", "best K found", "of 1 pairs", "| S10 |", "| EAGLE-3 | 128 |"):
        assert text in page
    assert "| assumed | one GPU: the source gives no tensor parallelism | 4 |" in page


def test_shares_of_a_step_add_up_to_it(page, tmp_path):
    plain, drafted = time_shares(tmp_path)

    assert sum(plain.predicted) == pytest.approx(1.0)
    assert sum(drafted.predicted) == pytest.approx(1.0)
    assert plain.predicted.draft == 0.0 < drafted.predicted.draft


def test_directions_are_as_reported():
    assert {one.id: one.holds for one in directions()} == dict.fromkeys(("S04", "S08", "S10", "S18"), True)


def test_losses_that_are_predicted_as_gains_are_told():
    assert {one.id: one.signs for one in directions()} == {"S04": False, "S08": True, "S10": True, "S18": False}
