"""When to speculate, on the screen: the break-even acceptance by load and cost of the draft."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from app.format import count, significant, times
from simulator.planning.when import ACCEPTANCES, ARTICLE_ACCEPTANCE, LATENCY_RATIOS, Surface

if TYPE_CHECKING:
    from rich.table import Table

NEVER = "never"
SHOWN_ACCEPTANCES = (0.6, 0.8)
LEGEND = (
    "The acceptance α, the same at every position, from which the best K is faster than plain decoding with as many "
    "sequences in flight; c is a draft pass ÷ a plain step, own: that of the deployment's draft. An article draws one "
    f"line for all cases, at {ARTICLE_ACCEPTANCE:.2f}. The cost of a token is that of plain decoding ÷ the gain: the "
    "GPUs are the same."
)


def surface_table(surface: Surface) -> "Table":
    """A row a number of sequences in flight."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    title = Text(f"{surface.deployment} — acceptance from which a draft pays")
    table = Table(
        title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False
    )
    for heading in headings():
        table.add_column(heading, justify="right")
    for cells in lines(surface):
        table.add_row(*cells)
    return table


def headings() -> list[str]:
    """Titles of the columns."""
    even = [f"c {ratio:g}" for ratio in LATENCY_RATIOS]
    gains = [f"gain at α {alpha:g}" for alpha in SHOWN_ACCEPTANCES]
    return ["in flight", "plain req/s", *even, "own c", "own", *gains]


def lines(surface: Surface) -> Iterator[list[str]]:
    """Cells of each row; the speed-ups are the own draft's."""
    for row, sequences in enumerate(surface.sequences):
        even = [break_even_text(float(values[row])) for values in surface.break_even]
        gains = [float(surface.speedup[-1, ACCEPTANCES.index(alpha), row]) for alpha in SHOWN_ACCEPTANCES]
        yield [
            count(float(sequences)),
            significant(float(surface.plain_req_per_s[row])),
            *even[:-1],
            significant(float(surface.latency_ratios[-1, row]), 2),
            even[-1],
            *(times(gain) if np.isfinite(gain) else NEVER for gain in gains),
        ]


def break_even_text(acceptance: float) -> str:
    """An acceptance with two digits.

    >>> break_even_text(0.456), break_even_text(float("nan"))
    ('0.46', 'never')
    """
    return NEVER if np.isnan(acceptance) else f"{acceptance:.2f}"
