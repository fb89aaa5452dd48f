"""The page Plan: from a load and a target to the cheapest cluster; estimated at once, confirmed by simulation."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from app.dashboard import (
    answers,
    badges,
    cards,
    own_traces,
    plan_controls,
    plan_point,
    plan_view,
    state,
    tables,
    waiting,
)
from app.dashboard.document import with_trace_file
from app.dashboard.explained import explained
from app.dashboard.jobs import Job
from app.dashboard.layout import side_by_side
from app.dashboard.plan_question import plan_text
from app.dashboard.planned import Planned, key_of, searching
from app.figures import load as load_figures
from app.figures import plan as figures
from app.figures.load import Measure, Metric
from app.report.markup import join
from app.tables.fleet import fleet_lines

KIND = " plan"
"""Of work, as jobs are told apart."""

METRICS: tuple[Metric, ...] = ("ttft_s", "tpot_s", "e2e_s")
NONE_KNOWN = "No candidate has a cost and a latency to be drawn at: the last table of the page says why."
"""In place of the figure."""

CLICKED = "specfleet_plan_clicked"
"""Key of the session: the mark that was clicked last."""


def page() -> None:
    """Draw the page."""
    plan_controls.controls(state.current())
    text = plan_text(with_trace_file(state.mapping_of_point(), own_traces.known()), state.question())
    planned, job = best(text), _own_job(text)
    if planned is None and job is None:
        ask(text, simulate=False)
        planned, job = best(text), _own_job(text)
    _bar(text, planned, job)
    if planned is not None:
        _shown(planned)


def best(text: str) -> Planned | None:
    """The best that is known of a plan: confirmed by simulation if that has been done, else estimated."""
    found: Planned | None = None
    for simulate in (True, False):
        found = found or answers.all_jobs().kept(key_of(text, simulate=simulate))
    return found


def _own_job(text: str) -> Job | None:
    """What this browser has searched for the plan; a search for another one is ended, for nobody waits for it."""
    job = answers.last_job(KIND)
    if job is None or job.key in (key_of(text, simulate=simulate) for simulate in (True, False)):
        return job
    answers.cancel(KIND)
    return None


def ask(text: str, *, simulate: bool) -> None:
    """Have the plan searched, in place of an earlier one."""
    search = searching(text, simulate=simulate, traces=own_traces.known())
    answers.ask(KIND, key_of(text, simulate=simulate), search)


def _bar(text: str, planned: Planned | None, job: Job | None) -> None:
    """How far the search is, or what can be done next."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if job is not None and job.running:
            confirms = job.key == key_of(text, simulate=True)
            waiting.wait_for(job, "Confirming by simulation" if confirms else "Searching", "steps", KIND)
            return
        if planned is None or not planned.simulated:
            simulate = planned is not None
            st.button(
                "Confirm by simulation" if simulate else "Search again", key="plan_search", on_click=ask, args=(text,),
                kwargs={"simulate": simulate}, type="primary", icon=":material/play_arrow:",
                help="Simulates the candidates that might be the cheapest, request by request." if simulate else None,
            )  # fmt: skip
        waiting.say_ended(job)
        st.download_button(
            "Plan file (YAML)", own_traces.named(text), f"{state.current().name}-plan.yaml", "application/yaml",
            on_click="ignore", key="plan_file", icon=":material/download:",
            help="For `specfleet plan` on the command line.",
        )  # fmt: skip


def _shown(planned: Planned) -> None:
    """The answer, what it was chosen from, and one candidate in full."""
    st.html(join(plan_view.answer(planned), badges.origins(planned.found["provenance"])))
    measure = _measure(planned)
    points = list(planned.points.values())
    names, choice = planned.found["pareto"], planned.found["choice"]
    left, right = side_by_side()
    with left:
        event = explained(
            f"Cost against {measure.name}", figures.pareto_figure(points, names, choice, measure),
            figures.pareto_alt(points, names, choice, measure), plan_view.how(planned),
            says="click a mark to look at it", key="Cost against latency", rows=plan_view.point_rows(planned),
            empty=NONE_KNOWN, on_select="rerun", selection_mode="points",
        )  # fmt: skip
        _follow_click(event)
        st.caption(
            "Size: GPUs. Hollow: no draft. Faint: another candidate is no worse in cost, latency and GPUs. Cross: it "
            "misses a target or the budget. What a bound ruled out has no latency and is not drawn."
        )
    with right:
        exported = plan_point.looked_at(planned, _ranked(planned))
    with left:
        plan_point.schedule(exported or {})
    st.markdown("**Not beaten in cost, latency and GPUs at once**")
    tables.show(plan_view.pareto_rows(planned))
    monthly = plan_view.fleet_rows(planned)
    if monthly:
        st.markdown("**A month of it**")
        tables.show(monthly)
        st.html(cards.labelled((label, text) for label, text, _ in fleet_lines(planned.found["fleet"])))
    said, rows = plan_view.why_not(planned)
    with st.expander(f"Candidates that are no answer: {said}", icon=":material/block:"):
        tables.show(rows)


def _measure(planned: Planned) -> Measure:
    """The latency that the chart shows; at first that by which the plan compares."""
    own = planned.found["latency"]["metric"]
    first = own if own in METRICS else METRICS[-1]
    metric = st.segmented_control(
        "Latency", METRICS, default=first, required=True, key="plan_metric", persist_state="session",
        format_func=lambda name: load_figures.NAMES[name],
    )  # fmt: skip
    return plan_view.measure_of(planned, metric)


def _ranked(planned: Planned) -> list[str]:
    """All candidates with a cost: the choice, the others of the Pareto set, the rest, each by cost."""
    pareto, choice = set(planned.found["pareto"]), planned.found["choice"]
    known = [point for point in planned.points.values() if point.get("usd_per_hour")]

    def place(point: Any) -> tuple[bool, bool, bool, float]:
        name = point["name"]
        return name != choice, name not in pareto, bool(point.get("why_not")), float(point["usd_per_hour"])

    return [str(point["name"]) for point in sorted(known, key=place)]


def _follow_click(event: Any) -> None:
    """Look at the mark that was clicked, once: a later choice from the list stands."""
    marks: Sequence[Any] = event.selection.points if event else ()
    data = marks[0].get("customdata") if marks else None
    name = data[0] if data else None
    if name is not None and name != st.session_state.get(CLICKED):
        st.session_state[CLICKED] = st.session_state[plan_point.LOOKED_AT] = name
