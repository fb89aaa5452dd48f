"""The words of the project, read from one page (`glossary.md`) by everything that explains one."""

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).with_name("glossary.md")

_GROUP, _TERM = re.compile(r"^## ", re.MULTILINE), re.compile(r"^### ", re.MULTILINE)
_FIELD = re.compile(r"^- (\w+): (.+)$")


class Term(NamedTuple):
    """A word, and what it means."""

    key: str
    """Its anchor on the page."""
    title: str
    group: str
    says: str
    unit: str
    """Empty where it has none."""
    formula: str
    """In words and letters; empty where it has none."""
    also: tuple[str, ...]
    """Other names, and how tables call it."""

    @property
    def first(self) -> str:
        """The first sentence of what it means."""
        return self.says.partition(". ")[0].rstrip(".") + "."


def term(key: str) -> Term:
    """The word with this anchor; KeyError for one that is not on the page.

    >>> term("tpot").title, term("tpot").unit
    ('TPOT', 's; undefined for an output of one token')
    """
    return terms()[key]


def named(text: str) -> Term | None:
    """The word that a title or a column begins with, whatever stands behind it; None where it is none.

    >>> named("TTFT p95 ≤ 1 s").key, named("tokens/step").key, named("no word")
    ('ttft', 'tokens-per-step', None)
    """
    asked = text.lower()
    best = max((name for name in _names() if _begins(asked, name)), key=len, default=None)
    return None if best is None else term(_names()[best])


def _begins(text: str, name: str) -> bool:
    """Whether a text is a name, or goes on behind it with another word."""
    return text.startswith(name) and not text[len(name) : len(name) + 1].isalnum()


@lru_cache(maxsize=1)
def terms() -> dict[str, Term]:
    """Anchor → word, in the order of the page."""
    _, *groups = _GROUP.split(PAGE.read_text(encoding="utf-8"))
    return {found.key: found for group in groups for found in _of_group(group)}


@lru_cache(maxsize=1)
def _names() -> dict[str, str]:
    """Name in small letters → anchor."""
    return {name.lower(): found.key for found in terms().values() for name in (*found.also, found.title)}


def _of_group(text: str) -> Iterator[Term]:
    title, *entries = _TERM.split(text)
    for entry in entries:
        yield _term(title.strip(), entry)


def _term(group: str, entry: str) -> Term:
    title, _, body = entry.partition("\n")
    lines = body.strip().splitlines()
    fields = {found[1]: found[2].strip() for line in lines if (found := _FIELD.match(line))}
    says = " ".join(line for line in lines if line and not _FIELD.match(line))
    also = tuple(name.strip() for name in fields.get("Also", "").split(";") if name.strip())
    return Term(anchor(title), title.strip(), group, says, fields.get("Unit", ""), fields.get("Formula", ""), also)


def anchor(title: str) -> str:
    """The anchor that a Markdown page gives a heading.

    >>> anchor("Draft tokens (K)"), anchor("$/M output")
    ('draft-tokens-k', 'm-output')
    """
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
