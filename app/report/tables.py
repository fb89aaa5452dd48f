"""The tables of a report: the comparison, what it costs, the sources."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from app.format import ABSENT, plus_minus, times, usd
from app.report.markup import Child, Markup, headed, join, scrolling, table, tag
from app.tables.figures import Cell, Figure, Limits, Row, fleet, groups

COSTS = {
    "usd_per_hour": "$/h as described",
    "usd_per_hour_for_offered": "$/h of that fleet",
    "usd_per_million_output_tokens": "$/M output",
    "usd_per_million_input_tokens": "$/M input",
    "usd_per_million_total_tokens": "$/M total",
    "usd_per_million_good_output_tokens": "$/M good output",
    "usd_per_million_output_tokens_at_capacity": "$/M output at capacity",
}


def comparison(
    rows: Sequence[Row], limits: Limits, verdict: Mapping[str, Any], named: Callable[[str], Child] = str
) -> Markup:
    """All figures, deployments as columns.

    named: how the name of a figure is written.
    """
    lines: list[Markup] = []
    for group in groups(limits):
        shown = [(figure, cells) for figure in group.figures if (cells := _cells(figure, rows)) is not None]
        if shown and group.title:
            lines.append(tag("tr", tag("th", group.title, colspan=len(rows) + 1), class_="group"))
        lines += [tag("tr", headed(named(figure.label), "row"), *cells) for figure, cells in shown]
    names = [_name(row, verdict) for row in rows]
    head = tag("thead", tag("tr", tag("td"), *(headed(name, "col") for name in names)))
    return scrolling(tag("table", head, tag("tbody", *lines)))


def _name(row: Row, verdict: Mapping[str, Any]) -> str:
    name = str(row.get("deployment", "?"))
    return f"{name} ★" if verdict.get("winner") == name else name


def _cells(figure: Figure, rows: Sequence[Row]) -> list[Markup] | None:
    cells: list[Cell] = [figure.show(row) for row in rows]
    if all(cell.text == ABSENT for cell in cells):
        return None
    return [tag("td", cell.text, class_=cell.tone or None) for cell in cells]


def costs(rows: Sequence[Row], prices: Mapping[str, Any]) -> Markup:
    """What each deployment costs, and where its price comes from."""
    head = ("deployment", "$/GPU-hour", "price", "as of", "fleet for the load", *COSTS.values())
    return join(
        table(
            head, [tuple(_cost_line(row, prices.get(str(row.get("deployment"))) or {})) for row in rows], wide="price"
        ),
        tag("p", "Each price per million tokens carries the whole cost: never add them.", class_="hint"),
    )


def _cost_line(row: Row, price: Mapping[str, Any]) -> Iterator[str]:
    yield str(row.get("deployment"))
    yield usd(price.get("usd_per_gpu_hour", row.get("usd_per_gpu_hour")))
    yield f"{str(price.get('basis', ABSENT)).replace('_', ' ')}: {price.get('source', ABSENT)}"
    yield str(price.get("as_of", ABSENT))
    yield fleet(row).text
    for field in COSTS:
        interval = None if field.startswith("usd_per_hour") else (row.get("interval") or {}).get(field)
        yield plus_minus(row.get(field), interval, usd)


def sweep(points: Sequence[Mapping[str, Any]]) -> Markup:
    """Who wins at each point of a sweep."""
    names = list(points[0]["values"]) if points else []
    rows = [(*(str(value) for value in point["values"].values()), *_verdict(point["comparison"])) for point in points]
    return table((*names, "winner", "runner-up", "cheaper by", "95 % interval"), rows, class_="text")


def _verdict(found: Mapping[str, Any]) -> tuple[str, ...]:
    ends = found.get("interval")
    interval = f"{ends[0]:.3g}–{ends[1]:.3g}" if ends else ABSENT
    return (
        str(found.get("winner") or "none"),
        str(found.get("runner_up") or ABSENT),
        times(found.get("ratio")),
        interval,
    )


def sources(provenance: Mapping[str, Any]) -> Markup:
    """Every catalog entry that the run reads, with its source and date; addresses as plain text."""
    rows = [
        (f"{source['file']}, {source['key']}", str(source["kind"]).replace("_", " "), source["ref"], source["date"])
        for source in provenance.get("sources") or ()
    ]
    return table(("catalog entry", "kind", "source", "date"), rows, class_="text")
