"""`specfleet compare`: two run folders, the ratios of their figures, and what explains them."""

from pathlib import Path
from typing import Annotated

import typer

from app.options import Debug, Json

First = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder: what was.")]
Second = Annotated[Path, typer.Argument(metavar="RUN", help="Another run folder: what is compared with it.")]


def compare(first: First, second: Second, as_json: Json = False, debug: Debug = False) -> None:
    """Compare two run folders: ratios with intervals, and why they differ.

    Deployments are matched by name and sweep point. Ratios are second ÷ first, with 95 % intervals over replications,
    paired where both runs saw the same random streams.

    \b
    Examples:
      specfleet compare runs/chat-1a2b3c4d runs/chat-5e6f7a8b
      specfleet compare runs/before-1a2b3c4d runs/after-5e6f7a8b --json
    """
    from app.compare.folders import read_run
    from app.compare.runs import compare_runs

    found = compare_runs(read_run(first), read_run(second))
    if as_json:
        from app.console import print_json

        print_json(found)
    else:
        from app.compare.show import show_comparison

        show_comparison(found)
