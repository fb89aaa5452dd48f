"""Reading a serving CSV: few columns must be there, and every mistake is told with its line."""

import math

import pytest

from calibration.serving_csv import read_serving
from simulator.errors import ScenarioError

HEADER = "engine,gpu,model,precision,tp,isl,osl,load,concurrency,ttft_ms,tpot_ms"
GOOD = "vllm,h200-sxm,llama-3.1-70b,fp8,2,1024,1024,closed_loop,8,250,19.5"


def read(tmp_path, *lines):
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return read_serving(path)


def problem(tmp_path, *lines):
    with pytest.raises(ScenarioError) as caught:
        read(tmp_path, *lines)
    return str(caught.value)


def test_a_subset_of_the_columns_is_enough(tmp_path):
    (row,) = read(tmp_path, HEADER, GOOD)

    assert (row.id, row.line, row.isl, row.concurrency, row.tpot_ms) == ("line 2", 2, 1024, 8.0, 19.5)
    assert math.isnan(row.dp)
    assert math.isnan(row.output_tokens_per_s_per_gpu)


def test_the_columns_may_stand_in_any_order_after_a_byte_order_mark(tmp_path):
    (row,) = read(tmp_path, "\ufeffgpu,engine,load,tp,model,isl,osl,concurrency,ttft_ms", "a,b,closed_loop,1,m,5,6,7,8")

    assert (row.gpu, row.engine, row.precision, row.ttft_ms) == ("a", "b", "", 8.0)


def test_two_rows_of_one_name_are_told_apart(tmp_path):
    rows = read(tmp_path, f"id,{HEADER}", f"x,{GOOD}", f"x,{GOOD}")

    assert [row.id for row in rows] == ["x", "x (line 3)"]


def test_missing_and_unknown_columns_are_one_error(tmp_path):
    text = problem(tmp_path, "engine,gpu,tp,isl,osl,load,throughput", "a,b,1,2,3,queued_at_once,4")

    assert "mine.csv:1: no column model" in text
    assert "unknown column 'throughput'" in text
    assert "nothing measured" in text
    assert len(text.splitlines()) == 1


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("closed_loop", "open_loop", "load: 'open_loop' is neither closed_loop nor queued_at_once"),
        (",8,250", ",,250", "concurrency: a closed loop needs the requests in flight"),
        ("19.5", "fast", "tpot_ms: 'fast' is not a number"),
        ("19.5", "-1", "tpot_ms: '-1' is not above 0"),
        ("19.5", "inf", "tpot_ms: 'inf' is not above 0"),
        ("fp8,2,", "fp8,1.5,", "tp: '1.5' is not a whole number"),
        ("fp8,2,", "fp8,,", "tp: empty"),
        ("vllm", "", "engine: empty"),
        ("19.5", "19.5,7", "more cells than the header has columns"),
        (",19.5", "", "fewer cells than the header has columns"),
        ("1024,1024", "1024,99999999999", "osl: '99999999999' is too large"),
    ],
)
def test_a_broken_line_is_told_with_its_number(tmp_path, old, new, says):
    assert f"mine.csv:3: {says}" in problem(tmp_path, HEADER, GOOD, GOOD.replace(old, new, 1))


def test_all_broken_lines_are_told_at_once(tmp_path):
    text = problem(tmp_path, HEADER, GOOD, GOOD.replace("vllm", ""), GOOD.replace("250", "x"))

    assert [line.split(": ")[0].rpartition(":")[2] for line in text.splitlines()] == ["3", "4"]


def test_a_file_of_hundreds_of_broken_lines_is_cut_short(tmp_path):
    text = problem(tmp_path, HEADER, *[GOOD.replace("250", "x")] * 200)

    assert text.splitlines()[-1] == "… and 180 more"


@pytest.mark.parametrize("lines", [("",), (HEADER,)])
def test_a_file_without_rows_is_an_error(tmp_path, lines):
    assert "no " in problem(tmp_path, *lines)


def test_a_file_that_is_no_text_is_an_error(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b"\xff\xfe\x00\x01" * 20)

    with pytest.raises(ScenarioError, match="not a CSV file"):
        read_serving(path)


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(ScenarioError, match="No such file"):
        read_serving(tmp_path / "none.csv")
