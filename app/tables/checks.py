"""A check of the installation on the screen."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from app.checkup import Check


def checks_table(checks: Sequence[Check]) -> Table:
    """A line a check: passed, failed, or not needed."""
    table = Table.grid(padding=(0, 2))
    for check in checks:
        sign, style = ("✗", "bold red") if not check.ok else ("✓", "green") if check.found else ("–", "dim")
        table.add_row(
            Text(sign, style=style), Text(check.what), Text(check.detail, style=style if not check.ok else "")
        )
    return table
