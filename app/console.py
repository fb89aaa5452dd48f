"""Where text goes: results to stdout, all else to stderr; and JSON that any reader takes."""

import json
import math
import os
import sys
from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

PIPED_WIDTH = 120
"""Columns of a table that no terminal limits."""


def out_console() -> "Console":
    """The console of results; colours only on a terminal, and never with NO_COLOR."""
    from rich.console import Console

    width = PIPED_WIDTH if not sys.stdout.isatty() and "COLUMNS" not in os.environ else None
    return Console(file=sys.stdout, width=width, highlight=False, markup=False, emoji=False)


def note(text: str, *, quiet: bool = False) -> None:
    """A message that is no result."""
    if not quiet:
        typer.echo(text, err=True)


def print_json(value: Any) -> None:
    """A value as JSON on stdout; an `Each` in it is written item by item."""
    from scenarios.streamed import json_parts

    for part in json_parts(value, json_text):
        typer.echo(part, nl=False)
    typer.echo()


def json_text(value: Any) -> str:
    """JSON with two spaces, keys in their own order; what is not a finite number is null.

    >>> print(json_text({"a": float("nan"), 4: (1, 2)}).replace(chr(10), ""))
    {  "a": null,  "4": [    1,    2  ]}
    """
    return json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value.isoformat() if isinstance(value, date) else value
