"""The picture of docs/calibration.md, from a check: `python -m docs.pictures.make_calibration runs/check-full`."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from calibration.check_doc import read_summary
from docs.pictures.svg import FONT, INK, PALE, Axis

PICTURE = Path(__file__).with_name("calibration.svg")
PANELS = {
    "ttft_s.mean": ("TTFT, mean [ms]", 1e3),
    "tpot_s.mean": ("TPOT, mean [ms]", 1e3),
    "output_tokens_per_s": ("output tokens/s", 1.0),
}
"""Figure → title, factor."""
SIDE, GAP, TOP = 220.0, 70.0, 34.0
COLOURS = ("#0969da", "#1a7f37", "#bc4c00", "#8250df", "#bf3989")


def picture(found: Mapping[str, Any]) -> str:
    """Parity plots side by side: a dot a run, a colour a K; on the line the prediction is right."""
    ks = sorted({point["draft_tokens"] for point in found["points"]})
    panels = "".join("".join(_panel(found, name, nth, ks)) for nth, name in enumerate(PANELS))
    keys = "".join(_key(nth, k) for nth, k in enumerate(ks))
    width, height = len(PANELS) * (SIDE + GAP) + 10, SIDE + TOP + 66
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" font-family="{FONT}" '
        f'font-size="11" fill="{INK}"><rect width="100%" height="100%" fill="#fff"/>{panels}{keys}</svg>\n'
    )


def _key(nth: int, k: int) -> str:
    x, y = 60 + nth * 90, SIDE + TOP + 54
    name = f"K = {k}" if k else "no drafts"
    return f'<circle cx="{x}" cy="{y:g}" r="4" fill="{colour(nth)}"/><text x="{x + 9}" y="{y + 4:g}">{name}</text>'


def colour(nth: int) -> str:
    """The colour of the n-th K."""
    return COLOURS[nth % len(COLOURS)]


def _panel(found: Mapping[str, Any], name: str, nth: int, ks: list[int]) -> Iterator[str]:
    title, factor = PANELS[name]
    left = 52 + nth * (SIDE + GAP)
    pairs = [
        (point, factor * value, factor * point["figures"][name]["predicted"])
        for point in found["points"]
        for value in point["figures"][name]["measured"]
        if value and point["figures"][name]["predicted"]
    ]
    if not pairs:
        return
    values = [value for _, *both in pairs for value in both]
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
    for point, measured, predicted in pairs:
        x, y = left + axis.share(measured) * SIDE, TOP + SIDE - axis.share(predicted) * SIDE
        fill = colour(ks.index(point["draft_tokens"]))
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.4" fill="{fill}" fill-opacity="0.75"/>'


def _ticks(low: float, high: float) -> tuple[float, ...]:
    powers = [factor * 10.0**power for power in range(-6, 7) for factor in (1, 2, 5)]
    inside = [value for value in powers if low <= value <= high]
    return tuple(inside[:: max(len(inside) // 5, 1)])


if __name__ == "__main__":
    PICTURE.write_text(picture(read_summary(Path(sys.argv[1]))), encoding="utf-8")
