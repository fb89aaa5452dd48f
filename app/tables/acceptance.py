"""Findings of acceptance: one line by line, several classes as a table."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from calibration.importers.finding import AcceptanceFinding


def acceptance_lines(found: "AcceptanceFinding") -> Iterator[str]:
    """What was found, how sure it is, and what to mind."""
    yield f"{found.format}, engine {found.engine}"
    low, high = found.interval or (None, None)
    within = "" if low is None else f"  ({low:.3f} to {high:.3f})"
    yield f"tokens_per_step   {found.tokens_per_step:.4g}{within}  averaged over {found.averaged_over}"
    yield f"interval          {found.method}"
    if found.acceptance_rate is not None:
        yield f"acceptance_rate   {found.acceptance_rate:.1%} of the drafted tokens"
    if found.steps is not None:
        of = "" if found.requests is None else f" of {found.requests:,} requests"
        yield f"steps             {found.steps:,}{of}"
    if found.spread is not None and found.spread_interval is not None:
        low, high = found.spread_interval
        yield f"spread            {found.spread:.2f}  ({low:.2f} to {high:.2f}) over requests, in log-odds"
    for position, share in enumerate(found.survival or ()):
        low, high = (found.survival_intervals or ())[position] if found.survival_intervals else (share, share)
        name = "survival" if position == 0 else ""
        yield f"{name:17} position {position + 1}: {share:.3f}  ({low:.3f} to {high:.3f})"
    for note in found.notes:
        yield f"note: {note}"


def by_class(found: "Mapping[str, Mapping[str, AcceptanceFinding]]") -> "Table":
    """Classes of a run: of all requests, and how well one half of them foretells the other."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    heads = ("class", "requests", "steps", "tokens_per_step", "accepted of drafted", "drafted a step")
    for name in (*heads, "spread", "survival", "held out"):
        table.add_column(name, justify="left" if name == "class" else "right", min_width=min(len(name), 15))
    for name, parts in found.items():
        table.add_row(name, *_cells(parts["all"]), _held_out(parts))
    return table


def _cells(of: "AcceptanceFinding") -> Iterator[str]:
    low, high = of.interval or (of.tokens_per_step, of.tokens_per_step)
    yield f"{of.requests:,}"
    yield f"{of.steps:,}"
    yield f"{of.tokens_per_step:.2f} ({low:.2f} to {high:.2f})"
    yield "" if of.acceptance_rate is None else f"{of.acceptance_rate:.0%}"
    yield "" if of.drafted_tokens is None or not of.steps else f"{of.drafted_tokens / of.steps:.2f}"
    yield "" if of.spread is None else f"{of.spread:.2f}"
    yield " ".join(f"{share:.2f}" for share in of.survival or ())


def _held_out(parts: "Mapping[str, AcceptanceFinding]") -> str:
    from calibration.importers.finding import held_out_error

    error = held_out_error(parts)
    return "" if error is None else f"{error:+.1%}"
