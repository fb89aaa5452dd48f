"""Texts that a table of n-grams has not counted: only those say what it gets accepted."""

from collections.abc import Callable, Sequence
from pathlib import Path

from engine.commands.tables import LONGEST_TEXT, texts_named
from engine.ngrams import read_table
from engine.texts import DOMAINS

START = 160
"""Characters of a text by which it is known again."""


def unseen(tables: Sequence[str]) -> Callable[[str], bool]:
    """Whether a text stands in none of the texts that these tables were built from, as far as those are known.

    tables: as the engine's flag names them; of a file, the domain that it is named after.
    """
    counted = "\n".join(text[:LONGEST_TEXT] for name in tables for text in _texts(name))
    return lambda text: text[:START] not in counted


def _texts(name: str) -> list[str]:
    known = read_table(Path(name)).name if name.endswith(".json") else name
    return texts_named(known) if known in DOMAINS or known == name else []
