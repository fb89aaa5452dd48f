"""The best draft tokens by sequences in flight and context, on the screen."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from app.format import ABSENT, count, significant, times

if TYPE_CHECKING:
    from rich.table import Table

LEGEND = (
    "K: draft tokens of a schedule with few bands, none of which loses more than 3 % of the tokens per second that the "
    "best K has, in steps without prompts. In brackets: ÷ plain decoding. *: the workload's own context."
)


def schedule_table(found: Mapping[str, Any]) -> "Table":
    """A row for each number of sequences at which something changes; found: `DraftSchedule.as_json`."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    title = Text("Draft tokens by sequences in flight and context")
    table = Table(
        title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False
    )
    table.add_column("sequences", justify="right")
    for column in found["contexts"]:
        table.add_column(f"{count(column['context_tokens'])} tokens{'*' if column['own'] else ''}", justify="right")
    for cells in lines(found):
        table.add_row(*cells)
    return table


def lines(found: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Sequences, and the cell of each context."""
    for row, sequences in enumerate(found["sequences"]):
        cells = [cell(c["best_draft_tokens"][row], c["gain"][row]) for c in found["contexts"]]
        yield count(sequences), *cells


def cell(draft_tokens: int | None, gain: float | None) -> str:
    """Draft tokens and what they gain.

    >>> cell(3, 1.523), cell(0, 0.98), cell(None, None)
    ('3 (1.52×)', '0', '–')
    """
    if draft_tokens is None:
        return ABSENT
    return f"{significant(draft_tokens, 1)} ({times(gain)})" if draft_tokens else "0"
