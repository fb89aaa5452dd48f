"""The HBM ledger on the screen: a bar of the GPU's memory, a table of its parts, and what fits into the rest."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from app.format import context, count, gib, gigabytes, percent
from app.ledgers import draft_parts

if TYPE_CHECKING:
    from rich.console import RenderableType

Row = Mapping[str, Any]

PARTS = (
    ("target_weights_bytes", "target weights", "█", "blue"),
    ("draft_weights_bytes", "draft weights", "▓", "magenta"),
    ("activation_bytes", "activations", "▒", "yellow"),
    ("runtime_bytes", "runtime", "░", "red"),
    ("kv_budget_bytes", "KV", "■", "green"),
)
"""Field, name, sign and colour: never told apart by colour alone."""
UNUSED = "·"
BAR_WIDTH = 72
MOST_COLUMNS = 4
ALWAYS_SHOWN_TOKENS = 131_072
"""Context up to which sequences are counted whatever the deployments serve [tokens]."""


def memory_blocks(rows: Sequence[Row], width: int) -> Iterator["RenderableType"]:
    """What to print, one below the other."""
    yield _legend()
    for row in rows:
        yield Text("")
        yield _headline(row)
        yield Padding(bar(row, min(BAR_WIDTH, width - 4)), (0, 0, 0, 2))
        yield Padding(Text(str(row["reason"]), style="" if row["fits"] else "red"), (0, 0, 0, 2))
    for start in range(0, len(rows), MOST_COLUMNS):
        yield Text("")
        yield ledger_table(rows[start : start + MOST_COLUMNS])


def _legend() -> Text:
    text = Text()
    for _, name, sign, colour in PARTS:
        text.append(sign, style=colour).append(f" {name}   ")
    return text.append(f"{UNUSED} not used by the engine")


def _headline(row: Row) -> Text:
    verdict = "fits" if row["fits"] else f"does not fit: {gib(row['shortfall_bytes'])} short on each GPU"
    text = Text(name_of(row), style="bold")
    text.append(f"  {row['role']} on {row.get('gpu', '?')}  ", style="not bold")
    return text.append(f"{'✓' if row['fits'] else '✗'} {verdict}", style="green" if row["fits"] else "bold red")


def name_of(row: Row) -> str:
    """Deployment and, in a sweep, the point."""
    point = row.get("point", "base")
    return str(row["deployment"]) + ("" if point == "base" else f" at {point}")


def bar(row: Row, width: int) -> Text:
    """A GPU's memory in one line; what does not fit is drawn beyond the memory's end, after a │."""
    total, used = int(row["hbm_bytes"]), sum(int(row[field]) for field, *_ in PARTS)
    whole = max(total, used)
    text = Text()
    drawn = 0
    filled = 0
    for field, _, sign, colour in PARTS:
        filled += int(row[field])
        cells = round(width * filled / whole) - drawn
        text.append(sign * cells, style=colour)
        drawn += cells
    text.append(UNUSED * (width - drawn), style="dim")
    if used > total:
        end = round(width * total / whole)
        return Text.assemble(text[:end], ("│", "bold red"), text[end:])
    return text


def ledger_table(rows: Sequence[Row]) -> Table:
    """The parts in GB and, as engines print them, in GiB; a column a deployment."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    table.add_column("per GPU", no_wrap=True)
    for row in rows:
        table.add_column(f"{name_of(row)}", justify="right", overflow="fold")
    table.add_row("memory shown by CUDA", *(_bytes(row["hbm_bytes"]) for row in rows))
    table.add_row("usable by the engine", *(_bytes(row["usable_bytes"]) for row in rows), end_section=True)
    for field, name, *_ in PARTS:
        if any(row[field] for row in rows) or field == "kv_budget_bytes":
            shown = "room for KV" if field == "kv_budget_bytes" else name
            table.add_row(shown, *(_bytes(row[field]) for row in rows))
        if field == "draft_weights_bytes":
            _add_drafts(table, rows)
    if any(row["kv_host_bytes"] for row in rows):
        table.add_row("room for KV on the host", *(_bytes(row["kv_host_bytes"]) for row in rows))
        table.add_row("  target's KV that lies there", *(percent(row["kv_host_share"]) for row in rows))
    table.add_row("KV bytes per token", *(_split(row["kv_bytes_per_token"]) for row in rows))
    if any(any(row["kv_bytes_per_sequence_fixed"].values()) for row in rows):
        table.add_row("  and per sequence", *(_split(row["kv_bytes_per_sequence_fixed"]) for row in rows))
    table.add_section()
    table.add_row(Text("per replica", style="bold"), *([""] * len(rows)))
    table.add_row("KV tokens", *(count(row["kv_tokens"]) for row in rows))
    longest = max(ALWAYS_SHOWN_TOKENS, *(int(row["max_model_len"]) for row in rows))
    for length in (length for length in rows[0]["max_sequences_at"] if int(length) <= longest):
        cells = (count(_at(row, length)) for row in rows)
        table.add_row(f"sequences of {context(int(length))}", *cells)
    return table


def _add_drafts(table: Table, rows: Sequence[Row]) -> None:
    """What draft weights are made of, where a deployment has more than one draft: a line each, and the router's."""
    held = [draft_parts(row) for row in rows]
    for name in dict.fromkeys(name for parts in held if len(parts) > 1 for name in parts):
        table.add_row(f"  {name}", *(_bytes(parts.get(name, 0)) if len(parts) > 1 else "" for parts in held))


def _at(row: Row, length: Any) -> int:
    held = row["max_sequences_at"]
    return int(held.get(length, held.get(str(length), 0)))


def _bytes(num_bytes: int) -> str:
    return f"{gigabytes(num_bytes)} ({gib(num_bytes)})" if num_bytes else "0"


def _split(held: Mapping[str, int]) -> str:
    """Bytes of the target's KV, and of the drafts'."""
    target, draft = held.get("target", 0), held.get("draft", 0)
    if not draft:
        return count(target)
    return f"{count(target)} + {count(draft)} draft ({percent(draft / (target + draft))})"
