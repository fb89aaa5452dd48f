"""`specfleet init`: write a commented scenario to start from."""

from pathlib import Path
from typing import Annotated

import typer

from app.options import Debug, Json

Target = Annotated[Path, typer.Argument(metavar="PATH", help="File to write, or a folder to write it into.")]
Overwrite = Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")]

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
    from simulator.errors import ScenarioError

    target = path / DEFAULT_NAME if path.is_dir() else path
    if target.exists() and not force:
        raise ScenarioError(f"{target}: is there already; name another file, or overwrite it with --force")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(starter_text(), encoding="utf-8")
    except OSError as error:
        raise ScenarioError(f"{target}: cannot be written: {error.strerror}; name another file") from None
    if as_json:
        print_json({"written": str(target)})
    else:
        typer.echo(f"{target} is written. Next: specfleet memory {target} · specfleet run {target}")
