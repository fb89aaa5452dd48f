"""A plan's answer in HTML and as tables: the choice, what nothing beats, what is no answer. Every text is escaped."""

from collections.abc import Iterator, Mapping
from typing import Any

from app.dashboard import badges, cards
from app.dashboard.computed import How, said_of
from app.dashboard.planned import Planned
from app.figures.load import Measure, Metric
from app.format import count, low_high, percent, plural, significant, usd
from app.report.markup import Markup
from app.tables.draft_schedule import lines as schedule_lines
from app.tables.figures import Limits, bound_words, latency_figure, limits_of
from app.tables.fleet import MIXES, mixes_of
from app.tables.fleet import cells as fleet_cells
from app.tables.plan import STAR, bought, held, plan_lines, replicas, shown_latencies, shown_points

Point = Mapping[str, Any]
Line = tuple[str, str]
"""Label and sentence."""

ESTIMATED = "Every candidate from the steady state; whether the choice holds is not yet confirmed by simulation."
SIMULATED = "The nearest candidates were simulated under the same random streams; all others are estimated."

FORMULA = (
    "cost = (fewest replicas that hold the load with headroom + spares) × GPUs × $/GPU-hour; latency at the load on "
    "them; not beaten: no other candidate is as good in cost, latency and GPUs, and better in one"
)
POINT_FIELDS = (
    "gpu", "num_gpus", "replicas", "usd_per_hour", "usd_per_million_output_tokens",
    "usd_per_million_output_tokens_at_capacity", "capacity_req_per_s", "utilisation", "tokens_per_step", "mean_batch",
    "bound_by", "method", "why_not",
)  # fmt: skip
"""Fields of a candidate that its CSV holds."""

MOST_WHY = 40
"""Candidates that are no answer, of which the table says why."""


def method(planned: Planned) -> Markup:
    """How the choice was found."""
    if planned.simulated:
        return badges.badge("confirmed by simulation", "simulated", SIMULATED)
    return badges.badge("estimated", "estimated", ESTIMATED)


def answer(planned: Planned) -> Markup:
    """The choice with what it rests on, in the sentences of the command line."""
    return cards.told(list(plan_lines(planned.found)), method(planned), "The plan")


def how(planned: Planned) -> How:
    """How the candidates were found."""
    scenario = planned.loaded.scenario
    confirmed = (
        f"the nearest {planned.loaded.plan.confirm} simulated: {plural(scenario.replications, 'replication')}, seed "
        f"{scenario.seed}, under the same random streams; all others estimated"
        if planned.simulated
        else "estimated: the steady state of each candidate; no random numbers, so no seeds"
    )
    return said_of(FORMULA, confirmed, planned.found["provenance"])


def point_rows(planned: Planned) -> list[dict[str, Any]]:
    """A row for each candidate, unrounded, with why it is no answer."""
    pareto = planned.found["pareto"]
    return [
        {"candidate": name, "not beaten": name in pareto}
        | {key: point.get(key) for key in POINT_FIELDS}
        | _latencies(point)
        for name, point in planned.points.items()
    ]


def _latencies(point: Point) -> dict[str, Any]:
    """Every latency of a candidate that is known, as `ttft_s.p95`."""
    known = ((metric, point.get(metric) or {}) for metric in ("ttft_s", "tpot_s", "e2e_s"))
    return {f"{metric}.{name}": value for metric, of in known for name, value in of.items()}


def limits(planned: Planned) -> Limits:
    """Targets of the plan."""
    return limits_of(planned.loaded.scenario.slo)


def pareto_rows(planned: Planned) -> list[dict[str, str]]:
    """The clusters that nothing beats in cost, latency and GPUs at once, and the runner-up, the cheapest first."""
    shown = shown_points(planned.found)
    simulated = any(point["method"] == "simulated" for point in shown)
    return [_row(point, limits(planned), planned.found["choice"], simulated=simulated) for point in shown]


def _row(point: Point, stated: Limits, choice: Any, *, simulated: bool) -> dict[str, str]:
    """A line of the table.

    simulated: whether any candidate was simulated, which is then said of all.
    """
    return {
        "cluster": f"{point['name']} {STAR}" if point["name"] == choice else str(point["name"]),
        "GPUs": f"{count(point['num_gpus'])} × {point['gpu']}",
        "replicas": replicas(point),
        "$/h": usd(point["usd_per_hour"]),
        "$/M output": usd(point["usd_per_million_output_tokens"]),
        **{figure.label: figure.show(point).text for figure in shown_latencies(stated)},
        "load ÷ capacity": percent(point["utilisation"]),
        "tokens/step": significant(point["tokens_per_step"]),
        "bound by": bound_words(point),
        **({"held in simulation": held(point)} if simulated else {}),
    }


def measure_of(planned: Planned, metric: Metric) -> Measure:
    """A latency at the percentile by which the plan compares, else at the highest that is targeted, p95 without one."""
    own, of = planned.found["latency"], limits(planned).get(metric, {})
    shown = own["percentile"] if metric == own["metric"] else max(of, default="p95")
    return Measure(metric, shown, of.get(shown))


def why_not(planned: Planned) -> tuple[str, list[dict[str, str]]]:
    """How many candidates are impossible or no answer, and why, the first of them one by one."""
    refused = planned.found["refused"]
    unfit = [point for point in planned.points.values() if point["why_not"]]
    rows = [
        {"candidate": one["example"] + (f" and {one['count'] - 1:,} more" if one["count"] > 1 else ""),
         "why not": one["reason"]}
        for one in refused
    ]  # fmt: skip
    rows += [{"candidate": str(point["name"]), "why not": str(point["why_not"])} for point in unfit[:MOST_WHY]]
    impossible = sum(one["count"] for one in refused)
    return f"{impossible:,} impossible, {len(unfit):,} that miss a target, the budget or the load", rows


def fleet_rows(planned: Planned) -> list[dict[str, str]]:
    """What the clusters cost a month by contract, where the plan asks for that."""
    found = planned.found["fleet"]
    if found is None or planned.loaded.plan.fleet is None:
        return []
    mixes = mixes_of(found)
    heads = [MIXES[name].replace("\n", " ") for name in mixes]
    return [
        {"cluster": row["name"], "idle": percent(row["idle_share"])}
        | dict(zip(heads, fleet_cells(row, mixes), strict=True))
        for row in found["rows"]
    ]


def schedule_rows(schedule: Mapping[str, Any]) -> list[dict[str, str]]:
    """Sequences × context → best K and its gain."""
    head = [f"{count(one['context_tokens'])} tokens{'*' if one['own'] else ''}" for one in schedule["contexts"]]
    return [dict(zip(("sequences", *head), line, strict=True)) for line in schedule_lines(schedule)]


def facts(point: Point, stated: Limits) -> Iterator[Line]:
    """What is known of one candidate."""
    yield "Buys", bought(point)
    if point["why_not"]:
        yield "No answer", str(point["why_not"])
    yield "Holds", "; ".join(_holds(point, stated))
    at_load, at_capacity = (usd(point[f"usd_per_million_output_tokens{end}"]) for end in ("", "_at_capacity"))
    yield "Costs", f"{at_load} per million output tokens at the load, {at_capacity} at capacity"
    batch, tokens = (significant(point[name]) for name in ("mean_batch", "tokens_per_step"))
    if point["speculation"]:
        yield "Drafts", str(point["speculation"])
    yield "Batch", f"{batch} sequences in flight per replica, {tokens} tokens per step"
    chosen = ", ".join(f"{path.rpartition('.')[2]} {value}" for path, value in point["choices"].items())
    yield "Choices", chosen or "as the offer stands"
    ends = (point["interval"] or {}).get("capacity_req_per_s")
    runs = f" (held in {held(point)} replications)" if point["method"] == "simulated" else ""
    yield "Found by", f"{point['method']}{runs}" + (f"; capacity {low_high(ends)} requests/s (95 %)" if ends else "")


def _holds(point: Point, stated: Limits) -> Iterator[str]:
    """Latencies beside their targets, and how much of the capacity the load takes."""
    for metric, of in stated.items():
        for name in of:
            figure = latency_figure(metric, name, stated)
            yield f"{figure.label.replace(' ≤', f' {figure.show(point).text} ≤')}"
    if point["capacity_req_per_s"]:
        capacity = significant(point["capacity_req_per_s"])
        yield f"the load is {percent(point['utilisation'])} of its {capacity} requests/s"
