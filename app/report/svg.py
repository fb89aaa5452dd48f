"""Small charts in SVG: a frame with two axes, and what is drawn into it. Colours are classes that the page styles."""

from dataclasses import dataclass, field

from app.report.markup import Markup, join, tag
from app.report.scales import Label, Points, Scale

WIDTH, HEIGHT = 380, 270
"""Size at which a chart is drawn: text stays legible from a phone's width on."""
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 14, 44
"""Room around the frame for the labels."""
X_PX, Y_PX = (float(LEFT), float(WIDTH - RIGHT)), (float(HEIGHT - BOTTOM), float(TOP))
"""Pixels of the ends of the axes."""

DASHES = (None, "7 3", "2 3", "9 3 2 3")
MARKERS = ("circle", "square", "diamond", "triangle")
COLOURS = 8
"""Colours that the page has; dashes and markers tell series apart where colours do not."""


@dataclass(frozen=True, slots=True)
class Axis:
    """What an axis measures."""

    title: str
    scale: Scale
    label: Label


@dataclass(slots=True)
class Chart:
    """A chart being drawn."""

    title: str
    x: Axis
    y: Axis
    parts: list[Markup] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    """Sentences for those who cannot see it."""

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Pixels of a point."""
        return round(self.x.scale.px(x), 1), round(self.y.scale.px(y), 1)

    def line(self, points: Points, series: int) -> None:
        """A line through points."""
        drawn = thinned([self.at(x, y) for x, y in points])
        if len(drawn) > 1:
            where = " ".join(f"{x:g},{y:g}" for x, y in drawn)
            self.parts.append(
                tag("polyline", points=where, class_=f"line s{series % COLOURS}", stroke_dasharray=dash(series))
            )

    def dot(
        self, x: float, y: float, series: int, *, hollow: bool = False, faint: bool = False, says: str = ""
    ) -> None:
        """A point with the marker of its series."""
        kind = " ".join(name for name, on in (("hollow", hollow), ("faint", faint)) if on)
        self.parts.append(marker(*self.at(x, y), series, kind, says))

    def vertical(self, x: float, series: int | None, text: str) -> None:
        """A line across, at a value of x."""
        px, _ = self.at(x, self.y.scale.low)
        colour = "rule" if series is None else f"rule s{series % COLOURS}"
        self.parts.append(tag("line", tag("title", text), x1=px, x2=px, y1=Y_PX[0], y2=Y_PX[1], class_=colour))

    def horizontal(self, y: float, text: str) -> None:
        """A limit, with its name."""
        _, py = self.at(self.x.scale.low, y)
        self.parts.append(tag("line", x1=X_PX[0], x2=X_PX[1], y1=py, y2=py, class_="rule"))
        self.parts.append(tag("text", text, x=X_PX[0] + 4, y=max(py - 4, TOP + 8), class_="tick"))

    def shade(self, until_x: float, text: str) -> None:
        """A band from the left end up to a value of x."""
        px, _ = self.at(until_x, self.y.scale.low)
        if px - X_PX[0] >= 1:
            self.parts.append(
                tag("rect", tag("title", text), x=X_PX[0], y=Y_PX[1], width=round(px - X_PX[0], 1),
                    height=Y_PX[0] - Y_PX[1], class_="shade")
            )  # fmt: skip

    def foot(self, x: float, series: int, text: str) -> None:
        """A small mark on the axis, at a value of x."""
        px, _ = self.at(x, self.y.scale.low)
        where = f"{px:g},{Y_PX[0] - 9:g} {px + 5:g},{Y_PX[0]:g} {px - 5:g},{Y_PX[0]:g}"
        self.parts.append(tag("polygon", tag("title", text), points=where, class_=f"knee s{series % COLOURS}"))

    def markup(self) -> Markup:
        """The chart as a figure with its title."""
        drawing = tag(
            "svg",
            tag("title", self.title),
            tag("desc", " ".join(self.said)) if self.said else None,
            frame(self.x, self.y),
            *self.parts,
            viewBox=f"0 0 {WIDTH} {HEIGHT}",
            role="img",
            class_="chart",
        )
        return tag("figure", tag("figcaption", self.title), drawing)


def frame(x: Axis, y: Axis) -> Markup:
    """Grid, ticks and titles of two axes."""
    parts = []
    for value in y.scale.ticks():
        py = round(y.scale.px(value), 1)
        parts.append(tag("line", x1=X_PX[0], x2=X_PX[1], y1=py, y2=py, class_="grid"))
        parts.append(tag("text", y.label(value), x=LEFT - 6, y=py + 4, class_="tick end"))
    for value in x.scale.ticks(5):
        px = round(x.scale.px(value), 1)
        parts.append(tag("line", x1=px, x2=px, y1=Y_PX[0], y2=Y_PX[0] + 4, class_="axis"))
        parts.append(tag("text", x.label(value), x=px, y=Y_PX[0] + 17, class_="tick middle"))
    parts.append(tag("line", x1=X_PX[0], x2=X_PX[1], y1=Y_PX[0], y2=Y_PX[0], class_="axis"))
    parts.append(tag("text", x.title, x=(X_PX[0] + X_PX[1]) / 2, y=HEIGHT - 7, class_="title middle"))
    return tag("g", *parts)


def dash(series: int) -> str | None:
    """Dashes of a series' line: another for each round of colours, and within one for every second series."""
    return DASHES[series % len(DASHES)]


def marker(x: float, y: float, series: int, kind: str = "", says: str = "", size: float = 3.6) -> Markup:
    """The marker of a series around a pixel."""
    shape, of = MARKERS[series % len(MARKERS)], f"dot s{series % COLOURS} {kind}".strip()
    hint = (tag("title", says),) if says else ()
    if shape == "circle":
        return tag("circle", *hint, cx=x, cy=y, r=size, class_=of)
    if shape == "square":
        return tag(
            "rect", *hint, x=round(x - size, 1), y=round(y - size, 1), width=2 * size, height=2 * size, class_=of
        )
    reach = round(size * 1.35, 1)
    corners = [(0.0, -reach), (reach, 0.0), (0.0, reach), (-reach, 0.0)]
    if shape == "triangle":
        corners = [(0.0, -reach), (reach, reach), (-reach, reach)]
    where = " ".join(f"{round(x + dx, 1):g},{round(y + dy, 1):g}" for dx, dy in corners)
    return tag("polygon", *hint, points=where, class_=of)


def legend(names: list[str], extra: tuple[Markup, ...] = ()) -> Markup:
    """What each colour, dash and marker stands for; wraps where it is narrow."""
    keys = [tag("li", _swatch(series), " ", name) for series, name in enumerate(names)]
    return tag("ul", *keys, *extra, class_="legend")


def _swatch(series: int) -> Markup:
    line = tag("line", x1=1, x2=29, y1=7, y2=7, class_=f"line s{series % COLOURS}", stroke_dasharray=dash(series))
    return tag("svg", join(line, marker(15, 7, series)), width=30, height=14, class_="swatch", aria_hidden="true")


def thinned(points: list[tuple[float, float]], apart: float = 0.5) -> list[tuple[float, float]]:
    """Points at least so many pixels apart; the last one is kept.

    >>> thinned([(0.0, 0.0), (0.1, 0.0), (1.0, 0.0)])
    [(0.0, 0.0), (1.0, 0.0)]
    """
    kept: list[tuple[float, float]] = []
    for point in points:
        if not kept or abs(point[0] - kept[-1][0]) + abs(point[1] - kept[-1][1]) >= apart:
            kept.append(point)
    if points and kept[-1] != points[-1]:
        kept.append(points[-1])
    return kept
