"""The comparison table: deployments as columns while they are few, as lines when they are many."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from app.format import ABSENT
from app.tables.figures import Cell, Figure, Limits, Row, groups, short_figures

if TYPE_CHECKING:
    from rich.console import RenderableType

LONGEST_NAME = 22
"""Width up to which a deployment's name is not wrapped."""
MOST_COLUMNS = 5
"""Deployments beyond which each is a line."""

STYLES = {"bad": "red", "good": "green", "": ""}
WINNER = "★"


def comparison_table(
    rows: Sequence[Row], limits: Limits, comparison: Mapping[str, Any], title: str
) -> "RenderableType":
    """All figures of a point's rows, one row a deployment."""
    if len(rows) > MOST_COLUMNS:
        return lines_table(rows, limits, comparison, title)
    table = _table(title)
    table.add_column("", no_wrap=True)
    for row in rows:
        table.add_column(_header(row, comparison), justify="right", overflow="fold")
    for group in groups(limits):
        shown = [figure for figure in group.figures if _says_something(figure, rows)]
        if shown and group.title:
            table.add_row(Text(group.title, style="bold"), end_section=False)
        for figure in shown:
            label = f"  {figure.label}" if group.title else figure.label
            last = figure is shown[-1]
            table.add_row(Text(label), *(_text(figure.show(row)) for row in rows), end_section=last)
    return table


def lines_table(rows: Sequence[Row], limits: Limits, comparison: Mapping[str, Any], title: str) -> "RenderableType":
    """The main figures, a line a deployment."""
    table = _table(title)
    table.padding = (0, 1, 0, 0)
    longest = max((len(str(row.get("deployment", ""))) for row in rows), default=0)
    table.add_column("deployment", overflow="fold", no_wrap=longest <= LONGEST_NAME)
    figures = [figure for figure in short_figures(limits) if _says_something(figure, rows)]
    for figure in figures:
        last = figure is figures[-1]
        table.add_column(figure.label, justify="left" if last else "right", overflow="fold", no_wrap=not last)
    for row in rows:
        table.add_row(_header(row, comparison), *(_text(figure.show(row)) for figure in figures))
    return table


def _table(title: str) -> Table:
    from rich import box

    return Table(
        title=Text(title) if title else None,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        title_style="bold",
        header_style="bold",
    )


def _says_something(figure: Figure, rows: Sequence[Row]) -> bool:
    return any(figure.show(row).text != ABSENT for row in rows)


def _header(row: Row, comparison: Mapping[str, Any]) -> Text:
    name = str(row.get("deployment", "?"))
    won = comparison.get("winner") == name
    return Text(f"{name} {WINNER}" if won else name, style="bold" if won else "")


def _text(cell: Cell) -> Text:
    return Text(cell.text, style=STYLES[cell.tone])
