"""What arrives, on the page Load: requests over time, their lengths, the process, or a trace in place of it."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from app.dashboard import answers, cards, own_traces
from app.dashboard.arrival_controls import process_controls
from app.dashboard.arriving import Arriving, arriving, told, too_long, trace_text
from app.dashboard.charts import looks_of
from app.dashboard.computed import How
from app.dashboard.explained import explained
from app.dashboard.trace_controls import trace_controls
from app.figures import arrivals as figures
from app.tables.trace import facts
from simulator.cluster.limits import Limits
from simulator.cluster.plan import limits_of
from simulator.physics.ledger import fits
from simulator.planning.estimate import not_estimated
from simulator.spec.scenario import Scenario
from simulator.spec.workload import Workload

CHART_PX = 330
"""Width below which one chart stands alone."""

RATES = "requests in a window ÷ its length; capacity: the highest rate that holds every target, as the other tab has it"
LENGTHS = (
    "share of requests with at most so many tokens; p50 and p95 are marked; red: where a deployment ends a sequence"
)

WITHOUT_TIMES = ("requests", "prompt tokens", "output tokens", "prompt–output")
"""What can be said of requests whose times follow from the service."""


def what_arrives(scenario: Scenario, names: Sequence[str]) -> None:
    """Draw the tab.

    names: deployments that the reader wants to see.
    """
    process_controls(scenario)
    found = arriving(scenario)
    how = how_drawn(scenario, found)
    longest = longest_of(scenario, names)
    grid = st.grid(2, min_column_width=CHART_PX)
    with grid.cell():
        _over_time(scenario, names, found, how)
    with grid.cell():
        ends = {name: limits.max_model_len for name, limits in longest.items()}
        explained(
            "Lengths of prompts and outputs", figures.lengths_figure(found.prompt_tokens, found.output_tokens, ends),
            figures.lengths_alt(found.prompt_tokens, found.output_tokens, ends), [("Formula", LENGTHS), *how],
            rows=_requests(found),
        )  # fmt: skip
    _in_figures(scenario, found)
    for sentence in notes(scenario, found, longest):
        st.caption(sentence)
    trace_controls(scenario)


def how_drawn(scenario: Scenario, found: Arriving) -> How:
    """Where the requests come from."""
    name = own_traces.replayed(scenario)
    if name is None:
        method = (
            f"drawn: {found.size:,} requests of replication 0, random streams from seed {scenario.seed}, the very ones "
            "that a simulation serves"
        )
    else:
        method = f"replayed: {found.size:,} requests of {name}, cut and scaled as the controls say; no random numbers"
        if scenario.workload.arrivals.kind == "trace" and scenario.workload.arrivals.rate_scale != 1.0:
            method = method.replace("no random numbers", f"kept or repeated at random, from seed {scenario.seed}")
    return [("Method", method)]


def _over_time(scenario: Scenario, names: Sequence[str], found: Arriving, how: How) -> None:
    if found.times_s is None or found.size < 2:
        st.info(
            "Requests have no times of their own: each comes when an earlier one ends, or all are queued at once. "
            "Choose a process above, or a trace below.",
            icon=":material/schedule:",
        )
        return
    drawn_as, rows = looks_of(scenario), {row["deployment"]: row for row in answers.answer().rows}
    capacities = {
        name: (float(rows[name]["capacity_req_per_s"]), drawn_as[name])
        for name in names
        if rows[name]["fits"] and rows[name].get("capacity_req_per_s")
    }
    explained(
        "Requests over time", figures.arrivals_figure(found.times_s, capacities),
        figures.arrivals_alt(found.times_s, capacities), [("Formula", RATES), *how],
    )  # fmt: skip


def _requests(found: Arriving) -> list[dict[str, Any]]:
    """Request by request, for a CSV."""
    times = [None] * found.size if found.times_s is None else found.times_s.tolist()
    columns = zip(times, found.prompt_tokens.tolist(), found.output_tokens.tolist(), strict=True)
    return [{"arrival_s": at_s, "prompt_tokens": prompt, "output_tokens": output} for at_s, prompt, output in columns]


def longest_of(scenario: Scenario, names: Sequence[str]) -> dict[str, Limits]:
    """What bounds a sequence of each deployment that fits."""
    specs = {name: scenario.deployments[name] for name in names}
    return {name: limits_of(name, spec, scenario.workload) for name, spec in specs.items() if fits(spec)}


def _in_figures(scenario: Scenario, found: Arriving) -> None:
    lines = facts(told(found, scenario.workload.arrivals.kind))
    timed = found.times_s is not None
    st.markdown("**In figures**")
    st.html(cards.labelled((label, text) for label, text in lines if timed or label in WITHOUT_TIMES))
    if timed:
        st.download_button(
            "These requests as a trace (JSON lines)", lambda: trace_text(found).encode(), f"{scenario.name}.jsonl",
            "application/jsonl", on_click="ignore", key="load_trace", icon=":material/download:", type="tertiary",
        )  # fmt: skip


def notes(scenario: Scenario, found: Arriving, longest: dict[str, Limits]) -> list[str]:
    """What the estimate does with these requests, and which of them are too long for whom."""
    workload = scenario.workload
    said = []
    if own_traces.replayed(scenario) is not None:
        said.append(
            "The estimate takes 1,024 requests of the trace, evenly spaced, as Poisson arrivals at its mean rate; "
            "Simulate (above) replays every request at its time, and finds a capacity by stretching the times."
        )
    elif (left_out := not_estimated(workload)) is not None:
        said.append(
            f"{left_out[0].upper()}{left_out[1:].replace('`specfleet run` simulates it', 'Simulate does not')}."
        )
    if workload.prefix.turns > 1:
        said.append(
            f"Each request opens a session of {workload.prefix.turns} turns; later turns come when the answer before "
            "has been read, with all that was said before in their prompts."
        )
    return [*said, *_too_long(found, longest, workload)]


def _too_long(found: Arriving, longest: dict[str, Limits], workload: Workload) -> list[str]:
    """Which requests are too long for whom, deployments that end sequences alike together."""
    alike: dict[tuple[int, int, int], list[str]] = {}
    for name, limits in longest.items():
        alike.setdefault((limits.max_model_len, *too_long(found, limits, workload)), []).append(name)
    return [
        f"At most {most:,} tokens a sequence ({', '.join(names)}): of {found.size:,} requests {rejected:,} are "
        f"rejected for their prompt, {cut:,} are cut."
        for (most, rejected, cut), names in alike.items()
        if rejected or cut
    ]
