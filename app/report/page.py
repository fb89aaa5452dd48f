"""The report as one HTML file: no script, nothing fetched, every user's text escaped."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any

from app.report import sections, tables
from app.report.document import html_document
from app.report.markup import Child, Markup, tag
from app.report.when import surfaces_of, when_to_speculate
from app.results import PointResult, labelled
from app.tables.figures import Limits, limits_of, targets
from app.tables.sweep import MOST_LINES, left_out

if TYPE_CHECKING:
    from scenarios.load import LoadedScenario

MOST_POINTS = 12
"""Points of a sweep that are drawn; the others stand in the table."""


def report_html(
    loaded: "LoadedScenario", summary: Mapping[str, Any], points: Sequence[PointResult], digest: str
) -> str:
    """The report of a scenario file's finished points."""
    return html_document(str(summary["scenario"]), _sections(loaded, summary, points, digest))


def _sections(
    loaded: "LoadedScenario", summary: Mapping[str, Any], points: Sequence[PointResult], digest: str
) -> Iterator[Child]:
    from scenarios.store import label_of

    scenario = loaded.points[0].scenario
    yield tag("h1", summary["scenario"])
    yield tag("p", scenario.description) if scenario.description else None
    yield tag("p", _question(scenario, summary), class_="dim")
    specs = {label_of(point.label): point.scenario for point in loaded.points}
    if len(points) > 1:
        yield sections.verdict(summary["comparison"])
        yield tag("h2", "The sweep")
        yield tables.sweep(list(islice(summary["points"], MOST_LINES)))
        yield _hint(left_out(len(points)))
        yield _hint(_not_drawn(len(points)))
    for point in points[:MOST_POINTS]:
        yield _point(point, specs[point.label], alone=len(points) == 1)
    yield when_to_speculate(list(surfaces_of(scenario)))
    yield sections.origin(summary["provenance"], digest)


def _not_drawn(number: int) -> str:
    return f"The first {MOST_POINTS} of {number:,} points are drawn below." if number > MOST_POINTS else ""


def _hint(text: str) -> Markup | None:
    return tag("p", text, class_="hint") if text else None


def _question(scenario: Any, summary: Mapping[str, Any]) -> str:
    """Load and target in one line."""
    offered = next((row["offered_req_per_s"] for row in summary["rows"] if row.get("offered_req_per_s")), None)
    arrivals = scenario.workload.arrivals
    load = f"{offered:.4g} requests/s" if offered else arrivals.kind.replace("_", " ")
    if arrivals.kind == "closed_loop":
        load = f"{arrivals.concurrency:,} clients"
    target = ", ".join(targets(limits_of(scenario.slo)))
    horizon = scenario.workload.horizon
    requests = f"{horizon.requests:,} requests, {horizon.warmup_requests:,} of them warm-up"
    return f"{load} · {target or 'no latency target'} · {requests} · {scenario.replications} replications"


def _point(point: PointResult, scenario: Any, *, alone: bool) -> Markup:
    """A point of the sweep, or the whole of a scenario without one."""
    from simulator.physics.ledger import memory_ledger

    ledger = [asdict(row) for name, of in scenario.deployments.items() for row in memory_ledger(name, of)]
    rows = labelled(point)
    limits: Limits = limits_of(scenario.slo)
    drawn = {"rows": rows, "comparison": point.result["comparison"], "evidence": point.result.get("evidence") or {}}
    provenance = point.result.get("provenance") or {}
    return tag(
        "section",
        None if alone else tag("h2", point.label),
        sections.verdict(point.result["comparison"], point.result.get("economics") or ()),
        sections.warnings(rows, limits),
        sections.section("Comparison", tables.comparison(rows, limits, point.result["comparison"])),
        *sections.figures(drawn, limits, scenario.workload.arrivals.kind),
        sections.memory(ledger),
        sections.section("Cost", tables.costs(rows, provenance.get("prices") or {})),
    )
