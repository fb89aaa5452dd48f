"""Stacked bars, a line each, as wide as the page: memory by what holds it, step time by cause."""

from collections.abc import Mapping, Sequence

from app.report.markup import Markup, tag
from app.report.svg import COLOURS

Part = tuple[str, float, str]
"""Name, size, and the size as text."""

ROOM = 0.07
"""Share of a bar from which a part carries its own text."""


def stacked(title: str, parts: Sequence[Part], whole: float, colours: Mapping[str, int], said: str = "") -> Markup:
    """One bar with its title; parts beyond the whole make the bar longer than it."""
    total = max(whole, sum(size for _, size, _ in parts))
    drawn, start = [], 0.0
    for name, size, text in parts:
        if size <= 0 or total <= 0:
            continue
        width = 100 * size / total
        drawn.append(
            tag("rect", tag("title", f"{name}: {text}"), x=f"{start:.2f}%", y=0, width=f"{width:.2f}%", height=24,
                class_=f"bar s{colours[name] % COLOURS}")
        )  # fmt: skip
        if width >= 100 * ROOM:
            drawn.append(tag("text", text, x=f"{start + width / 2:.2f}%", y=16, class_="in middle"))
        start += width
    if total > whole * (1 + 1e-9) > 0:
        at = f"{100 * whole / total:.2f}%"
        drawn.append(tag("line", tag("title", "what there is"), x1=at, x2=at, y1=0, y2=24, class_="edge"))
    listed = "; ".join(f"{name} {text}" for name, size, text in parts if size > 0)
    drawing = tag("svg", tag("title", title), tag("desc", listed), *drawn, height=24, role="img", class_="stack")
    return tag("div", tag("div", title, tag("span", said, class_="dim") if said else None, class_="label"), drawing)


def key(colours: Mapping[str, int], said: Mapping[str, str] | None = None) -> Markup:
    """What each colour of the bars stands for."""
    words = said or {}
    items = [
        tag("li", tag("svg", tag("rect", width=12, height=12, class_=f"bar s{index % COLOURS}"), width=12, height=12,
                      class_="swatch", aria_hidden="true"), " ", words.get(name, name))
        for name, index in colours.items()
    ]  # fmt: skip
    return tag("ul", *items, class_="legend")
