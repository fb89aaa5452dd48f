"""When to speculate, in the report: the acceptance from which a draft pays, by load and cost of its passes."""

from collections.abc import Iterator, Sequence
from math import isnan
from typing import TYPE_CHECKING

from app.format import count
from app.report.markup import Markup, tag
from app.report.scales import Scale, log_scale, plain_number
from app.report.sections import section
from app.report.svg import X_PX, Y_PX, Axis, Chart, legend
from app.tables.when import LEGEND
from simulator.planning.when import ARTICLE_ACCEPTANCE, LATENCY_RATIOS, Surface

if TYPE_CHECKING:
    from simulator.spec.scenario import Scenario

OWN = "the deployment's own draft"


def surfaces_of(scenario: "Scenario") -> Iterator[Surface]:
    """One of each GPU type: the first deployment that fits and has one draft that proposes a chain."""
    from simulator.planning.context import why_unfit
    from simulator.planning.when import draws, surface

    drawn: set[str] = set()
    for name, deployment in scenario.deployments.items():
        if deployment.gpu not in drawn and draws(scenario, name) and not why_unfit(scenario, name):
            drawn.add(deployment.gpu)
            yield surface(scenario, name)


def when_to_speculate(surfaces: Sequence[Surface]) -> Markup | None:
    """A chart a surface; nothing without one."""
    if not surfaces:
        return None
    names = [f"c = {ratio:g}" for ratio in LATENCY_RATIOS] + [OWN]
    charts = tag("div", *(break_even_chart(one) for one in surfaces), class_="charts")
    return section("When to speculate", legend(names), charts, says=LEGEND)


def break_even_chart(one: Surface) -> Markup:
    """Break-even acceptance against sequences in flight, a line each cost of the draft."""
    sequences = one.sequences.tolist()
    x = Axis("sequences in flight per replica", log_scale(sequences, *X_PX), plain_number)
    y = Axis("acceptance", Scale(0.0, 1.0, *Y_PX), plain_number)
    chart = Chart(f"{one.deployment}: above a line its draft pays", x, y)
    for series, values in enumerate(one.break_even.tolist()):
        chart.line([(n, value) for n, value in zip(sequences, values, strict=True) if not isnan(value)], series)
    chart.horizontal(ARTICLE_ACCEPTANCE, f"one line for all cases, {ARTICLE_ACCEPTANCE:.2f}")
    chart.said.append(_said(one))
    return chart.markup()


def _said(one: Surface) -> str:
    values = [value for value in one.break_even[-1].tolist() if not isnan(value)]
    if not values:
        return "Its own draft pays nowhere."
    first, last = values[0], values[-1]
    return (
        f"Its own draft pays from an acceptance of {first:.2f} with one sequence in flight, of {last:.2f} with "
        f"{count(float(one.sequences[len(values) - 1]))}."
    )
