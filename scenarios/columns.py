"""Result rows as a table of one level: a Parquet file, or the lines of a CSV."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any


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
    """Write rows, flattened to one level, as a Parquet file."""
    import pyarrow
    import pyarrow.parquet

    flat = [flat_row(row) for row in rows]
    names = list(dict.fromkeys(name for row in flat for name in row))
    columns = {name: _column([row.get(name) for row in flat]) for name in names}
    pyarrow.parquet.write_table(pyarrow.table(columns), to, compression="zstd")


def _column(values: list[Any]) -> Any:
    """Values of one type: flags, numbers, or texts (the replication, a number or `all`, is a text)."""
    import pyarrow

    known = [value for value in values if value is not None]
    if known and all(isinstance(value, bool) for value in known):
        return pyarrow.array(values, pyarrow.bool_())
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in known):
        return pyarrow.array([None if value is None else float(value) for value in values], pyarrow.float64())
    return pyarrow.array([None if value is None else str(value) for value in values], pyarrow.string())
