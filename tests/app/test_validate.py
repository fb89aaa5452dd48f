import json
from pathlib import Path

import pytest

from app.report.markup import VOID
from app.tables.validation import validation_blocks
from tests.app import toys

PUBLISHED = Path(__file__).parents[1] / "published" / "validation_rows.csv"
HEADER = "id,engine,gpu,model,precision,tp,isl,osl,load,concurrency,ttft_ms,tpot_ms,output_tokens_per_s_per_gpu"
MINE = f"""\
{HEADER}
mine,vllm,h200-sxm,llama-3.1-70b,fp8,4,1024,256,closed_loop,4,90,9.8,
<b>,vllm,h2000,llama-3.1-70b,fp8,4,1024,256,closed_loop,4,90,9.8,
queue,trtllm,h200-sxm,llama-3.1-8b,fp8,1,128,128,queued_at_once,,,,20000
"""


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text(MINE, encoding="utf-8")
    return path


def test_json_has_every_field_of_the_design(mine):
    result = toys.call("validate", mine, "--json", "--jobs", "1")
    found = json.loads(result.stdout)

    assert result.exit_code == 0
    assert result.stderr == ""
    assert {"overall", "groups", "unpredicted"} <= set(found)
    assert found["overall"]["count"] == 3
    assert found["overall"]["share_predicted"] == pytest.approx(2 / 3)
    assert found["overall"]["tpot"]["count"] == 1
    assert found["overall"]["output_tokens_per_s"]["count"] == 1
    assert found["unpredicted"][0]["id"] == "<b>"
    assert "h2000" in found["unpredicted"][0]["reason"]


def test_json_is_the_same_every_time(mine):
    first, second = (toys.call("validate", mine, "--json", "--jobs", "1").stdout for _ in range(2))

    assert first == second


def test_the_table_shows_groups_all_rows_the_worst_and_what_was_not_predicted(mine):
    result = toys.call("validate", mine, "--jobs", "1", "--quiet")

    assert result.exit_code == 0
    assert all(word in result.stdout for word in ("h200-sxm", "closed", "queue", "Furthest off", "likely cause"))
    assert "Not predicted: 1 row" in result.stdout
    assert "all " in result.stdout


def test_the_page_is_one_file_with_a_plot_a_metric(mine, tmp_path):
    page = tmp_path / "parity.html"

    result = toys.call("validate", mine, "--jobs", "1", "--out", page)
    html = page.read_text(encoding="utf-8")

    assert result.exit_code == 0
    assert str(page) in result.stderr
    assert html.count('class="chart"') == 3
    assert "<script" not in html
    assert "http://" not in html.replace("http://www.w3.org", "")
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert "polyline" in VOID


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b\n1,2\n", "mine.csv:1: no column engine"),
        (MINE.replace("9.8", "fast", 1), "mine.csv:2: tpot_ms: 'fast' is not a number"),
        ("", "mine.csv:1: no header"),
    ],
)
def test_a_malformed_file_is_one_clear_error(mine, text, says):
    mine.write_text(text, encoding="utf-8")

    result = toys.call("validate", mine)

    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert says in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("place", ["", "nowhere/page.html"])
def test_a_place_where_no_page_can_be_written_is_told_at_once(mine, tmp_path, place):
    result = toys.call("validate", mine, "--out", tmp_path / place)

    assert result.exit_code == 2
    assert "--out" in result.stderr


def test_a_file_of_which_nothing_can_be_predicted_still_shows_its_reasons(mine):
    mine.write_text(MINE.replace("h200-sxm", "h2000"), encoding="utf-8")

    result = toys.call("validate", mine, "--jobs", "1", "--json")

    found = json.loads(result.stdout)
    assert result.exit_code == 0
    assert len(found["unpredicted"]) == 3
    assert found["worst"] == []
    assert "Not predicted" in toys.rendered(*validation_blocks(found))
