"""The article's claims: a table for the screen, and the page docs/claims.md."""

from collections.abc import Iterator, Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

from simulator.planning.claims.claim import VERDICTS, Figure

if TYPE_CHECKING:
    from rich.table import Table

STYLES = {"holds": "green", "holds if": "yellow", "does not hold": "red", "impossible": "bold red"}
WIDTH = 120

INTRO = (
    "Each claim of an article on speculative decoding, beside what this project predicts: the formulas of "
    "[formulas.md](formulas.md), the catalog's GPUs, models and measured acceptance, and step times of its profiles. "
    "`specfleet claims` computes every predicted figure when it runs, and wrote this page (`make claims`). A range is "
    "over what the claim leaves open, such as an acceptance from 0.80 to 0.90."
)
SYSTEMS = (
    "The systems that the article describes are scenarios in `scenarios/article/`: `specfleet run scenarios/article` "
    "simulates all. They say what is public, what is the article's word and what is assumed."
)


def claims_table(rows: Sequence[Mapping[str, Any]]) -> "Table":
    """A row a claim."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, show_lines=True)
    table.add_column("#", justify="right", no_wrap=True)
    for title, ratio in (("claimed", 4), ("predicted", 6), ("condition", 4)):
        table.add_column(title, ratio=ratio, overflow="fold")
    table.add_column("verdict", no_wrap=True)
    for row in rows:
        verdict = Text(row["verdict"], style=STYLES.get(row["verdict"], ""))
        table.add_row(
            str(row["number"]), f"{row['claim']} ({row['claimed']})", row["predicted"], row["condition"], verdict
        )
    return table


def counted(found: Mapping[str, Any]) -> str:
    """How many claims got each verdict, in a line."""
    parts = [f"{name}: {number}" for name, number in found["verdicts"].items()]
    return f"{len(found['rows'])} claims of the article; " + " · ".join(parts)


def claims_page(found: Mapping[str, Any]) -> str:
    """The page in Markdown."""
    return "\n\n".join(_blocks(found)) + "\n"


def _blocks(found: Mapping[str, Any]) -> Iterator[str]:
    yield "# The article's claims"
    yield _wrapped(INTRO)
    yield _wrapped(f"The article: *{found['article']}*.")
    yield _wrapped(SYSTEMS)
    yield "| verdict | claims | meaning |\n|---|---|---|\n" + "\n".join(
        f"| {name} | {number} | {VERDICTS[name]} |" for name, number in found["verdicts"].items()
    )
    yield "| # | claimed | verdict |\n|---|---|---|\n" + "\n".join(
        f"| [{row['number']}](#claim-{row['number']}) | {row['claimed']} | {row['verdict']} |" for row in found["rows"]
    )
    for row in found["rows"]:
        yield from _claim(row)


def _claim(row: Mapping[str, Any]) -> Iterator[str]:
    yield f"## Claim {row['number']}"
    yield _wrapped(f"{row['claim']}. **{row['verdict'].capitalize()}.**")
    yield "\n".join(_wrapped(f"- {Figure(**figure).text}", "  ") for figure in row["figures"])
    if row["condition"]:
        yield _wrapped(f"Condition: {row['condition']}.")
    if row["by_hand"]:
        yield _wrapped(row["by_hand"])
    if row["scenario"]:
        yield f"Run it: [`specfleet run article/{row['scenario']}`](../scenarios/article/{row['scenario']}.yaml)"


def _wrapped(text: str, indent: str = "") -> str:
    return fill(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
