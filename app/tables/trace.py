"""What a trace holds, on the screen."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

MOST_CLASSES = 12
"""Classes that are told one by one."""


def trace_table(file: str, summary: Mapping[str, Any]) -> Table:
    """A line a fact."""
    table = Table(
        title=Text(f"{file} — {summary['format']} trace"),
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_header=False,
        show_edge=False,
        pad_edge=False,
    )
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in facts(summary):
        table.add_row(label, text)
    return table


def facts(summary: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What a trace holds, in labelled sentences."""
    failed = summary["without_answer"]
    yield "requests", f"{summary['requests']:,}" + (f", and {failed:,} without an answer left out" if failed else "")
    yield "duration", f"{summary['duration_s']:,.1f} s"
    yield "rate", f"{summary['rate_per_s']:.4g} requests/s"
    yield "gaps", f"coefficient of variation {summary['gap_cv']:.3g} (1: Poisson)"
    windows = " · ".join(f"{value:.3g} in {window} s" for window, value in summary["dispersion"].items())
    yield "dispersion", f"{windows or 'too short to tell'} (variance ÷ mean of counts; 1: Poisson)"
    for label in ("prompt", "output"):
        of = summary[f"{label}_tokens"]
        yield f"{label} tokens", " · ".join(f"{name} {value:,.0f}" for name, value in of.items())
    if summary["length_correlation"] is not None:
        yield "prompt–output", f"correlation {summary['length_correlation']:.2f}"
    if summary["classes"]:
        first = " · ".join(f"{name} {share:.1%}" for name, share in islice(summary["classes"].items(), MOST_CLASSES))
        others = len(summary["classes"]) - MOST_CLASSES
        yield "classes", first + (f" · and {others:,} others" if others > 0 else "")
    if summary["sessions"]:
        yield "sessions", f"{summary['sessions']:,}"
    if summary["block_tokens"]:
        yield (
            "prefix blocks",
            (
                f"{summary['block_tokens']} tokens each; an unbounded cache finds {summary['block_hit_rate']:.3f}; "
                f"{summary['shared_tokens']} tokens begin more than half of the prompts"
            ),
        )
