"""`estimate --surface`: when each draft pays; the same in the report and as a picture."""

import json

import pytest

from app.report.when import surfaces_of, when_to_speculate
from docs.pictures import make_when
from scenarios.load import load_scenario
from tests.app import toys


@pytest.fixture(scope="module")
def surfaces():
    return list(surfaces_of(load_scenario("h200_vs_b200_chat").points[0].scenario))


def test_the_table_says_from_which_acceptance_a_draft_pays():
    result = toys.call("estimate", "h200_vs_b200_chat", "--surface")

    assert result.exit_code == 0
    for text in ("h200-spec — acceptance from which a draft pays", "c 0.3", "own c", "at 0.60"):
        assert text in result.stdout


def test_json_holds_the_whole_surface():
    found = json.loads(toys.call("estimate", "h200_vs_b200_chat", "--surface", "--json").stdout)

    assert [one["deployment"] for one in found["surfaces"]] == ["h200-spec", "b200-spec"]
    assert len(found["surfaces"][0]["speedup"]) == len(found["surfaces"][0]["latency_ratios"]) == 6


def test_without_a_draft_there_is_nothing_to_draw():
    result = toys.call("estimate", "long_context", "--surface")

    assert result.exit_code == 2
    assert "--surface needs a deployment" in result.stderr


def test_the_report_draws_one_of_each_gpu_and_says_it_in_words(surfaces):
    page = str(when_to_speculate(surfaces))

    assert page.count("<svg") >= 2
    assert "Its own draft pays from an acceptance of" in page
    assert when_to_speculate([]) is None


@pytest.mark.slow
def test_the_picture_in_the_docs_is_what_comes_out_today():
    drawn = make_when.picture(make_when.surfaces())

    assert make_when.PICTURE.read_text(encoding="utf-8") == drawn, "if meant: `python -m docs.pictures.make_when`"
