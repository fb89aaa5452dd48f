"""A finding of acceptance, line by line."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
