"""The catalog on the screen: a table of a kind with its sources below, or all of one entry."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml
from rich import box
from rich.table import Table
from rich.text import Text

from app.format import plural

MOST_NAMES = 6
HEADER_WIDTH = 11
SOURCED = ("kind", "source", "date")
"""Columns that stand below the table, once for each source."""
ONLY_IN_JSON = ("hf_id",)
GIVE_WAY = ("title", "sku", "compute", "collectives")
"""Columns that are wrapped where the terminal is narrow."""

Row = Mapping[str, Any]


def kinds_table(found: Mapping[str, Sequence[str]], nouns: Mapping[str, str]) -> Table:
    """What kinds of thing the catalog holds."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for label in ("kind", "holds", "for example"):
        table.add_column(label, overflow="fold")
    for kind, names in found.items():
        more = "" if len(names) <= MOST_NAMES else ", …"
        table.add_row(kind, plural(len(names), nouns.get(kind, kind)), ", ".join(names[:MOST_NAMES]) + more)
    return table


def rows_blocks(kind: str, rows: Sequence[Row]) -> Iterator[Table]:
    """A line an entry, and below each source that they name."""
    sources = {key: number for number, key in enumerate(dict.fromkeys(_source(row) for row in rows), start=1)}
    table = Table(
        title=Text(kind), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False
    )
    names = [name for name in dict.fromkeys(name for row in rows for name in row) if name not in SOURCED + ONLY_IN_JSON]
    for name in names:
        numbers = all(isinstance(row.get(name) or 0, int | float) for row in rows)
        table.add_column(
            _header(name),
            justify="right" if numbers else "left",
            overflow="fold",
            no_wrap=name not in GIVE_WAY,
            header_style="bold",
        )
    table.add_column("source", justify="right", header_style="bold")
    for row in rows:
        table.add_row(*(_cell(row.get(name)) for name in names), f"[{sources[_source(row)]}]")
    yield table
    yield _sources_table(sources)


def _source(row: Row) -> tuple[str, ...]:
    return tuple(str(row.get(name, "")) for name in SOURCED)


def _sources_table(sources: Mapping[tuple[str, ...], int]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(2):
        table.add_column(overflow="fold")
    for (kind, ref, day), number in sources.items():
        table.add_row(Text(f"[{number}]", style="dim"), Text(f"{kind.replace('_', ' ')}, {day}: {ref}", style="dim"))
    return table


def _header(name: str) -> str:
    """A column's name in lines of at most HEADER_WIDTH where words allow it."""
    lines: list[str] = []
    for word in name.split("_"):
        if lines and len(lines[-1]) + 1 + len(word) <= HEADER_WIDTH:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return "\n".join(lines)


def _cell(value: Any) -> Text:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Text(f"{value:,.6g}" if isinstance(value, float) else f"{value:,}")
    return Text("" if value is None else str(value))


def entry_text(entry: Mapping[str, Any]) -> Text:
    """Everything that an entry says, its sources included."""
    return Text(yaml.safe_dump(dict(entry), sort_keys=False, allow_unicode=True, width=110).rstrip())
