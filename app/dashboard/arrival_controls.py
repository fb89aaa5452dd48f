"""The controls of how requests come: which process, how uneven, or the trace that is replayed."""

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from app.dashboard import answers, state
from app.dashboard.terms import tip
from app.dashboard.widgets import Changes, choice, number
from simulator.cluster.traffic import trace_of
from simulator.errors import SimulatorError
from simulator.planning.capacity import load_axis
from simulator.planning.workload_fit import fit_lengths
from simulator.spec.arrivals import Arrivals
from simulator.spec.scenario import Scenario
from simulator.spec.workload import Workload

ARRIVALS = "workload.arrivals"
WORKLOAD_AXES = ("workload.arrivals", "workload.lengths", "workload.prefix", "workload.classes", "workload.horizon")
"""Places of a sweep that another kind of requests leaves without meaning."""

PROCESSES = {
    "poisson": "Poisson: independent, at one rate",
    "gamma": "Gamma: more or less even than Poisson",
    "bursty": "Bursty: bursts and lulls",
    "diurnal": "Diurnal: the hours of a day",
    "constant": "Constant: equal gaps",
}
"""Kind of arrivals that a reader may choose → how the screen says it."""

OTHERS = {
    "closed_loop": "Closed loop: clients that wait for their answers",
    "queued_at_once": "Queued at once: an offline batch",
    "trace": "Replayed from a trace",
}

LONGEST_PERIOD_S = 86_400.0

COLUMN_PX = 230
"""Width of a control in which a process can be read."""


def process_controls(scenario: Scenario) -> None:
    """The process, and what it needs beside the rate, which stands beside the pages."""
    arrivals = scenario.workload.arrivals
    grid = st.grid(4, min_column_width=COLUMN_PX)
    with grid.cell():
        choice(
            "Arrivals", "arrivals_kind", arrivals.kind, tuple(PROCESSES), lambda kind: _chosen(scenario, kind),
            format_func=lambda kind: (PROCESSES | OTHERS)[kind],
            help=tip("arrivals", "The mean rate stays. The estimate takes all for Poisson, a simulation does not."),
        )  # fmt: skip
    for control in PARAMETERS.get(arrivals.kind, ()):
        with grid.cell():
            control(arrivals)


def _chosen(scenario: Scenario, kind: str) -> Changes:
    """Nothing by the way of widgets: what a sweep varies may have to go, too."""
    if kind in PROCESSES and kind != scenario.workload.arrivals.kind:
        take_workload(drawn_instead(scenario, kind))
    return {}


def drawn_instead(scenario: Scenario, kind: str) -> dict[str, Any]:
    """Parts of a workload that draws its requests, at the rate and with the lengths that the scenario has."""
    workload = scenario.workload
    parts: dict[str, Any] = {"arrivals": drawn_arrivals(kind, rate_of(scenario), workload)}
    if workload.lengths.kind == "trace" and workload.arrivals.kind == "trace":
        table = trace_of(workload, workload.arrivals)
        parts["lengths"] = fit_lengths(table.prompt_tokens, table.output_tokens)
    return parts


def drawn_arrivals(kind: str, rate_per_s: float, workload: Workload) -> dict[str, Any]:
    """Arrivals of a kind at a rate [requests/s], with parameters to start from."""
    more: dict[str, dict[str, Any]] = {
        "gamma": {"cv": 2.0},
        "bursty": {"burst_factor": 3.0, "on_s": 15.0, "off_s": 60.0},
        "diurnal": {"period_s": min(_whole_period_s(workload, rate_per_s), LONGEST_PERIOD_S), "peak_to_mean": 1.5},
    }
    return {"kind": kind, "rate_per_s": rate_per_s, **more.get(kind, {})}


def _whole_period_s(workload: Workload, rate_per_s: float) -> float:
    """A period that the horizon covers [s]."""
    seconds = workload.horizon.requests / rate_per_s
    return float(int(seconds)) if seconds >= 2.0 else seconds


def rate_of(scenario: Scenario) -> float:
    """Mean requests per second that a scenario offers, by its trace too; what is served where they wait for answers."""
    stated = getattr(scenario.workload.arrivals, "rate_per_s", None)
    if stated is not None:
        return float(stated)
    if scenario.workload.arrivals.kind == "trace":
        return float(f"{load_axis(scenario.workload, scenario.seed, 0).offered:.4g}")
    rows = answers.estimate().rows
    rates = [row.get("offered_req_per_s") or row.get("req_per_s") for row in rows if row["fits"]]
    return float(f"{max((rate for rate in rates if rate), default=1.0):.3g}")


def take_workload(parts: Mapping[str, Any]) -> None:
    """Put parts of the workload in place of others, without those of None; a sweep of them ends at its chosen point."""
    swept = any(path.startswith(WORKLOAD_AXES) for path in state.mapping().get("sweep") or ())
    mapping = state.mapping_of_point() if swept else state.mapping()
    workload = {key: value for key, value in (mapping["workload"] | dict(parts)).items() if value is not None}
    asked, point = state.asked(), state.point()
    try:
        state.replace({**mapping, "workload": workload}, state.origin())
    except SimulatorError as error:
        state.tell(str(error))
        return
    state.ask(asked)
    state.choose_point(0 if swept else point)


def _cv(arrivals: Arrivals) -> None:
    number(
        "Variation of gaps (cv)", "arrivals_cv", getattr(arrivals, "cv", 1.0), lambda v: {f"{ARRIVALS}.cv": v},
        min_value=0.05, max_value=50.0, step=0.25, format="%g",
        help="Standard deviation of the gaps between requests ÷ their mean. 1 is Poisson.",
    )  # fmt: skip


def _burst(arrivals: Arrivals) -> None:
    number(
        "Rate of a burst ÷ mean", "arrivals_burst", getattr(arrivals, "burst_factor", 2.0),
        lambda v: {f"{ARRIVALS}.burst_factor": v}, min_value=1.05, max_value=1e4, step=0.5, format="%g",
        help="At its highest, (burst + lull) ÷ burst, nothing comes between the bursts.",
    )  # fmt: skip


def _on(arrivals: Arrivals) -> None:
    number(
        "Mean burst [s]", "arrivals_on", getattr(arrivals, "on_s", 1.0), lambda v: {f"{ARRIVALS}.on_s": v},
        min_value=0.1, max_value=1e6, step=5.0, format="%g",
    )  # fmt: skip


def _off(arrivals: Arrivals) -> None:
    number(
        "Mean lull [s]", "arrivals_off", getattr(arrivals, "off_s", 1.0), lambda v: {f"{ARRIVALS}.off_s": v},
        min_value=0.1, max_value=1e6, step=5.0, format="%g",
    )  # fmt: skip


def _period(arrivals: Arrivals) -> None:
    number(
        "Period [s]", "arrivals_period", getattr(arrivals, "period_s", 1.0), lambda v: {f"{ARRIVALS}.period_s": v},
        min_value=1.0, max_value=1e7, step=60.0, format="%g",
        help="86,400 for a day; a shorter one squeezes the day. A run has to cover it.",
    )  # fmt: skip


def _peak(arrivals: Arrivals) -> None:
    peak = getattr(arrivals, "peak_to_mean", None)
    if peak is None:
        st.caption("The pattern stands in the file, by parts of the period.")
        return
    number(
        "Rate at the peak ÷ mean", "arrivals_peak", peak, lambda v: {f"{ARRIVALS}.peak_to_mean": v},
        min_value=1.05, max_value=2.0, step=0.1, format="%g", help="A sine wave from its trough.",
    )  # fmt: skip


def _time_scale(arrivals: Arrivals) -> None:
    number(
        "Stretch times by", "trace_time_scale", getattr(arrivals, "time_scale", 1.0),
        lambda v: {f"{ARRIVALS}.time_scale": v}, min_value=0.001, max_value=1000.0, step=0.25, format="%g",
        help="2: twice as long, at half the rate; 0.5: twice the rate, with bursts as sharp again.",
    )  # fmt: skip


def _rate_scale(arrivals: Arrivals) -> None:
    number(
        "Requests times", "trace_rate_scale", getattr(arrivals, "rate_scale", 1.0),
        lambda v: {f"{ARRIVALS}.rate_scale": v}, min_value=0.01, max_value=1000.0, step=0.5, format="%g",
        help="Below 1 each request is kept with this chance; above 1 requests are repeated up to the next arrival.",
    )  # fmt: skip


def _limit(arrivals: Arrivals) -> None:
    number(
        "First requests only", "trace_limit", getattr(arrivals, "limit", None), lambda v: {f"{ARRIVALS}.limit": v},
        min_value=1, max_value=10**9, step=1000, help="Of the trace, before it is stretched or repeated; empty: all.",
    )  # fmt: skip


PARAMETERS: dict[str, tuple[Callable[[Arrivals], None], ...]] = {
    "gamma": (_cv,),
    "bursty": (_burst, _on, _off),
    "diurnal": (_period, _peak, _cv),
    "trace": (_time_scale, _rate_scale, _limit),
}
"""Kind of arrivals → controls of what it needs beside the rate."""
