"""Rows as a table: what type a column has, whatever the rows lack."""

import io

import pyarrow.parquet
import pytest

from scenarios import columns
from scenarios.columns import write_parquet


def table_of(rows):
    to = io.BytesIO()
    write_parquet(rows, to)
    return pyarrow.parquet.read_table(io.BytesIO(to.getvalue()))


@pytest.mark.parametrize(
    ("values", "kind", "read"),
    [
        ([1, None, 2.5], "double", [1.0, None, 2.5]),
        ([True, None, False], "bool", [True, None, False]),
        ([None, None], "double", [None, None]),
        (["all", 0], "string", ["all", "0"]),
        ([0, "all"], "string", ["0", "all"]),
        ([True, 2], "string", ["True", "2"]),
        ([["a", "b"], []], "string", ["a, b", ""]),
    ],
)
def test_a_column_is_of_flags_numbers_or_texts(values, kind, read):
    table = table_of([{"x": value} for value in values])

    assert str(table.schema.field("x").type) == kind
    assert table.column("x").to_pylist() == read


def test_a_row_may_lack_what_another_has():
    table = table_of([{"a": 1}, {"b": {"c": "x"}}])

    assert table.to_pydict() == {"a": [1.0, None], "b.c": [None, "x"]}


def test_rows_are_written_in_groups_of_a_bounded_size(monkeypatch):
    monkeypatch.setattr(columns, "ROWS_AT_ONCE", 4)
    to = io.BytesIO()

    write_parquet([{"x": number} for number in range(10)], to)

    file = pyarrow.parquet.ParquetFile(io.BytesIO(to.getvalue()))
    assert [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)] == [4, 4, 2]
    assert file.read().column("x").to_pylist() == list(range(10))


def test_no_rows_are_a_table_without_columns():
    assert table_of([]).num_rows == 0
