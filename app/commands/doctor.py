"""`specfleet doctor`: whether the installation is whole."""

import typer

from app.exits import INTERNAL_ERROR, OK
from app.options import Debug, Json


def doctor(as_json: Json = False, debug: Debug = False) -> None:
    """Check the installation.

    Python, packages, the catalog, built-in scenarios, extras.

    \b
    Example:
      specfleet doctor
    """
    from app.checkup import checkup
    from app.console import out_console, print_json

    checks = checkup()
    if as_json:
        print_json({"ok": all(check.ok for check in checks), "checks": [check._asdict() for check in checks]})
    else:
        from app.tables.checks import checks_table

        out_console().print(checks_table(checks))
    raise typer.Exit(OK if all(check.ok for check in checks) else INTERNAL_ERROR)
