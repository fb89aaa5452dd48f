"""The page Scenario: the file behind the pages."""

import csv
import io

import pyarrow.parquet
import pytest

from app.dashboard import exports
from app.dashboard.document import edited
from app.dashboard.estimates import estimated
from app.dashboard.explained import as_csv
from scenarios.load import load_scenario


@pytest.fixture(scope="module")
def small():
    return edited(load_scenario("h200_vs_b200_chat"), {"workload.horizon": {"requests": 200}})


def test_an_edit_of_the_text_is_applied(dashboard):
    dashboard.open("scenario")
    text = dashboard.control("yaml").value

    dashboard.control("yaml").set_value(text.replace("rate_per_s: 21", "rate_per_s: 9"))
    dashboard.press("apply")

    assert dashboard.control("rate").value == 9
    assert "rate_per_s: 9" in dashboard.control("yaml").value


def test_a_wrong_text_is_told_by_line_and_kept_for_mending(dashboard):
    dashboard.open("scenario")
    wrong = dashboard.control("yaml").value.replace("replicas: 6", "replicass: 6", 1)

    dashboard.control("yaml").set_value(wrong)
    dashboard.press("apply")

    assert "replicass" in dashboard.said
    assert "scenario.yaml:" in dashboard.said
    assert dashboard.control("yaml").value == wrong


def test_the_text_follows_the_controls(dashboard):
    dashboard.open("scenario").move("rate", 17.0)

    assert "rate_per_s: 17.0" in dashboard.control("yaml").value


def test_an_uploaded_file_is_opened(dashboard, small):
    from scenarios.store import resolved_document, to_yaml

    dashboard.open("scenario")
    dashboard.control("upload").upload("mine.yaml", to_yaml(resolved_document(small)).encode()).run()

    assert dashboard.scenario().workload.horizon.requests == 200
    assert dashboard.control("open").value == "mine.yaml"


@pytest.mark.parametrize(("data", "told"), [(b"\xff\xfe", "not UTF-8"), (b"a: [1", "not YAML"), (b"x: 1", "schema_v")])
def test_a_file_that_is_none_is_told_by_its_name(dashboard, data, told):
    dashboard.open("scenario")
    dashboard.control("upload").upload("bad.yaml", data).run()

    assert "bad.yaml" in dashboard.said
    assert told in dashboard.said


def test_the_figures_go_out_as_csv_and_parquet(small):
    answer = estimated(small.points[0].scenario)

    lines = list(csv.DictReader(io.StringIO(as_csv(answer.rows).decode())))
    table = pyarrow.parquet.read_table(io.BytesIO(exports.rows_parquet(answer))).to_pylist()

    assert [line["deployment"] for line in lines] == list(small.points[0].scenario.deployments)
    assert float(lines[0]["ttft_s.p95"]) == table[0]["ttft_s.p95"] == answer.rows[0]["ttft_s"]["p95"]


def test_the_report_goes_out_whole(small):
    page = exports.report(small, small.points[0], estimated(small.points[0].scenario)).decode()

    assert "h200-vs-b200-chat" in page
    assert "<script" not in page
