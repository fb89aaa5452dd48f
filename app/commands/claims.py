"""`specfleet claims`: the figures of an article about speculative decoding, beside what is predicted."""

from pathlib import Path
from typing import Annotated

import typer

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
    from app.console import note, out_console, print_json
    from app.tables.claims import claims_page, claims_table, counted
    from simulator.planning.claims.article import check_claims, summary

    if write is not None:
        check_place(write)
    found = summary(check_claims())
    if write is not None:
        write.write_text(claims_page(found), encoding="utf-8")
        note(f"written: {write}", quiet=quiet)
    if as_json:
        print_json(found)
    elif write is None:
        console = out_console()
        console.print(claims_table(found["rows"]))
        console.print(counted(found))


def check_place(file: Path) -> None:
    """Refuse a place where no page can be written."""
    from simulator.errors import ScenarioError

    if file.is_dir():
        raise ScenarioError(f"--write {file}: a folder; name a file such as claims.md")
    if not file.parent.is_dir():
        raise ScenarioError(f"--write {file}: no folder {file.parent}")
