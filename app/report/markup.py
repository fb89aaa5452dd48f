"""HTML and SVG elements as text. Whatever is not markup already is escaped, so that no user's text becomes any."""

import html
import re
from collections.abc import Sequence

VOID = frozenset({"meta", "br", "hr", "rect", "line", "path", "circle", "polyline", "polygon"})
"""Elements without content."""

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class Markup(str):
    """Text that is markup: written as it is."""

    __slots__ = ()


Child = str | int | float | None
"""Markup, or text to escape; None is left out."""

LONG = 24
"""Characters beyond which the name of a line or a column may wrap."""


def escaped(value: Child) -> str:
    """Text as it stands between tags or in an attribute; markup is left alone.

    >>> escaped("<b> & 'x'"), escaped(Markup("<b>"))
    ('&lt;b&gt; &amp; &#x27;x&#x27;', '<b>')
    """
    if value is None:
        return ""
    return str(value) if isinstance(value, Markup) else html.escape(_CONTROL.sub("\ufffd", str(value)))


def tag(name: str, /, *children: Child, **attributes: Child) -> Markup:
    """An element; `class_` is class, other underscores are hyphens, and an attribute of None is left out.

    >>> tag("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    >>> tag("line", x1=0, stroke_width=2)
    '<line x1="0" stroke-width="2"/>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(_CONTROL.sub("", str(value)))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in VOID and not children:
        return Markup(f"<{name}{given}/>")
    return Markup(f"<{name}{given}>{''.join(map(escaped, children))}</{name}>")


def join(*children: Child) -> Markup:
    """Children one after the other."""
    return Markup("".join(map(escaped, children)))


def table(head: Sequence[Child], rows: Sequence[tuple[Child, ...]], class_: str = "", wide: str = "") -> Markup:
    """A table that scrolls sideways by itself; the first cell of a line names it, and the column `wide` may wrap."""
    lines = [tag("tr", headed(first, "row"), *_cells(head[1:], cells, wide)) for first, *cells in rows]
    header = tag("thead", tag("tr", *(headed(title, "col") for title in head)))
    return scrolling(tag("table", header, tag("tbody", *lines), class_=class_ or None))


def headed(title: Child, scope: str) -> Markup:
    """The head of a line or a column; a long name may wrap.

    >>> headed("h200", "col"), headed("production-eu-west-chat-fleet", "row")[:30]
    ('<th scope="col">h200</th>', '<th scope="row" class="long">p')
    """
    wraps = not isinstance(title, Markup) and len(str(title)) > LONG
    return tag("th", title, scope=scope, class_="long" if wraps else None)


def scrolling(inner: Markup) -> Markup:
    """A wide table in a box that scrolls, by keyboard too."""
    return tag("div", inner, class_="scroll", tabindex=0, role="group", aria_label="Table")


def _cells(titles: Sequence[Child], cells: Sequence[Child], wide: str) -> list[Markup]:
    return [
        tag("td", cell, class_="wide" if title == wide else None) for title, cell in zip(titles, cells, strict=True)
    ]
