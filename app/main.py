"""The command `specfleet`: its subcommands, each in a module of its own.

What takes long to import is imported where it is used, so that `--help` answers at once.
"""

import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from app.commands.calibrate import build_calibrate
from app.commands.catalog import catalog
from app.commands.claims import claims
from app.commands.compare import compare
from app.commands.dashboard import dashboard
from app.commands.doctor import doctor
from app.commands.estimate import estimate
from app.commands.export import export
from app.commands.import_ import build_import
from app.commands.init import init
from app.commands.memory import memory
from app.commands.plan import plan
from app.commands.run import run
from app.commands.runs import build_runs
from app.commands.schema import schema
from app.commands.validate import validate
from app.guard import GuardedCommand

COMMANDS: tuple[Callable[..., Any], ...] = (
    run,
    estimate,
    plan,
    memory,
    dashboard,
    compare,
    validate,
    export,
    claims,
    catalog,
    schema,
    init,
    doctor,
)
"""In the order of `--help`."""

EPILOG = """\b
Start here:
  specfleet init chat.yaml             a commented scenario to edit
  specfleet memory chat.yaml           does it fit?
  specfleet run chat.yaml              which deployment is cheapest, and why
  specfleet run h200_vs_b200_chat      a built-in scenario
  specfleet plan plan_70b_chat         which cluster to buy, and how to run it
  specfleet dashboard                  the same in a browser
  specfleet import trace FILE --fit    a workload from a trace of your own

\b
Exit codes: 0 ok, 1 internal error, 2 bad input, 3 nothing fits or holds the load,
4 an assert failed, 130 interrupted."""


def build_app() -> typer.Typer:
    """The command line with all its subcommands."""
    app = typer.Typer(
        name="specfleet",
        help="Capacity and cost of LLM serving with speculative decoding on GPU clusters.",
        epilog=EPILOG,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    )
    app.callback()(_root)
    for command in COMMANDS:
        app.command(cls=GuardedCommand)(command)
    app.add_typer(build_calibrate())
    app.add_typer(build_import())
    app.add_typer(build_runs())
    return app


def _version(asked: bool) -> None:
    if not asked:
        return
    from importlib.metadata import PackageNotFoundError, version

    try:
        typer.echo(version("specfleet"))
    except PackageNotFoundError:
        typer.echo("not installed")
    raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", is_eager=True, callback=_version, help="Print the version and exit.")
]


def _root(version: Version = False) -> None:
    pass


def main() -> None:
    """Run the command line; a terminal that lacks a sign gets a question mark."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
    build_app()(prog_name="specfleet")
