"""The charts of a point: latency and goodput against load, latency distributions, the run over time."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from app.format import duration, significant
from app.format import limit as limit_text
from app.report.knee import knee
from app.report.markup import Markup
from app.report.scales import Scale, linear_scale, log_scale, plain_number
from app.report.svg import X_PX, Y_PX, Axis, Chart
from app.tables.figures import Limits

Drawn = Sequence[tuple[str, Mapping[str, Any], Mapping[str, Any]]]
"""Deployments to draw: name, evidence, row."""

PERCENTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}
LATENCIES = {
    "ttft_s": "Time to first token (TTFT)",
    "tpot_s": "Time per output token (TPOT)",
    "e2e_s": "End to end (E2E)",
}
REACH = 2.0
"""Loads beyond so many times the largest capacity are not drawn."""
SHORT = {"ttft_s": "TTFT", "tpot_s": "TPOT", "e2e_s": "E2E"}


def load_charts(drawn: Drawn, limits: Limits, *, clients: bool) -> list[Markup]:
    """TTFT p95, TPOT p95 and goodput against the load; empty where a batch has one load only."""
    drawn = drawn if clients else _within_reach(drawn)
    if not any(evidence.get("trials") for _, evidence, _ in drawn):
        return []
    found = [
        _latency_chart(drawn, f"{metric}_p95", limits.get(metric, {}).get("p95"), clients=clients)
        for metric in ("ttft_s", "tpot_s")
    ]
    return [chart for chart in (*found, _goodput_chart(drawn, clients=clients)) if chart is not None]


def _within_reach(drawn: Drawn) -> Drawn:
    """Without loads so far beyond every capacity that the rest would shrink to nothing."""
    most = REACH * max((row.get("capacity_req_per_s") or 0.0 for *_, row in drawn), default=0.0)
    if most <= 0:
        return drawn
    return [
        (name, {**evidence, "trials": [trial for trial in evidence.get("trials", ()) if trial["load"] <= most]}, row)
        for name, evidence, row in drawn
    ]


def _latency_chart(drawn: Drawn, field: str, limit: float | None, *, clients: bool) -> Markup | None:
    x_field = "req_per_s" if clients else "load"
    trials = [trial for _, evidence, _ in drawn for trial in evidence.get("trials", ()) if trial[field]]
    if not trials:
        return None
    name = SHORT[field.removesuffix("_p95")]
    values = [trial[field] for trial in trials] + ([limit] if limit else [])
    across = [*_all(trials, x_field), *(row.get("capacity_req_per_s") or 0.0 for *_, row in drawn)]
    chart = Chart(
        f"{name} p95 against load",
        Axis("requests/s" if clients else "offered requests/s", linear_scale(across, *X_PX), plain_number),
        Axis(name, log_scale(values, *Y_PX), limit_text),
    )
    if limit:
        chart.horizontal(limit, f"limit {limit_text(limit)}")
    for series, (deployment, evidence, row) in enumerate(drawn):
        _trials(chart, series, evidence.get("trials", ()), x_field, field)
        _marks(chart, series, deployment, row, evidence.get("trials", ()), x_field)
    return chart.markup()


def _all(trials: Iterable[Mapping[str, Any]], field: str) -> list[float]:
    return [trial[field] for trial in trials if trial[field] is not None]


def _trials(chart: Chart, series: int, trials: Iterable[Mapping[str, Any]], x_field: str, field: str) -> None:
    """A line through the stable loads of replication 0; a dot for every trial, hollow where it is saturated."""
    known = sorted((trial for trial in trials if trial[field] is not None), key=lambda trial: float(trial[x_field]))
    first = [trial for trial in known if trial["replication"] == 0]
    chart.line([(trial[x_field], trial[field]) for trial in first if not trial["saturated"]], series)
    for trial in known:
        chart.dot(
            trial[x_field], trial[field], series, hollow=trial["saturated"], faint=trial["replication"] != 0,
            says=f"{significant(trial['load'])}: {_said(field, trial[field])}" if trial["replication"] == 0 else "",
        )  # fmt: skip


def _said(field: str, value: float) -> str:
    return f"{significant(value)} requests/s" if field.endswith("req_per_s") else duration(value)


def _marks(
    chart: Chart,
    series: int,
    deployment: str,
    row: Mapping[str, Any],
    trials: Iterable[Mapping[str, Any]],
    x_field: str,
) -> None:
    """Where the capacity and the knee lie."""
    capacity = row.get("capacity_req_per_s")
    if capacity:
        chart.vertical(capacity, series, f"capacity of {deployment}: {significant(capacity)} requests/s")
        chart.said.append(f"{deployment}: capacity {significant(capacity)} requests/s.")
    bend = knee_of(trials, x_field)
    if bend is not None:
        chart.foot(bend, series, f"knee of {deployment}: {significant(bend)} requests/s")
        chart.said.append(f"Knee {significant(bend)} requests/s.")


def knee_of(trials: Iterable[Mapping[str, Any]], x_field: str = "load") -> float | None:
    """Knee over the stable loads of replication 0."""
    return knee(
        [
            (trial[x_field], trial["e2e_s_mean"])
            for trial in trials
            if trial["replication"] == 0 and not trial["saturated"] and trial["e2e_s_mean"]
        ]
    )


def _goodput_chart(drawn: Drawn, *, clients: bool) -> Markup | None:
    """Good requests against what is offered; without an SLO, all that are served."""
    trials = [trial for _, evidence, _ in drawn for trial in evidence.get("trials", ())]
    field = "goodput_req_per_s" if any(trial["goodput_req_per_s"] for trial in trials) else "req_per_s"
    values = _all(trials, field)
    if not values:
        return None
    chart = Chart(
        "Goodput against load" if field.startswith("good") else "Throughput against load",
        Axis("clients" if clients else "offered requests/s", linear_scale(_all(trials, "load"), *X_PX), plain_number),
        Axis("good requests/s", linear_scale(values, *Y_PX), plain_number),
    )
    for series, (deployment, evidence, row) in enumerate(drawn):
        _trials(chart, series, evidence.get("trials", ()), "load", field)
        if not clients:
            _marks(chart, series, deployment, row, (), "load")
    return chart.markup()


def cdf_charts(drawn: Drawn) -> list[Markup]:
    """The distribution of each latency, p50, p95 and p99 marked."""
    return [chart for metric in LATENCIES if (chart := _cdf_chart(drawn, metric)) is not None]


def _cdf_chart(drawn: Drawn, metric: str) -> Markup | None:
    known = [
        (series, name, run["shares"], run["quantiles"][metric])
        for series, (name, evidence, _) in enumerate(drawn)
        if (run := evidence.get("run")) and run["quantiles"].get(metric)
    ]
    values = [value for *_, quantiles in known for value in quantiles if value > 0]
    if not values:
        return None
    chart = Chart(
        LATENCIES[metric],
        Axis(SHORT[metric], log_scale(values, *X_PX), limit_text),
        Axis("share", Scale(0.0, 1.0, *Y_PX), lambda share: f"{share:.0%}"),
    )
    for series, name, shares, quantiles in known:
        points = [(value, share) for value, share in zip(quantiles, shares, strict=True) if value > 0]
        chart.line(points, series)
        chart.said.append(f"{name}: {_mark_percentiles(chart, points, series)}.")
    return chart.markup()


def _mark_percentiles(chart: Chart, points: Sequence[tuple[float, float]], series: int) -> str:
    said = []
    for percentile, share in PERCENTILES.items():
        value = next((value for value, reached in points if reached >= share - 1e-9), points[-1][0])
        said.append(f"{percentile} {duration(value)}")
        chart.dot(value, share, series, says=said[-1])
    return ", ".join(said)


def timeline_charts(drawn: Drawn) -> list[Markup]:
    """Batch, KV use and queue through replication 0, the warm-up shaded."""
    plots: tuple[tuple[str, str, Callable[[float], str]], ...] = (
        ("batch", "Decoding sequences of a replica", plain_number),
        ("kv", "KV cache in use", lambda share: f"{100 * share:.3g}%"),
        ("queue", "Requests that wait for their first step", plain_number),
    )
    return [chart for name, title, label in plots if (chart := _timeline_chart(drawn, name, title, label)) is not None]


def _timeline_chart(drawn: Drawn, field: str, title: str, label: Callable[[float], str]) -> Markup | None:
    known = [
        (series, run["timeline"])
        for series, (_, evidence, _) in enumerate(drawn)
        if (run := evidence.get("run")) and run["timeline"].get(field)
    ]
    if not known:
        return None
    end = max(line["end_s"] for _, line in known)
    high = max(max(line[field]) for _, line in known)
    chart = Chart(
        title,
        Axis("simulated time", Scale(0.0, end, *X_PX), limit_text),
        Axis("", linear_scale([min(high, 0.952) if field == "kv" else high], *Y_PX), label),
    )
    chart.shade(min(line["measured_from_s"] for _, line in known), "warm-up, not measured")
    for series, line in known:
        values = line[field]
        span = line["end_s"] / len(values)
        chart.line([((i + 0.5) * span, value) for i, value in enumerate(values)], series)
    return chart.markup()
