"""Result rows as CSV, for a spreadsheet: the columns of the Parquet file, in its order."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from scenarios.columns import ROWS_AT_ONCE

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters that make a spreadsheet compute a cell."""


def cell(value: Any) -> Any:
    """A value as a cell; a text that a spreadsheet would compute is quoted by an apostrophe.

    >>> cell("=1+1"), cell(-1.5), cell(None), cell("h200")
    ("'=1+1", -1.5, '', 'h200')
    """
    if value is None:
        return ""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def write_csv(names: Sequence[str], rows: Iterable[Mapping[str, Any]], to: IO[str]) -> None:
    """Write rows of one level under a header."""
    writer = csv.DictWriter(to, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: cell(value) for name, value in row.items()} for row in rows)


def csv_of_parquet(source: Path, to: Path) -> None:
    """Write what a Parquet file holds as CSV, a part at a time."""
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(source) as table, to.open("w", encoding="utf-8", newline="") as file:
        batches = table.iter_batches(batch_size=ROWS_AT_ONCE)
        write_csv(table.schema_arrow.names, (row for batch in batches for row in batch.to_pylist()), file)
