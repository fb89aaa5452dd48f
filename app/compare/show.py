"""A comparison of two runs on the screen."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from app.console import out_console
from app.format import ABSENT, cut, significant

if TYPE_CHECKING:
    from rich.console import RenderableType

COLUMNS = {
    "capacity_req_per_s": "capacity\nrequests/s",
    "ttft_s.p95": "TTFT\np95",
    "tpot_s.p95": "TPOT\np95",
    "e2e_s.p95": "E2E\np95",
    "output_tokens_per_s": "output\ntokens/s",
    "usd_per_hour_for_offered": "$/h for\nthe load",
    "usd_per_million_output_tokens_at_capacity": "$/M out at\ncapacity",
}
MOST_DIFFERENCES = 20
LONGEST_VALUE = 60


def show_comparison(found: Mapping[str, Any]) -> None:
    """Print a comparison to stdout."""
    console = out_console()
    console.print(f"{found['second']} ÷ {found['first']}", style="bold")
    console.print(ratio_table(found["rows"]))
    console.print()
    console.print(lines_block(found))


def ratio_table(rows: Sequence[Mapping[str, Any]]) -> "RenderableType":
    """A line a deployment, a ratio with its interval a cell; 1 within the interval is dim."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    table.add_column("second ÷ first", overflow="fold")
    for title in COLUMNS.values():
        table.add_column(title, justify="right")
    several = len({row["point"] for row in rows}) > 1
    for row in rows:
        name = f"{row['deployment']}\n{row['point']}" if several else row["deployment"]
        cells = [row["ratios"].get(field) for field in COLUMNS]
        table.add_row(
            Text(name), *(Text(_cell(cell), style="" if cell and cell["changed"] else "dim") for cell in cells)
        )
    return table


def _cell(cell: Mapping[str, Any] | None) -> str:
    if cell is None:
        return ABSENT
    low, high = cell["interval"] or (cell["ratio"], cell["ratio"])
    if high - low <= 1e-9 * high:
        return f"{significant(cell['ratio'])}×"
    ends = f"{'<0.01' if low < 0.01 else significant(low)}–{'>100' if high > 100 else significant(high)}"
    return f"{significant(cell['ratio'])}×\n{ends}"


def lines_block(found: Mapping[str, Any]) -> "RenderableType":
    """Why, what differs, what is to be known."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in _lines(found):
        table.add_row(Text(label, style="bold"), Text(text))
    return table


def _lines(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    several = len({row["point"] for row in found["rows"]}) > 1
    for row in found["rows"]:
        place = f"{row['deployment']} at {row['point']}" if several else row["deployment"]
        yield "Why", f"{place}: {row['why']}"
    differences = found["differences"]
    for difference in differences[:MOST_DIFFERENCES]:
        yield "Differs", f"{difference['path']}: {_value(difference['first'])} → {_value(difference['second'])}"
    if len(differences) > MOST_DIFFERENCES:
        yield "", f"… and {len(differences) - MOST_DIFFERENCES} more: --json has all of them"
    for name, words in (("only_in_first", "first"), ("only_in_second", "second")):
        if found[name]:
            listed = ", ".join(dict.fromkeys(left["deployment"] for left in found[name]))
            yield "Only", f"in the {words} run: {listed}"
    yield from (("Note", text) for text in found["notes"])


def _value(value: Any) -> str:
    return "(none)" if value is None else cut(str(value), LONGEST_VALUE)
