"""CSV of a run: what the Parquet file holds, cell by cell."""

import csv

import pytest

from scenarios.columns import write_parquet
from scenarios.csv_file import cell, csv_of_parquet

ROWS = [
    {"deployment": "=plain", "replication": "all", "ttft_s": {"p95": 0.5}, "saturated": False, "reason": None},
    {"deployment": "spec", "replication": 0, "ttft_s": {"p95": None}, "saturated": True, "reason": 'a, b\n"c"'},
]


def test_a_csv_holds_what_the_parquet_file_holds(tmp_path):
    write_parquet(ROWS, tmp_path / "summary.parquet")

    csv_of_parquet(tmp_path / "summary.parquet", tmp_path / "summary.csv")

    with (tmp_path / "summary.csv").open(newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    assert found == [
        {"deployment": "'=plain", "replication": "all", "ttft_s.p95": "0.5", "saturated": "False", "reason": ""},
        {"deployment": "spec", "replication": "0", "ttft_s.p95": "", "saturated": "True", "reason": 'a, b\n"c"'},
    ]


def test_a_csv_of_many_rows_is_whole(tmp_path):
    write_parquet([{"number": number} for number in range(4500)], tmp_path / "summary.parquet")

    csv_of_parquet(tmp_path / "summary.parquet", tmp_path / "summary.csv")

    lines = (tmp_path / "summary.csv").read_text().splitlines()
    assert lines == ["number", *(f"{float(number)}" for number in range(4500))]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-x", "@a", "\tx", "=HYPERLINK(1)"])
def test_a_spreadsheet_computes_no_cell(text):
    assert cell(text) == f"'{text}"
