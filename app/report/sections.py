"""The sections of a report: a point of the sweep with its figures, and where the numbers come from."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.format import count, gib, percent, significant
from app.report import bars, charts, tables
from app.report.markup import Child, Markup, join, tag
from app.report.svg import COLOURS, legend
from app.tables.economics import economics_lines
from app.tables.figures import Limits, Row, shown_percentiles
from app.tables.verdict import error_lines, notes, verdict_lines

CAUSES = {
    "linear": "linear layers",
    "experts": "experts",
    "attention": "attention",
    "prefill_attention": "attention of prompts",
    "collectives": "collectives",
    "sampling": "sampling",
    "overhead": "host and launches",
    "draft": "draft",
}
"""Cause of step time → how the report says it."""

HELD = {
    "target_weights_bytes": "target weights",
    "draft_weights_bytes": "draft weights",
    "activation_bytes": "activations",
    "runtime_bytes": "runtime",
    "kv_budget_bytes": "KV cache",
}
UNUSED = "left to others"


def section(title: str, *children: Child, says: str = "") -> Markup:
    """A heading with what belongs under it."""
    return tag("section", tag("h3", title), tag("p", says, class_="hint") if says else None, *children)


def verdict(comparison: Mapping[str, Any], economics: Sequence[Mapping[str, Any]] = ()) -> Markup:
    """Who wins, why, what flips it, and when drafts have paid back where their cost is given."""
    lines = [*verdict_lines(comparison), *economics_lines(economics)]
    return tag("dl", *(join(tag("dt", label), tag("dd", text, class_=_tone(style))) for label, text, style in lines),
               class_="verdict")  # fmt: skip


def _tone(style: str) -> str | None:
    return "bad" if "red" in style else "win" if "green" in style else None


def warnings(rows: Sequence[Row], limits: Limits) -> Markup | None:
    """What must be known before a figure is believed."""
    found = list(notes(rows, shown_percentiles(limits)))
    unfit = [(str(row["deployment"]), str(row["reason"])) for row in rows if row.get("reason")]
    if not found and not unfit:
        return None
    lines = (join(tag("dt", names), tag("dd", text)) for names, text in (*unfit, *found))
    return section("Warnings", tag("dl", *lines, class_="verdict notes"))


def figures(point: Mapping[str, Any], limits: Limits, arrivals_kind: str) -> Iterator[Markup]:
    """Everything drawn of one point: `rows`, `comparison`, `evidence`."""
    drawn = _drawn(point)
    names = [name for name, _, _ in drawn]
    more = len(point["evidence"]) - len(drawn)
    note = f" {more} further deployments are in the table only." if more > 0 else ""
    clients = arrivals_kind == "closed_loop"
    if found := charts.load_charts(drawn, limits, clients=clients):
        yield section("Latency, throughput, goodput", legend(names), _grid(found), says=LOAD_SAYS + note)
        yield _knees(drawn, "req_per_s" if clients else "load")
    if found := charts.cdf_charts(drawn):
        yield section("Latency distributions", legend(names), _grid(found), says=CDF_SAYS)
    if found := charts.timeline_charts(drawn):
        yield section("Over time", legend(names), _grid(found), says=TIME_SAYS)
    if any(row.get("step_time_share") for row in point["rows"]):
        yield section("Where step time goes", _shares(point["rows"]))


LOAD_SAYS = (
    "Each point is a simulated load: the line joins the stable ones of replication 0 (those away from the capacity are "
    "short runs), faint points are the other replications, hollow ones are saturated and grow with the run. Dashed "
    "uprights mark the capacity, triangles on the axis the knee: the most throughput for its response time."
)
CDF_SAYS = "Measured requests of replication 0 at the offered load; points mark p50, p95 and p99."
TIME_SAYS = "Replication 0 at the offered load, means over 200 equal spans; the warm-up is shaded."


def _drawn(point: Mapping[str, Any]) -> charts.Drawn:
    """As many deployments as there are colours, the cheapest first."""
    rows = {str(row["deployment"]): row for row in point["rows"]}
    ranked: dict[str, None] = {}
    for basis in ("by_load", "by_capacity"):
        ranked |= dict.fromkeys((point["comparison"].get(basis) or {}).get("costs") or {})
    chosen = [name for name in (ranked | dict.fromkeys(rows)) if name in point["evidence"]][:COLOURS]
    return [(name, point["evidence"][name], rows[name]) for name in rows if name in chosen]


def _grid(found: Sequence[Markup]) -> Markup:
    return tag("div", *found, class_="charts")


def _knees(drawn: charts.Drawn, x_field: str) -> Markup:
    """Capacity and knee in words: a colour alone says nothing to many."""
    said = []
    for name, evidence, row in drawn:
        bend = charts.knee_of(evidence.get("trials", ()), x_field)
        knee = "none below the capacity" if bend is None else f"{significant(bend)} requests/s"
        said.append(f"{name}: capacity {significant(row.get('capacity_req_per_s'))} requests/s, knee {knee}")
    return tag("p", "; ".join(said) + ".", class_="hint")


def _shares(rows: Sequence[Row]) -> Markup:
    known = [row for row in rows if row.get("step_time_share")]
    used = [cause for cause in CAUSES if any(row["step_time_share"].get(cause) for row in known)]
    colours = {cause: list(CAUSES).index(cause) for cause in used}
    lines = []
    for row in known:
        parts = [(cause, row["step_time_share"].get(cause) or 0.0) for cause in used]
        step = f"mean step {1e3 * row['step_s']:.3g} ms" if row.get("step_s") else ""
        shown = [(cause, share, percent(share)) for cause, share in parts]
        lines.append(bars.stacked(str(row["deployment"]), shown, 1.0, colours, step))
    return join(bars.key(colours, CAUSES), *lines)


def memory(ledger: Sequence[Mapping[str, Any]]) -> Markup:
    """The HBM ledger of every GPU role."""
    words = [*HELD.values(), UNUSED]
    colours = {name: index for index, name in enumerate(words[:-1])} | {UNUSED: COLOURS - 1}
    lines = [_ledger_bar(row, colours) for row in ledger]
    return section("HBM of each GPU", bars.key(colours), *lines, says=MEMORY_SAYS)


MEMORY_SAYS = "As CUDA shows it to the engine; a red edge marks where the memory ends that a deployment asks for."


def _ledger_bar(row: Mapping[str, Any], colours: Mapping[str, int]) -> Markup:
    parts = [(words, float(row[field]), gib(row[field])) for field, words in HELD.items()]
    used, hbm = sum(size for _, size, _ in parts), float(row["hbm_bytes"])
    parts.append((UNUSED, max(hbm - used, 0.0), gib(max(hbm - used, 0.0))))
    said = f"{row['role']}, {gib(hbm)}: " + (
        f"{count(row['kv_tokens'])} KV tokens a replica" if row["fits"] else f"does not fit: {row['reason']}"
    )
    return bars.stacked(str(row["deployment"]), parts, hbm, colours, said)


def origin(provenance: Mapping[str, Any], digest: str) -> Markup:
    """Assumptions, and the source of every number."""
    assumed = [tag("li", text) for text in provenance.get("assumptions") or ()]
    facts = {
        "Calibration": provenance.get("profile"), "Seed": provenance.get("seed"),
        "Replications": provenance.get("replications"), "specfleet": provenance.get("version"), "Run": digest,
    }  # fmt: skip
    errors = error_lines(provenance.get("calibration") or {}).items()
    told = [*facts.items(), *((f"Error, {', '.join(names)}", text) for text, names in errors)]
    said = [join(tag("dt", name), tag("dd", str(value))) for name, value in told if value is not None]
    count_of = len(provenance.get("sources") or ())
    return tag(
        "section",
        tag("h2", "Where the numbers come from"),
        tag("dl", *said, class_="verdict"),
        section("Assumptions", tag("ul", *assumed, class_="plain")) if assumed else None,
        tag("details", tag("summary", f"{count_of} sources"), tables.sources(provenance)) if count_of else None,
    )
