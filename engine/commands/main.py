"""The commands and their flags."""

import argparse
import sys
from collections.abc import Sequence

import engine.commands.bench
import engine.commands.generate
import engine.commands.ngrams
import engine.commands.serve_trace
from engine.errors import EngineError

COMMANDS = {
    "generate": engine.commands.generate,
    "serve-trace": engine.commands.serve_trace,
    "bench": engine.commands.bench,
    "ngrams": engine.commands.ngrams,
}


def parser() -> argparse.ArgumentParser:
    """All commands."""
    top = argparse.ArgumentParser(prog="python -m engine", description="A real speculative-decoding engine.")
    commands = top.add_subparsers(dest="command", required=True)
    for name, module in COMMANDS.items():
        about = (module.__doc__ or "").splitlines()[0]
        command = commands.add_parser(
            name, help=about, description=about, epilog=module.EXAMPLE, formatter_class=argparse.RawTextHelpFormatter
        )
        module.add_flags(command)
        command.set_defaults(run=module.run)
    return top


def main(arguments: Sequence[str]) -> int:
    """Run a command; 0 ok, 2 bad input, 130 interrupted."""
    flags = parser().parse_args(arguments)
    try:
        flags.run(flags)
    except EngineError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    return 0
