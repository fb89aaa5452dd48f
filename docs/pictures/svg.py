"""A tiny SVG writer: panels with axes, curves, limits and marks; text and nothing else.

It does not know what the numbers mean.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import log10

INK, PALE = "#1f2328", "#d0d7de"
FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"
LIMIT = "#cf222e"

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Curve:
    """A line through points, and the point at which it ends in a mark (None: nowhere)."""

    name: str
    colour: str
    dashed: bool
    points: tuple[Point, ...]
    mark: Point | None = None


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale from data to pixels with its ticks."""

    title: str
    low: float
    high: float
    ticks: tuple[float, ...]
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """Where a value lies between the ends; values beyond them are put on the end.

        >>> Axis("load", 0.0, 10.0, ()).share(2.5), Axis("time", 1.0, 100.0, (), True).share(10.0)
        (0.25, 0.5)
        """
        value = min(max(value, self.low), self.high)
        if self.logarithmic:
            return log10(value / self.low) / log10(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True, slots=True)
class Panel:
    """One diagram: where it lies, its axes, its curves, and a limit that is drawn across."""

    title: str
    left: float
    top: float
    width: float
    height: float
    x: Axis
    y: Axis
    curves: tuple[Curve, ...]
    limit: float | None = None
    limit_text: str = ""

    def place(self, point: Point) -> Point:
        """Pixels of a point."""
        return (
            self.left + self.width * self.x.share(point[0]),
            self.top + self.height * (1.0 - self.y.share(point[1])),
        )


def number(value: float) -> str:
    """A tick as it is written.

    >>> number(0.04), number(10.0)
    ('0.04', '10')
    """
    return f"{value:g}"


def text(x: float, y: float, words: str, *, size: int = 12, anchor: str = "start", style: str = "") -> str:
    """A line of text."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{INK}" {style}>'
        f"{escape(words)}</text>"
    )


def line(start: Point, end: Point, colour: str, *, width: float = 1.0, dash: str = "") -> str:
    """A straight line."""
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    (x1, y1), (x2, y2) = start, end
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
        f'stroke-width="{width:g}"{dashed}/>'
    )


def draw_panel(panel: Panel, show: Callable[[float], str] = number) -> Iterator[str]:
    """Everything of a panel."""
    right, bottom = panel.left + panel.width, panel.top + panel.height
    yield text(panel.left, panel.top - 12, panel.title, size=14, style='font-weight="600"')
    for tick in panel.y.ticks:
        _, y = panel.place((panel.x.low, tick))
        yield line((panel.left, y), (right, y), PALE)
        yield text(panel.left - 6, y + 4, show(tick), anchor="end")
    for tick in panel.x.ticks:
        x, _ = panel.place((tick, panel.y.low))
        yield line((x, bottom), (x, bottom + 4), INK)
        yield text(x, bottom + 18, number(tick), anchor="middle")
    yield line((panel.left, bottom), (right, bottom), INK)
    yield text((panel.left + right) / 2, bottom + 38, panel.x.title, anchor="middle")
    if panel.limit is not None:
        _, y = panel.place((panel.x.low, panel.limit))
        yield line((panel.left, y), (right, y), LIMIT, width=1.5, dash="2 3")
        yield text(panel.left + 4, y - 5, panel.limit_text, size=11)
    for curve in panel.curves:
        yield from draw_curve(panel, curve)


def draw_curve(panel: Panel, curve: Curve) -> Iterator[str]:
    """A curve and its mark."""
    placed = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(panel.place, curve.points))
    dashed = ' stroke-dasharray="6 4"' if curve.dashed else ""
    yield f'<polyline points="{placed}" fill="none" stroke="{curve.colour}" stroke-width="2"{dashed}/>'
    if curve.mark is not None:
        yield dot(panel.place(curve.mark), curve)


def dot(centre: Point, curve: Curve) -> str:
    """A curve's mark: hollow where its line is dashed."""
    inside = "white" if curve.dashed else curve.colour
    return (
        f'<circle cx="{centre[0]:.1f}" cy="{centre[1]:.1f}" r="4.5" fill="{inside}" stroke="{curve.colour}" '
        'stroke-width="2"/>'
    )


def draw_legend(curves: Sequence[Curve], left: float, top: float, step: float) -> Iterator[str]:
    """Names of the curves in a row, each with its line and mark."""
    for index, curve in enumerate(curves):
        x = left + index * step
        dash = "6 4" if curve.dashed else ""
        yield line((x, top), (x + 30, top), curve.colour, width=2, dash=dash)
        yield dot((x + 30, top), curve)
        yield text(x + 40, top + 4, curve.name)


def document(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    """An SVG file on white, readable on light and dark pages."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" font-family="{FONT}" role="img">'
    )
    ground = f'<rect width="{width:g}" height="{height:g}" rx="6" fill="white"/>'
    return "\n".join([head, f"<title>{escape(title)}</title>", ground, *parts, "</svg>"]) + "\n"
