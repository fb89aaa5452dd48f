"""`specfleet claims`: the figures of an article about speculative decoding, beside what is predicted."""

from pathlib import Path
from typing import Annotated

import typer

from app.new_file import check_place, write_page
from app.options import Debug, Json, Quiet

Page = Annotated[Path | None, typer.Option("--write", metavar="FILE.md", help="Write the page with all claims.")]


def claims(as_json: Json = False, write: Page = None, quiet: Quiet = False, debug: Debug = False) -> None:
    """Check an article's claims about speculative decoding: claimed, predicted, condition, verdict.

    Every predicted figure is computed from the catalog and the formulas when the command runs.

    \b
    Examples:
      specfleet claims
      specfleet claims --json
      specfleet claims --write docs/claims.md
    """
    from app.console import out_console, print_json
    from app.tables.claims import claims_page, claims_table, counted
    from simulator.planning.claims.article import check_claims, summary

    if write is not None:
        check_place("--write", write, "claims.md")
    found = summary(check_claims())
    if write is not None:
        write_page(write, claims_page(found), quiet=quiet)
    if as_json:
        print_json(found)
    elif write is None:
        console = out_console()
        console.print(claims_table(found["rows"]))
        console.print(counted(found))
