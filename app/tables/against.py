"""One benchmark on the screen: what was predicted of it, and what was measured."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from app.format import ABSENT, duration, signed, significant

if TYPE_CHECKING:
    from rich.console import RenderableType

TITLES = {
    "ttft_s": "TTFT", "tpot_s": "TPOT", "e2e_s": "E2E", "req_per_s": "requests/s",
    "output_tokens_per_s": "output tokens/s",
}  # fmt: skip
LEGEND = "Error: predicted ÷ measured − 1. Within: the measurement lies within the error to expect of such predictions."


def against_blocks(found: Mapping[str, Any]) -> "Iterator[RenderableType]":
    """All that is shown of a comparison."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    of = found["prediction"]
    heading = f"{of['deployment']} of {of['scenario']}: one replica, {of['gpus']} × {of['gpu']}, {of['engine']}"
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name in ("", "predicted", "measured", "error", "within"):
        table.add_column(name, justify="left" if name in ("", "within") else "right")
    for row in found["rows"]:
        table.add_row(*cells(row))
    yield Text(heading, style="bold")
    yield table
    yield Text(LEGEND, style="dim")
    yield Text(expected(of))
    yield from (Text(f"Note  {note}") for note in found["notes"])


def cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    """One figure.

    >>> cells({"figure": "tpot_s.p95", "predicted": 0.02, "measured": 0.025, "error": -0.2, "within": False})
    ('TPOT p95', '20.0 ms', '25.0 ms', '-20 %', 'no ✗')
    """
    name, _, statistic = row["figure"].partition(".")
    show = duration if statistic else significant
    within = {True: "yes ✓", False: "no ✗", None: ABSENT}[row["within"]]
    label = f"{TITLES[name]} {statistic}".strip()
    return label, show(row["predicted"]), show(row["measured"]), signed(row["error"]), within


def expected(prediction: Mapping[str, Any]) -> str:
    """The error to expect, and what it is known from."""
    factors, rests = prediction["factors"], f"Step times: {prediction['profile']}."
    if factors is None:
        return rests
    tpot, ttft = significant(factors["tpot"]), significant(factors["ttft"])
    return f"{rests} To expect (95 %): TPOT to a factor of {tpot}, TTFT of {ttft}, from {factors['basis']}."
