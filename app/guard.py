"""What a command does with an error: one clear message on stderr and an exit code, a traceback only with --debug."""

import errno
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperCommand

from app.exits import BAD_INPUT, INTERNAL_ERROR, INTERRUPTED


class GuardedCommand(TyperCommand):
    """A command whose errors end in a message."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Read the command line; a refused option is told with the value that was given."""
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            if (value := _given(error, given)) and value not in error.message:
                error.message = f"{value!r}: {error.message}"
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run the command; errors become exit codes."""
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except KeyboardInterrupt:
            typer.echo("interrupted", err=True)
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                raise
            raise typer.Exit(tell(error, debug=bool(ctx.params.get("debug")))) from None


def _given(error: Any, args: Sequence[str]) -> str:
    """The value that a refused option has on the command line; empty when it has none."""
    names = [*getattr(error.param, "opts", ()), *getattr(error.param, "secondary_opts", ())]
    for place, text in enumerate(args):
        name, equals, value = text.partition("=")
        if name in names:
            return value if equals else "".join(args[place + 1 : place + 2])
    return ""


def tell(error: Exception, *, debug: bool) -> int:
    """Print an error to stderr; returns the exit code that it means."""
    from simulator.errors import SimulatorError

    if debug:
        import traceback

        typer.echo("".join(traceback.format_exception(error)), err=True)
    if isinstance(error, SimulatorError):
        lines = str(error).splitlines() or [type(error).__name__]
        head = f"error: {lines[0]}" if len(lines) == 1 else f"error: {len(lines)} problems"
        typer.echo("\n".join([head, *(f"  {line}" for line in lines if len(lines) > 1)]), err=True)
        return BAD_INPUT
    hint = "" if debug else " --debug shows the traceback."
    typer.echo(
        f"internal error: {type(error).__name__}: {error}\n"
        f"This is a fault of specfleet, not of your input: please report it with the command that you ran.{hint}",
        err=True,
    )
    return INTERNAL_ERROR
