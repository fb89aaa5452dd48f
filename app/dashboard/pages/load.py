"""The page Load: how latency, goodput and cost move with the offered load, how latencies are spread, what arrives."""

from collections.abc import Sequence

import streamlit as st

from app.dashboard import badges, tables
from app.dashboard.answers import answer
from app.dashboard.arrivals_view import what_arrives
from app.dashboard.charts import looks_of
from app.dashboard.computed import How, computed_by
from app.dashboard.curves import curve_of
from app.dashboard.estimates import Answer
from app.dashboard.explained import explained
from app.dashboard.headings import titled
from app.dashboard.terms import tip
from app.figures import load as figures
from app.figures.load import Drawn, Measure, Metric
from app.figures.names import short
from app.format import duration, significant, usd
from app.tables.figures import Limits, limits_of
from simulator.catalog.load import load_profile
from simulator.spec.scenario import Scenario

METRICS: tuple[Metric, ...] = ("ttft_s", "tpot_s", "e2e_s")
LATENCIES = ("ttft", "tpot", "e2e")
"""The same in the glossary."""
CHART_PX, SMALL_CHART_PX = 330, 230
"""Widths below which fewer charts stand side by side."""

TABS = ("Latency and cost", "What arrives")

FORMULAS = {
    "latency": "a percentile, or the mean, over requests at each load; the knee is the most throughput ÷ mean E2E",
    "goodput": "good requests ÷ time: within the threshold of the highest percentile stated of each metric; all that "
    "are served where no target is stated",
    "cost": "cluster $/h ÷ 3,600 ÷ output tokens/s × 10⁶; the cluster costs the same whatever it serves",
    "distribution": "share of requests within a latency, at the offered load",
}
"""Figure → how its numbers follow, in words."""

COST_AT_CAPACITY = "usd_per_million_output_tokens_at_capacity"
STATED = ("p50", "p90", "p95", "p99", "mean")


def page() -> None:
    """Draw the page."""
    found = answer()
    names = _chosen(found.scenario)
    results, requests = st.tabs(TABS, key="load_tab", on_change="rerun")
    if results.open:
        with results:
            _results(found, names)
    if requests.open:
        with requests:
            what_arrives(found.scenario, names)


def _results(found: Answer, names: Sequence[str]) -> None:
    """Latency, goodput and cost against the load, and latencies at the offered load."""
    scenario = found.scenario
    drawn, unfit = drawn_of(found, names)
    for name, reason in unfit:
        st.warning(f"{name} is not drawn: it does not fit. {reason}", icon=":material/memory:")
    if not drawn:
        st.info("Nothing to draw: choose a deployment, or see Memory for what would make one fit.")
        return
    measure = _measure(limits_of(scenario.slo))
    grid = st.grid(2, min_column_width=CHART_PX)
    with grid.cell():
        shown, alt = figures.latency_figure(drawn, measure), figures.latency_alt(drawn, measure)
        explained(f"{measure.name} against load", shown, alt, _how("latency", found), key="Latency against load")
    with grid.cell():
        shown, alt = figures.goodput_figure(drawn), figures.goodput_alt(drawn)
        explained("Goodput against load", shown, alt, _how("goodput", found))
    with grid.cell():
        shown, alt = figures.cost_figure(drawn), figures.cost_alt(drawn)
        explained("Cost against load", shown, alt, _how("cost", found))
    with grid.cell():
        says = "requests/s; latency as offered; $ per million output tokens at capacity"
        titled("In figures", badges.method(found), says)
        tables.show(_table(drawn, measure))
        st.caption(_says(found))
    _distributions(drawn, limits_of(scenario.slo), found)


def _how(figure: str, found: Answer) -> How:
    return computed_by(FORMULAS[figure], found)


def drawn_of(found: Answer, names: Sequence[str]) -> tuple[list[Drawn], list[tuple[str, str]]]:
    """The chosen deployments as figures take them, and those that do not fit with the reason."""
    scenario = found.scenario
    drawn_as = looks_of(scenario)
    rows = {row["deployment"]: row for row in found.rows}
    simulated = found.method == "simulated"
    drawn = [
        Drawn(
            name, drawn_as[name], curve_of(scenario, name), _source(scenario, name),
            rows[name] if simulated else None, found.evidence.get(name),
        )
        for name in names
        if rows[name]["fits"]
    ]  # fmt: skip
    return drawn, [(name, str(rows[name]["reason"])) for name in names if not rows[name]["fits"]]


def _source(scenario: Scenario, name: str) -> str:
    spec = scenario.deployments[name]
    profile = load_profile(spec.gpu, spec.engine.policy)
    return f"profile {profile.name}" if profile else "uncalibrated: catalog efficiencies"


def _chosen(scenario: Scenario) -> list[str]:
    """Deployments that the reader wants to see, in the scenario's order."""
    names = list(scenario.deployments)
    told = dict(zip(names, short(names), strict=True))
    chosen = st.pills(
        "Deployments", names, selection_mode="multi", default=names, key=f"load_{'_'.join(names)}",
        format_func=lambda name: told[name],
    )  # fmt: skip
    return [name for name in names if name in (chosen or ())]


def _measure(limits: Limits) -> Measure:
    """What the latency chart shows; at first what the target is about."""
    stated = [(metric, statistic) for metric in METRICS for statistic in limits.get(metric, {})]
    metric_first, statistic_first = stated[-1] if stated else ("tpot_s", "p95")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        metric = st.segmented_control(
            "Latency", METRICS, default=metric_first, required=True, key="load_metric", persist_state="session",
            format_func=lambda name: figures.NAMES[name],
            help="\n\n".join(map(tip, LATENCIES)),
        )  # fmt: skip
        statistic = st.segmented_control(
            "Statistic", STATED, default=statistic_first, required=True, key="load_statistic", persist_state="session",
            help=tip("percentile", "Over requests. Simulated points away from the offered load are known at p95 only."),
        )  # fmt: skip
    return Measure(metric, statistic, limits.get(metric, {}).get(statistic))


def _table(drawn: Sequence[Drawn], measure: Measure) -> list[dict[str, str]]:
    """Capacity, knee, latency and cost in words: what the lines show to those who cannot see them."""
    return [
        {
            "deployment": one.name,
            "capacity /s": significant(_of_row(one, "capacity_req_per_s") or one.curve.capacity_req_per_s),
            "knee /s": significant(figures.knee_of(one.curve)),
            measure.name: duration(_latency_now(one, measure)),
            "$/M": usd(_of_row(one, COST_AT_CAPACITY) or _cost_at_capacity(one)),
        }
        for one in drawn
    ]


def _of_row(one: Drawn, field: str) -> float | None:
    """A simulated figure; None before a simulation."""
    value: float | None = (one.row or {}).get(field)
    return value


def _latency_now(one: Drawn, measure: Measure) -> float | None:
    if one.row is not None:
        value: float | None = one.row[measure.metric][measure.statistic]
        return value
    points = [(p.req_per_s, p.latencies[measure.metric][measure.statistic] or 0.0) for p in one.curve.points]
    return figures.between(one.curve.offered_req_per_s, points)


def _cost_at_capacity(one: Drawn) -> float | None:
    points = [(p.req_per_s, p.usd_per_million_output_tokens or 0.0) for p in one.curve.points]
    return figures.between(one.curve.capacity_req_per_s, points)


def _says(found: Answer) -> str:
    notes = {str(row["capacity_note"]) for row in found.rows if row.get("capacity_note")}
    lines = (
        "Lines are the steady-state estimate: bright up to a dot at the capacity (the highest load that meets every "
        "target), faint beyond. A triangle marks the knee: the most throughput for its mean response time."
    )
    points = (
        " Points are simulated loads; at the offered load with the 95 % interval. The table is the simulation's, "
        "the knee the line's."
        if found.method == "simulated"
        else " Simulate (above) sets points with intervals beside the lines."
    )
    return " ".join((lines + points, *sorted(f"Note: {note}." for note in notes)))


def _distributions(drawn: Sequence[Drawn], limits: Limits, found: Answer) -> None:
    st.subheader("How latencies are spread at the offered load", anchor=False)
    grid = st.grid(3, min_column_width=SMALL_CHART_PX)
    for metric in METRICS:
        highest = limits.get(metric, {})
        limit_s = highest[max(highest)] if highest else None
        with grid.cell():
            shown = figures.distribution_figure(drawn, metric, limit_s).update_layout(showlegend=False, height=300)
            alt = figures.distribution_alt(drawn, metric)
            explained(
                figures.NAMES[metric], shown, alt, _how("distribution", found), key=f"{figures.NAMES[metric]} spread"
            )
    simulated = any(one.evidence and one.evidence.get("run") for one in drawn)
    st.caption(
        "Measured requests of replication 0 of the simulation; p50, p95 and p99 are marked."
        if simulated
        else "Estimated: a stratified sample of requests pushed through the steady state; p50, p95 and p99 are marked."
    )
