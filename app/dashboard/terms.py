"""Words with what they mean: tooltips of controls and figures, heads of tables, each with a link to the glossary.

Knows nothing of pages.
"""

import re

from app.glossary import Term, named, term
from app.report.markup import Child, Markup, tag

_MARKS = re.compile(r"([\\`*_{}\[\]()#+!|<>$:~-])")

PAGE, WORD = "glossary", "word"
"""The page in an address, beside which all others lie, and its parameter: the word that stands on top."""


def tip(key: str, more: str = "") -> str:
    """A tooltip in Markdown: what a word means, its formula and unit, and a link to it.

    more: what is to be known of it here; it stands first.
    """
    found = term(key)
    unit = f" [{found.unit}]" if found.unit else ""
    meaning = f"**{unmarked(found.title)}**{unmarked(unit)}: {unmarked(found.says)}"
    said = (unmarked(more), meaning, unmarked(found.formula), f"[Glossary]({_to(found)})")
    return "\n\n".join(filter(None, said))


def unmarked(text: str) -> str:
    r"""A text where Streamlit reads Markdown: no link, no picture, no formula.

    >>> unmarked("![x](http://y)")
    '\\!\\[x\\]\\(http\\://y\\)'
    """
    return _MARKS.sub(r"\\\1", text)


def sign(key: str) -> Markup:
    """A small question mark that leads to the word in the glossary."""
    found = term(key)
    name = f"{found.title} in the glossary"
    return tag(
        "a", "?", class_="sf-tip", href=_to(found), target="_blank", title=in_words(found), aria_label=name
    )  # fmt: skip


def linked(text: str, key: str) -> Markup:
    """A word as a link to the glossary, which opens beside the page; what it means is its title."""
    found = term(key)
    return tag("a", text, class_="sf-term", href=_to(found), target="_blank", title=in_words(found))


def head(title: str) -> Child:
    """The head of a column or of a line: a link where it begins with a word of the glossary."""
    found = named(title)
    return title if found is None else linked(title, found.key)


def in_words(found: Term) -> str:
    """What a word means, with its formula and unit, as plain text."""
    formula = f" {found.formula}" if found.formula else ""
    return f"{found.says}{formula}{f' [{found.unit}]' if found.unit else ''}"


def _to(found: Term) -> str:
    return f"{PAGE}?{WORD}={found.key}"
