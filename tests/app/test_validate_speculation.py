"""`specfleet validate` of measured speed-ups: a table, JSON, a page; the columns say which kind of file it is."""

import json

import pytest

from tests.app import toys
from tests.calibration.speculating import CHAIN, TREE, written


@pytest.fixture
def mine(tmp_path):
    return written(tmp_path, CHAIN, TREE, CHAIN.replace("H200", "<A100>"))


def test_the_table_stands_beside_a_trivial_prediction_and_says_what_is_assumed(mine):
    result = toys.call("validate", mine)

    assert result.exit_code == 0
    for text in ("trivial", "eagle3 tree", "Tree against chain", "Furthest off", "Assumed for 2 rows: one GPU"):
        assert text in result.stdout
    assert "Not predicted: 1 row: GPU <A100> is not in the catalog" in result.stdout


def test_json_has_errors_of_the_speed_up_by_group(mine):
    result = toys.call("validate", mine, "--json")
    found = json.loads(result.stdout)

    assert result.stderr == ""
    assert set(found["overall"]["speedup"]) == {"count", "median_ape", "mean_ape", "bias", "sign_right"}
    assert [group["method"] for group in found["groups"]] == ["eagle3 chain", "eagle3 tree"]
    assert found["overall"]["baseline"]["count"] == 0
    assert found["rows"][0]["speedup"]["measured"] == 2.3


def test_the_page_holds_a_plot_and_no_markup_of_the_file(mine, tmp_path):
    page = tmp_path / "parity.html"
    toys.call("validate", mine, "--out", page)
    text = page.read_text(encoding="utf-8")

    assert "Speed-up: predicted" in text
    assert "<A100>" not in text


def test_a_mistake_is_one_message(tmp_path):
    result = toys.call("validate", written(tmp_path, CHAIN.replace(",5,1,3.4", ",five,1,3.4")))

    assert result.exit_code == 2
    assert "mine.csv:2: draft_len: 'five' is not a number" in result.stderr
