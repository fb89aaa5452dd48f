"""Parity plots as one HTML file: predicted against measured, on logarithmic axes, a marker a group."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from app.format import count, duration, percent, times
from app.report.document import html_document
from app.report.markup import Child, Markup, table, tag
from app.report.scales import Label, log_scale, plain_number
from app.report.svg import X_PX, Y_PX, Axis, Chart, legend
from app.tables.validation import LOADS, TITLES, error_text, shown

if TYPE_CHECKING:
    from calibration.validate import Outcome, Validation

WITHIN = 1.2
"""Dashed lines at this factor above and below what was measured."""


class Dot(NamedTuple):
    """A measurement and its prediction."""

    measured: float
    predicted: float
    kind: int
    """Which marker."""
    hollow: bool
    says: str


def parity_html(found: "Validation", summary: Mapping[str, Any]) -> str:
    """The page; the summary is calibration.scores.summary of the validation."""
    return html_document("Predicted against measured", _sections(found, summary))


def _sections(found: "Validation", summary: Mapping[str, Any]) -> Iterator[Child]:
    overall = summary["overall"]
    yield tag("h1", "Predicted against measured")
    says = f"{summary['file']}: {count(overall['count'])} rows, {percent(overall['share_predicted'])} predicted."
    yield tag("p", says, class_="dim")
    kept = [one for one in found.outcomes if not one.skipped and not one.reason]
    kinds = sorted({kind(one) for one in kept})
    charts = [chart for metric in TITLES if (chart := parity_chart(metric, kept, kinds)) is not None]
    if charts:
        lines = "The line is equality; dashed: 20 % above and below. Hollow: no constant was fitted on the group."
        yield legend(kinds)
        yield tag("div", *charts, class_="charts")
        yield tag("p", lines, class_="hint")
    yield tag("h2", "By group")
    yield tag("p", "Errors in %: median (mean) bias; bias above 0: predicted more than measured.", class_="hint")
    yield _groups(summary)
    if summary["unpredicted"]:
        yield tag("h2", "Not predicted")
        yield table(("row", "reason"), [(row["id"], row["reason"]) for row in summary["unpredicted"]], wide="reason")


def kind(one: "Outcome") -> str:
    """What shares a marker."""
    return f"{one.row.engine} {one.row.gpu} {one.row.model}"


def parity_chart(metric: str, outcomes: "list[Outcome]", kinds: list[str]) -> Markup | None:
    """Predicted against measured of one metric; None without any row that has both."""
    from calibration.scores import pair, ratio

    known = [(one, *pair(one, metric)) for one in outcomes if ratio(one, metric) > 0]
    dots = [
        Dot(
            measured,
            predicted,
            kinds.index(kind(one)),
            one.half != "fitted",
            f"{one.row.id}: {shown(metric, predicted)} predicted, {shown(metric, measured)} measured",
        )
        for one, predicted, measured in known
    ]
    label: Label = plain_number if metric == "output_tokens_per_s" else duration
    return scatter(f"{TITLES[metric]}: predicted", dots, label) if dots else None


def scatter(title: str, dots: Sequence[Dot], label: Label) -> Markup:
    """Dots around the line of equality."""
    values = [value for dot in dots for value in (dot.measured, dot.predicted)]
    x, y = log_scale(values, *X_PX), log_scale(values, *Y_PX)
    chart = Chart(title, Axis("measured", x, label), Axis("predicted", y, label))
    for factor in (1.0, WITHIN, 1 / WITHIN):
        low, high = max(x.low, x.low / factor), min(x.high, x.high / factor)
        ends = [chart.at(at, at * factor) for at in (low, high)]
        where = " ".join(f"{px:g},{py:g}" for px, py in ends)
        chart.parts.append(
            tag("polyline", points=where, class_="line", stroke_dasharray=None if factor == 1.0 else "4 3")
        )
    for dot in dots:
        chart.dot(dot.measured, dot.predicted, dot.kind, hollow=dot.hollow, says=dot.says)
    return chart.markup()


def _groups(summary: Mapping[str, Any]) -> Markup:
    head = ("engine", "GPU", "model", "precision", "load", "constants", "rows", "predicted", *TITLES.values())
    rows = [
        (
            group["engine"], group["gpu"], group["model"], group["precision"], LOADS[group["load"]],
            group["half"].replace("_", "-"), count(group["count"]), percent(group["share_predicted"]),
            *(error_text(group[metric]) for metric in TITLES),
        )
        for group in summary["groups_by_half"]
    ]  # fmt: skip
    return table(head, rows)


def speedup_html(summary: Mapping[str, Any]) -> str:
    """The page of predicted speed-ups; the summary is that of calibration.speculation_scores."""
    return html_document("Predicted against measured speed-ups", _speedup_sections(summary))


def _speedup_sections(summary: Mapping[str, Any]) -> Iterator[Child]:
    rows = summary["rows"]
    yield tag("h1", "Predicted against measured speed-ups")
    says = f"{summary['file']}: {count(len(rows))} rows predicted, {count(len(summary['unpredicted']))} not."
    yield tag("p", says, class_="dim")
    names = [f"{row['engine']} {row['gpu']} {row['target']} {row['method']}" for row in rows]
    kinds = sorted(set(names))
    dots = [
        Dot(
            row["speedup"]["measured"],
            row["speedup"]["predicted"],
            kinds.index(name),
            True,
            _said(row),
        )
        for row, name in zip(rows, names, strict=True)
    ]
    if dots:
        yield legend(kinds)
        yield tag("div", scatter("Speed-up: predicted", dots, plain_number), class_="charts")
        yield tag("p", "The line is equality; dashed: 20 % above and below.", class_="hint")
    yield tag("h2", "By group")
    yield tag("p", "Errors in %: median (mean) bias; trivial: a constant × the accepted length.", class_="hint")
    head = ("engine", "GPU", "target", "draft", "method", "rows", "specfleet", "trivial")
    lines = [
        (*(group[key] for key in ("engine", "gpu", "target", "draft", "method")), count(group["count"]),
         error_text(group["speedup"]), error_text(group["baseline"]))
        for group in summary["groups"]
    ]  # fmt: skip
    yield table(head, lines)
    yield tag("h2", "Not predicted")
    yield table(("row", "reason"), [(row["id"], row["reason"]) for row in summary["unpredicted"]], wide="reason")


def _said(row: Mapping[str, Any]) -> str:
    predicted, measured = row["speedup"]["predicted"], row["speedup"]["measured"]
    return f"{row['id']}: {times(predicted)} predicted, {times(measured)} measured"
