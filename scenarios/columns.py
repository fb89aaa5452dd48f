"""Result rows as a table of one level: a Parquet file, or the lines of a CSV."""

from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import IO, Any

ROWS_AT_ONCE = 2000
"""Rows that are held in memory, and that make a row group of the file."""


def flat_row(row: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A row in one level: nested fields as `ttft_s.p95`, the ends of intervals as `interval.ttft_s.p95.low`.

    >>> flat_row({"gpu": "h200-sxm", "ttft_s": {"p95": 1.5}, "interval": {"ttft_s.p95": [1, 2]}})
    {'gpu': 'h200-sxm', 'ttft_s.p95': 1.5, 'interval.ttft_s.p95.low': 1, 'interval.ttft_s.p95.high': 2}
    """
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            flat |= flat_row(value, f"{prefix}{name}.")
        elif isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
            flat[f"{prefix}{name}"] = ", ".join(value)
        elif isinstance(value, list | tuple) and len(value) == 2:
            flat |= {f"{prefix}{name}.low": value[0], f"{prefix}{name}.high": value[1]}
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def write_parquet(rows: Iterable[Mapping[str, Any]], to: Path | IO[bytes]) -> None:
    """Write rows, flattened to one level, as a Parquet file.

    rows: a list, or what yields the same rows anew each time that it is gone through: once for the types of the
    columns, once for their values.
    """
    import pyarrow
    import pyarrow.parquet

    types = {"flag": pyarrow.bool_(), "number": pyarrow.float64(), "text": pyarrow.string()}
    kinds = _kinds(rows)
    schema = pyarrow.schema([(name, types[kind]) for name, kind in kinds.items()])
    with pyarrow.parquet.ParquetWriter(to, schema, compression="zstd") as writer:
        flat = map(flat_row, rows)
        while some := list(islice(flat, ROWS_AT_ONCE)):
            columns = {name: [_value(row.get(name), kind) for row in some] for name, kind in kinds.items()}
            writer.write_table(pyarrow.table(columns, schema=schema))


def _kinds(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Columns in the order in which they are met, and what each holds: flags, numbers, or texts.

    The replication, a number or `all`, is a text; so is what is now a flag, now a number.
    """
    found: dict[str, str | None] = {}
    for row in rows:
        for name, value in flat_row(row).items():
            known = found.setdefault(name, None)
            kind = _kind(value)
            if kind is not None and kind != known:
                found[name] = kind if known is None else "text"
    return {name: kind or "number" for name, kind in found.items()}


def _kind(value: Any) -> str | None:
    """What a value is; None for none."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "flag"
    return "number" if isinstance(value, int | float) else "text"


def _value(value: Any, kind: str) -> Any:
    if value is None or kind == "flag":
        return value
    return float(value) if kind == "number" else str(value)
