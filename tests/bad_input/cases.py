"""A bad input: the files that stand there, the command that meets them, and what its one message must hold."""

from collections.abc import Sequence
from typing import NamedTuple

from tests.scenarios.examples import CHAT, edited, line_of

ARRIVALS = "{kind: poisson, rate_per_s: 4}"
LENGTHS = "{kind: empirical, table: azure-conv-2023}"


class Case(NamedTuple):
    """One bad input."""

    id: str
    command: Sequence[str]
    parts: Sequence[str]
    """Texts of the message: the place, the value, the way out."""
    files: dict[str, str | bytes | None]
    """Name → content; None: a folder."""


def scenario(name: str, old: str, new: str, *parts: str, at: str = "", command: str = "run") -> Case:
    """CHAT with a mistake in it; at: text of the line that the message must name, by default the mistake's own."""
    text = edited((old, new))
    place = f"chat.yaml:{line_of(text, at or new.strip().splitlines()[0])}: "
    return Case(name, [command, "chat.yaml"], [place, *parts], {"chat.yaml": text})


def trace(name: str, content: str | bytes | None, *parts: str, file: str = "trace.csv") -> Case:
    """CHAT on a trace that is wrong."""
    text = edited((ARRIVALS, f"{{kind: trace, file: {file}}}"), (LENGTHS, "{kind: trace}"))
    place = f"chat.yaml:{line_of(text, file)}: workload.arrivals.file: "
    return Case(name, ["run", "chat.yaml"], [place, *parts], {"chat.yaml": text, file: content})


def command(name: str, arguments: str, *parts: str, **files: str | None) -> Case:
    """A command line that is wrong, in a folder where chat.yaml is right."""
    there = {"chat.yaml": CHAT, "a-file": "text", "empty-folder": None, **files}
    return Case(name, arguments.split(), parts, there)
