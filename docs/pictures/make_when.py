"""The picture of when to speculate, of the README's scenario: `python -m docs.pictures.make_when`."""

from collections.abc import Iterator, Sequence
from math import isnan
from pathlib import Path

from docs.pictures import svg
from scenarios.load import load_scenario
from simulator.planning.when import ARTICLE_ACCEPTANCE, LATENCY_RATIOS, Surface, surface

PICTURE = Path(__file__).with_name("when_to_speculate.svg")
SCENARIO = "h200_vs_b200_chat"
TITLES = {"h200-spec": "70B FP8 on 2 H200", "b200-spec": "70B FP8 on 2 B200"}
WIDTH, PANEL, TOP, HEIGHT = 920.0, 350.0, 60.0, 270.0
COLOURS = ("#0a3069", "#0969da", "#1a7f37", "#bc4c00", "#a40e26")
OWN = "#1f2328"


def picture(surfaces: Sequence[Surface]) -> str:
    """Break-even acceptance by sequences in flight: a panel a deployment, a line a cost of the draft."""
    panels = [_panel(one, 60 + nth * (PANEL + 80)) for nth, one in enumerate(surfaces)]
    parts = [part for panel in panels for part in svg.draw_panel(panel)]
    parts.append(svg.text(60, 24, "Above a line its draft pays, below it plain decoding is faster", size=13))
    parts += svg.draw_legend(panels[0].curves, 60, TOP + HEIGHT + 66, 138)
    return svg.document(WIDTH, TOP + HEIGHT + 90, "Acceptance from which a draft pays, by load and its cost", parts)


def _panel(one: Surface, left: float) -> svg.Panel:
    most = float(one.sequences[-1])
    ticks = tuple(float(2**power) for power in range(0, 12, 2) if 2**power <= most)
    return svg.Panel(
        title=TITLES.get(one.deployment, one.deployment),
        left=left,
        top=TOP,
        width=PANEL,
        height=HEIGHT,
        x=svg.Axis("sequences in flight per replica", 1.0, most, ticks, logarithmic=True),
        y=svg.Axis("acceptance", 0.0, 1.0, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)),
        curves=tuple(_curves(one)),
        limit=ARTICLE_ACCEPTANCE,
        limit_text=f"the article's line, {ARTICLE_ACCEPTANCE:.2f}",
    )


def _curves(one: Surface) -> Iterator[svg.Curve]:
    names = [f"c = {ratio:g}" for ratio in LATENCY_RATIOS] + ["its own 1B draft"]
    for nth, (name, colour) in enumerate(zip(names, (*COLOURS, OWN), strict=True)):
        values = one.break_even[nth].tolist()
        points = tuple((n, value) for n, value in zip(one.sequences.tolist(), values, strict=True) if not isnan(value))
        yield svg.Curve(name, colour, nth == len(names) - 1, points, points[-1] if points else None)


def surfaces() -> list[Surface]:
    """Those that are drawn."""
    scenario = load_scenario(SCENARIO).points[0].scenario
    return [surface(scenario, name) for name in TITLES]


if __name__ == "__main__":
    PICTURE.write_text(picture(surfaces()), encoding="utf-8")
