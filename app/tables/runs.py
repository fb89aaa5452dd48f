"""Run folders on the screen: a line each."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from app.format import ABSENT, plural

if TYPE_CHECKING:
    from scenarios.runs import Run

STYLES = {"finished": "", "running": "bold", "unfinished": "yellow", "older": "dim", "newer": "dim"}
STATES = {"older": "older layout", "newer": "newer layout"}


def runs_table(runs: "Sequence[Run]", what: str = "") -> Table:
    """Run folders, and how many there are; what: what is done with them."""
    size = sum(run.num_bytes for run in runs)
    title = f"{plural(len(runs), 'run')}{f' {what}' if what else ''}, {megabytes(size)}"
    table = Table(
        title=Text(title),
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
    )
    for label in ("written (UTC)", "run", "state", "points", "GPUs", "winner", "size"):
        table.add_column(label, justify="right" if label in ("points", "size") else "left", overflow="fold")
    for run in runs:
        table.add_row(*(Text(cell, style=STYLES[run.state]) for cell in _cells(run)))
    return table


def _cells(run: "Run") -> tuple[str, ...]:
    return (
        f"{run.written:%Y-%m-%d %H:%M}",
        run.path.name,
        STATES.get(run.state, run.state),
        progress_of(run),
        ", ".join(run.gpus) or ABSENT,
        run.winner or ABSENT,
        megabytes(run.num_bytes),
    )


def progress_of(run: "Run") -> str:
    """How many of its points a run has finished."""
    return f"{run.points:,}" if run.points >= run.points_in_file else f"{run.points:,} of {run.points_in_file:,}"


def megabytes(num_bytes: int) -> str:
    """A size of files.

    >>> megabytes(1_234_567), megabytes(999)
    ('1.2 MB', '0.0 MB')
    """
    return f"{num_bytes / 1e6:,.1f} MB"
