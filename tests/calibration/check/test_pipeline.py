"""From a tiny engine's runs to the table, the page and the document: everything is there and finite."""

import json
import re
from math import isfinite

import pytest

from app.console import json_text
from app.report.check_page import check_html
from app.tables.check import check_blocks
from calibration.check.campaign import run_points
from calibration.check.compare import by_point, compare
from calibration.check.summary import summary
from calibration.check_doc import document, main, read_summary
from docs.pictures.make_calibration import picture
from simulator.errors import ScenarioError
from tests.app.toys import rendered
from tests.calibration.check.toys import Tiny, predictor, tiny_points

MACHINE = {"device": "a <b>toy</b>", "cpus": 2, "threads": 1, "torch": "2.13", "backend": "plain", "dtype": "float64",
           "clock": "wall"}  # fmt: skip
ABOUT = {"size": "tiny", "gpu": "toy", "profile": "toy-specfleet", "profile_noisy": True, "machine": MACHINE,
         "date": "2026-11-30", "seed": 1, "grid": {}, "since_profile": {"toy": [0.01, -0.25]}}  # fmt: skip


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("check")
    runs = run_points(folder, tiny_points(), Tiny(), lambda point: 1.0, dict, lambda: 1.5, lambda done, of: None)
    compared = [compare(predictor(), pair) for pair in by_point(runs).values()]
    return json.loads(json_text(summary(compared, ABOUT)))


def numbers(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for inner in value for number in numbers(inner)]
    return [value] if isinstance(value, float) else []


def test_the_scheduler_is_replayed_exactly_in_every_run(found):
    (line,) = (one for one in found["lines"] if one["what"] == "scheduler replay")

    assert line["passed"] is True
    assert line["held"] == line["count"] == 2 * len(found["points"]) == 12


def test_every_figure_is_finite(found):
    assert all(isfinite(number) for number in numbers(found))
    for point in found["points"]:
        for name in ("ttft_s.mean", "tpot_s.mean", "itl_s.mean", "e2e_s.mean", "output_tokens_per_s"):
            figure = point["figures"][name]
            assert figure["predicted"] > 0.0
            assert figure["with_measured_acceptance"] > 0.0
            assert len(figure["measured"]) == 2


def test_every_goal_but_the_far_percentiles_is_judged(found):
    unjudged = {line["what"] for line in found["lines"] if line["passed"] is None}

    assert unjudged <= {"TPOT p99", "TTFT p99", "TTFT p90", "TTFT mean", "speculation advised"}
    assert {"step time", "TPOT mean", "saturation rate", "best K"}.isdisjoint(unjudged)


def test_the_screen_shows_every_point(found):
    shown = rendered(*check_blocks(found), width=160)

    assert "Predicted against measured on this device" in shown
    assert all(name in shown for name in ("scheduler replay", "12 of 12", "tiny-clients-2-k0", "best K"))
    assert "toy: the profile's own steps now take +1.0 % (before) and -25.0 % (after)." in shown


def test_the_page_fetches_nothing_and_escapes_what_it_shows(found):
    page = check_html(found)

    assert "a &lt;b&gt;toy&lt;/b&gt;" in page
    assert "<script" not in page
    assert not re.search(r'(src|href)="', page)
    assert page.count("<svg") > 5
    assert page == check_html(found)


def test_the_document_names_the_machine_and_what_missed(found):
    text = document(found)

    assert text == document(found)
    assert all(f"## {title}" in text for title in ("The machine", "Goals", "Points", "What drafts gain"))
    assert "(**noisy**)" in text
    assert "toy +1.0 %, −25.0 %" in text
    assert "No GPU was at hand" in text
    assert "| pace beside each run: least, median, most | tiny 1.50, 1.50, 1.50 |" in text


def test_every_goal_is_judged_again_at_the_machines_pace(found):
    lines = {line["what"]: line for line in found["lines"]}

    assert all(line["at_pace"]["count"] == line["count"] for line in lines.values())
    assert lines["step time"]["at_pace"]["mean_error"] != lines["step time"]["mean_error"]
    assert (
        lines["tokens_per_step, same texts"]["at_pace"]["mean_error"]
        == lines["tokens_per_step, same texts"]["mean_error"]
    )


def test_the_picture_has_a_dot_for_every_run(found):
    drawn = picture(found)

    assert drawn.count('r="3.4"') == 3 * 2 * len(found["points"])
    assert "no drafts" in drawn


def test_the_document_is_printed_from_the_folder_of_a_check(found, tmp_path, capsys):
    (tmp_path / "summary.json").write_text(json.dumps(found))

    assert main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == document(read_summary(tmp_path))


def test_a_folder_without_a_summary_is_told(tmp_path, capsys):
    with pytest.raises(ScenarioError, match=r"no summary\.json"):
        read_summary(tmp_path)
    assert main([str(tmp_path)]) == main([]) == 2
