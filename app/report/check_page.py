"""A check as one HTML file: goals, parity plots of all points, what drafts gain; nothing fetched, no script."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.format import count, duration, times
from app.report.document import html_document
from app.report.markup import Child, Markup, table, tag
from app.report.scales import Label, log_scale, plain_number
from app.report.svg import X_PX, Y_PX, Axis, Chart, legend
from app.tables.check import LEGEND, TIMING, differences, error, figure_text, goal, verdict

WITHIN = 1.1
"""Dashed lines at this factor above and below what was measured."""

DRAWN: dict[str, tuple[str, Label]] = {
    "ttft_s.mean": ("TTFT, mean", duration),
    "ttft_s.p90": ("TTFT, p90", duration),
    "tpot_s.mean": ("TPOT, mean", duration),
    "itl_s.mean": ("ITL, mean", duration),
    "e2e_s.mean": ("E2E, mean", duration),
    "output_tokens_per_s": ("output tokens/s", plain_number),
    "tokens_per_step": ("tokens per step", plain_number),
}
"""Figures that have a parity plot."""


def check_html(found: Mapping[str, Any]) -> str:
    """The page of a check's summary."""
    return html_document("Calibration check", _sections(found))


def _sections(found: Mapping[str, Any]) -> Iterator[Child]:
    yield tag("h1", "Predicted against measured on this device")
    yield tag("p", about_text(found["about"]), class_="dim")
    yield _goals(found["lines"])
    yield tag("p", f"{LEGEND} {TIMING}", class_="hint")
    yield from (tag("p", f"Not replayed alike: {one}", class_="bad") for one in differences(found["points"]))
    loads = sorted({load_of(point) for point in found["points"]})
    yield tag("h2", "All points")
    yield legend(loads)
    yield tag("div", *(c for name in DRAWN if (c := parity_chart(name, found["points"], loads))), class_="charts")
    yield tag("p", "The line is equality; dashed: 10 % above and below. Filled: plain decoding; hollow: with drafts; "
              "each run of a point has a mark.", class_="hint")  # fmt: skip
    yield _points(found["points"])
    if found["gains"]:
        yield tag("h2", "What drafts gain")
        yield _gains(found)
        yield _batches(found["pays_up_to_batch"])


def about_text(about: Mapping[str, Any]) -> str:
    """Machine, profile and texts in one line."""
    machine = about.get("machine", {})
    told = (f"{machine.get('device', 'unknown device')}, {machine.get('threads', '?')} threads, torch"
            f" {machine.get('torch', '?')}, {machine.get('backend', '?')}")  # fmt: skip
    return f"{told}; profile {about.get('profile', 'none')}; {about.get('date', '')}"


def load_of(point: Mapping[str, Any]) -> str:
    """What points of all K have in common.

    >>> load_of({"system": "small", "load": "clients", "level": 4.0})
    'small, 4 clients'
    """
    kind = f"{point['level']:g} clients" if point["load"] == "clients" else f"{point['level']:g} × saturation"
    return f"{point['system']}, {kind}"


def parity_chart(name: str, points: Sequence[Mapping[str, Any]], loads: list[str]) -> Markup | None:
    """Predicted against measured of one figure; None where no point has both."""
    title, label = DRAWN[name]
    known = [
        (point, value, point["figures"][name]["predicted"])
        for point in points
        for value in point["figures"][name]["measured"]
        if value and point["figures"][name]["predicted"] and (name != "tokens_per_step" or point["draft_tokens"])
    ]
    if not known:
        return None
    values = [value for _, *both in known for value in both]
    x, y = log_scale(values, *X_PX), log_scale(values, *Y_PX)
    chart = Chart(f"{title}: predicted", Axis("measured", x, label), Axis("predicted", y, label))
    for factor in (1.0, WITHIN, 1 / WITHIN):
        low, high = max(x.low, x.low / factor), min(x.high, x.high / factor)
        where = " ".join(f"{px:g},{py:g}" for px, py in (chart.at(at, at * factor) for at in (low, high)))
        dash = None if factor == 1.0 else "4 3"
        chart.parts.append(tag("polyline", points=where, class_="line", stroke_dasharray=dash))
    for point, measured, predicted in known:
        says = f"{point['key']}: {label(predicted)} predicted, {label(measured)} measured"
        chart.dot(measured, predicted, loads.index(load_of(point)), hollow=point["draft_tokens"] > 0, says=says)
    return chart.markup()


def _goals(lines: Sequence[Mapping[str, Any]]) -> Markup:
    head = ("what", "goal", "points held", "mean error", "worst error", "at", "runs apart", "met")
    rows = [
        (
            f"{line['what']} ({line['note']})" if line["note"] else line["what"], goal(line),
            f"{count(line['held'])} of {count(line['count'])}", error(line["mean_error"], sign=False),
            error(line["worst_error"]), line["worst_at"] or "", error(line["apart"], sign=False),
            tag("span", verdict(line), class_="bad" if line["passed"] is False else "good"),
        )
        for line in lines
    ]  # fmt: skip
    return table(head, rows, wide="at")


def _points(points: Sequence[Mapping[str, Any]]) -> Markup:
    names = ("ttft_s.mean", "ttft_s.p90", "tpot_s.mean", "e2e_s.mean", "output_tokens_per_s", "tokens_per_step")
    head = ("point", "requests", *(DRAWN[name][0] for name in names), "step MAPE", "steps replayed")
    rows = [
        (
            point["key"], count(point["requests"]), *(figure_text(point["figures"], name) for name in names),
            error(point["steps"]["mape"], sign=False),
            ", ".join(f"{count(r['equal'])} of {count(r['steps'])}" for r in point["replay"]),
        )
        for point in points
    ]  # fmt: skip
    return table(head, rows)


def _gains(found: Mapping[str, Any]) -> Markup:
    best = {one["load"]: one for one in found["best"]}
    head = ("load", "K", "speed predicted", "speed measured", "best K predicted", "best K measured")
    rows = [
        (
            gain["load"], gain["draft_tokens"], times(gain["predicted"]), times(gain["measured"]),
            best[gain["load"]]["predicted"], best[gain["load"]]["measured"],
        )
        for gain in found["gains"]
    ]  # fmt: skip
    return table(head, rows)


def _batches(found: Sequence[Mapping[str, Any]]) -> Markup:
    def told(value: float | None, most: int) -> str:
        return f"beyond {most}" if value is None else f"{value:.1f}"

    head = ("K", "pays up to a batch of: predicted", "measured")
    rows = [
        (one["where"], told(one["predicted"], one["largest"]), told(one["measured"], one["largest"])) for one in found
    ]
    return table(head, rows)
