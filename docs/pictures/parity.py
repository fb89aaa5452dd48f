"""Parity plots side by side as one picture: measured along, predicted up, equality a line."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from docs.pictures.svg import FONT, INK, PALE, Axis

SIDE, GAP, TOP = 220.0, 70.0, 34.0
COLOURS = ("#0969da", "#1a7f37", "#bc4c00", "#8250df", "#bf3989")


class Dot(NamedTuple):
    """One measurement and its prediction, in the unit that its panel's title names."""

    measured: float
    predicted: float
    kind: str


def parity(panels: Mapping[str, Sequence[Dot]], kinds: Sequence[str]) -> str:
    """The picture: a panel a title, a colour a kind (a name without dots stands in the key all the same)."""
    drawn = "".join("".join(_panel(title, dots, nth, kinds)) for nth, (title, dots) in enumerate(panels.items()))
    keys = "".join(_key(nth, kind) for nth, kind in enumerate(kinds))
    width, height = len(panels) * (SIDE + GAP) + 10, SIDE + TOP + 66
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" font-family="{FONT}" '
        f'font-size="11" fill="{INK}"><rect width="100%" height="100%" fill="#fff"/>{drawn}{keys}</svg>\n'
    )


def colour(nth: int) -> str:
    """The colour of the n-th kind."""
    return COLOURS[nth % len(COLOURS)]


def _key(nth: int, kind: str) -> str:
    x, y = 60 + nth * 90, SIDE + TOP + 54
    return f'<circle cx="{x}" cy="{y:g}" r="4" fill="{colour(nth)}"/><text x="{x + 9}" y="{y + 4:g}">{kind}</text>'


def _panel(title: str, dots: Sequence[Dot], nth: int, kinds: Sequence[str]) -> Iterator[str]:
    left = 52 + nth * (SIDE + GAP)
    if not dots:
        return
    values = [value for dot in dots for value in (dot.measured, dot.predicted)]
    ends = min(values) / 1.3, max(values) * 1.3
    axis = Axis(title, *ends, _ticks(*ends), logarithmic=True)
    yield f'<text x="{left:g}" y="{TOP - 12:g}" font-weight="600">{title}: predicted</text>'
    yield f'<rect x="{left:g}" y="{TOP:g}" width="{SIDE:g}" height="{SIDE:g}" fill="none" stroke="{PALE}"/>'
    yield f'<line x1="{left:g}" y1="{TOP + SIDE:g}" x2="{left + SIDE:g}" y2="{TOP:g}" stroke="{INK}"/>'
    for tick in axis.ticks:
        along = axis.share(tick) * SIDE
        yield f'<text x="{left + along:.1f}" y="{TOP + SIDE + 15:g}" text-anchor="middle">{tick:g}</text>'
        yield f'<text x="{left - 5:g}" y="{TOP + SIDE - along + 4:.1f}" text-anchor="end">{tick:g}</text>'
    yield f'<text x="{left + SIDE / 2:g}" y="{TOP + SIDE + 31:g}" text-anchor="middle">measured</text>'
    for dot in dots:
        x, y = left + axis.share(dot.measured) * SIDE, TOP + SIDE - axis.share(dot.predicted) * SIDE
        fill = colour(kinds.index(dot.kind))
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.4" fill="{fill}" fill-opacity="0.6"/>'


def _ticks(low: float, high: float) -> tuple[float, ...]:
    powers = [factor * 10.0**power for power in range(-6, 7) for factor in (1, 2, 5)]
    inside = [value for value in powers if low <= value <= high]
    return tuple(inside[:: max(-(-len(inside) // 6), 1)])
