"""Names of deployments where there is little room: shortened so that they still tell each other apart."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile

LEGEND_LETTERS = 34
"""Characters of a name that legends and axes have room for, on a phone too."""

_BORDER = re.compile(r"[-._ ]")


def short(names: Sequence[str], most: int = LEGEND_LETTERS) -> list[str]:
    """Names with at most so many characters, still different where the names are.

    What all long ones begin with is left out first; then as much of their end or their beginning as need be, and where
    that is not enough, they are numbered.

    >>> short(["h200-spec", "production-eu-west-chat"], 16)
    ['h200-spec', 'production-eu-w…']
    >>> short(["production-eu-west-h200-plain", "production-eu-west-b200-plain"], 16)
    ['…h200-plain', '…b200-plain']
    >>> short(["chat-with-a-draft-and-four", "code-with-a-draft-and-five"], 12)
    ['chat-with-a…', 'code-with-a…']
    >>> short(["chat-with-draft-a-and-more", "chat-with-draft-b-and-more", "code-with-draft-b-and-more"], 12)
    ['chat-wit…·1', 'chat-wit…·2', 'code-wit…·3']
    """
    long = list(dict.fromkeys(name for name in names if len(name) > most))
    found = next(_shortened(long, most), None) or [
        f"{_end_off(name, most - 3)}·{number}" for number, name in enumerate(long, start=1)
    ]
    told = dict(zip(long, found, strict=True))
    return [told.get(name, name) for name in names]


def _shortened(long: Sequence[str], most: int) -> Iterator[list[str]]:
    """Ways to shorten all of them after which they still differ."""
    begin = _begin(long) if len(long) > 1 else 0
    cores = [f"…{name[begin:]}" if begin else name for name in long]
    ways: tuple[Callable[[str, int], str], ...] = (_end_off, _begin_off)
    for way in ways:
        found = [way(core, most) for core in cores]
        if len(set(found)) == len(long):
            yield found


def _begin(names: Sequence[str]) -> int:
    """Characters that all begin with, up to the last border between words."""
    alike = sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False)))
    return max((found.end() for found in _BORDER.finditer(names[0][:alike])), default=0)


def _end_off(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _begin_off(name: str, most: int) -> str:
    return name if len(name) <= most else f"…{name[len(name) - most + 1 :]}"
