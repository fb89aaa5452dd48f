"""What is wrong with a scenario file: each problem names its place, the value and the way out."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from simulator.errors import ScenarioError

Path = tuple[str | int, ...]
"""Keys and list positions from the root of a file to a place in it."""

MAX_SHOWN = 100
ENOUGH = 200
"""Problems after which no further points or candidates are checked: more than are shown, some are told once."""


@dataclass(frozen=True, order=True, slots=True)
class Problem:
    """One thing that is wrong."""

    file: str
    """As the user named it; a --set stands for itself."""
    line: int
    """1 is the first; 0: no line."""
    where: str
    """Dotted path; empty: the file as a whole."""
    message: str

    def __str__(self) -> str:
        """As a line of an error message."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        return ": ".join(part for part in (place, self.where, self.message) if part)

    def place(self) -> tuple[str, int, str]:
        """Where it is: what is wrong there is told once, in the words of the first that saw it."""
        return self.file, self.line, self.where or self.message

    def same_as(self) -> tuple[str, int, str, str]:
        """What makes two problems one: an inherited mistake is told once."""
        return self.file, self.line, self.where.rpartition(".")[2], self.message


def fail(problems: Iterable[Problem]) -> NoReturn:
    """Raise one error that tells all problems, a line each."""
    at: dict[tuple[str, int, str], Problem] = {}
    for problem in problems:
        at.setdefault(problem.place(), problem)
    first: dict[tuple[str, int, str, str], Problem] = {}
    for problem in at.values():
        if not (problem.message.startswith("null: ") and any(problem.same_as()[:3] == key[:3] for key in first)):
            first.setdefault(problem.same_as(), problem)
    ordered = sorted(first.values(), key=lambda problem: (problem.file, problem.line))
    lines = [str(problem) for problem in ordered[:MAX_SHOWN]]
    if len(ordered) > MAX_SHOWN:
        lines.append(f"… and {len(ordered) - MAX_SHOWN} problems more")
    raise ScenarioError("\n".join(lines))


def dotted(path: Sequence[str | int]) -> str:
    """A path as the user writes it.

    >>> dotted(("deployments", "h200", "gpu"))
    'deployments.h200.gpu'
    """
    return ".".join(shortened(str(part)) for part in path)


def shortened(text: str, most: int = 60) -> str:
    """A text cut to a length that fits into a message."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def shown(value: Any) -> str:
    """A value as a message shows it.

    >>> shown(None), shown(True), shown(-1), shown("fp9")
    ('null', 'true', '-1', "'fp9'")
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return shortened(repr(value) if isinstance(value, str | list | dict | int | float) else str(value))


def nearest(word: object, known: Iterable[str]) -> str | None:
    """The known name that looks most like a word; None when none does.

    >>> nearest("gpuu", ["gpu", "replicas"])
    'gpu'
    """
    by_lower = {name.lower(): name for name in known}
    close = difflib.get_close_matches(str(word).lower()[:200], list(by_lower), n=1, cutoff=0.55)
    return by_lower[close[0]] if close else None


def way_out(word: object, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest one, or those that there are."""
    names = list(known)
    close = nearest(word, names)
    if close is not None:
        return f"nearest: {close}"
    listed = ", ".join(names[:16]) + (f", … ({len(names)} in all)" if len(names) > 16 else "")
    return f"known: {listed or 'none'}"
