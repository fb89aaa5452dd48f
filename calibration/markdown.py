"""Tables and figures of the validation page, in Markdown."""

from collections.abc import Mapping, Sequence
from typing import Any


def percent(value: float | None) -> str:
    """A fraction in percent.

    >>> percent(0.0345), percent(None)
    ('3.5 %', '–')
    """
    return "–" if value is None else f"{value * 100:.1f} %"


def errors(found: Mapping[str, Any], digits: int = 1) -> str:
    """Median, mean in brackets, bias.

    >>> errors({"count": 2, "median_ape": 0.03, "mean_ape": 0.04, "bias": -0.01})
    '3.0 % (4.0 %), −1.0 %'
    """
    if not found["count"]:
        return "–"
    middle, mean, bias = (found[name] * 100 for name in ("median_ape", "mean_ape", "bias"))
    return f"{middle:.{digits}f} % ({mean:.{digits}f} %), {bias:+.1f} %".replace("-", "−")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table.

    >>> table(["a", "b"], [["1", "2"]]).splitlines()[1]
    '|---|---|'
    """
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "|" + "|".join(f" {cell} " if i != 1 else cell for cell in line) + "|" for i, line in enumerate(lines)
    )
