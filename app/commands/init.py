"""`specfleet init`: write a commented scenario to start from."""

from pathlib import Path
from typing import Annotated

import typer

from app.new_file import write_new
from app.options import Debug, Json, Overwrite

Target = Annotated[Path, typer.Argument(metavar="PATH", help="File to write, or a folder to write it into.")]

DEFAULT_NAME = "scenario.yaml"


def init(
    path: Target = Path(DEFAULT_NAME), force: Overwrite = False, as_json: Json = False, debug: Debug = False
) -> None:
    """Write a commented scenario to start from.

    \b
    Example:
      specfleet init chat.yaml && specfleet run chat.yaml
    """
    from app.console import print_json
    from scenarios.starter import starter_text

    target = path / DEFAULT_NAME if path.is_dir() else path
    write_new(target, starter_text(), force=force)
    if as_json:
        print_json({"written": str(target)})
    else:
        typer.echo(f"{target} is written. Next: specfleet memory {target} · specfleet run {target}")
