"""The section of the page Speculation that says which K for which batch, and compares the policies that follow it."""

import streamlit as st

from app.dashboard import tables
from app.dashboard.computed import computed_by
from app.dashboard.estimates import estimated
from app.dashboard.explained import as_csv, beside, explained
from app.dashboard.plan_view import schedule_rows
from app.dashboard.speculation import rows, scheduling
from app.dashboard.speculation.found import each, schedule_of
from app.dashboard.speculation.point import at_point
from app.dashboard.speculation.shown import how_of, left_out, taking
from app.dashboard.speculation_inputs import View
from app.figures import ways as figures
from app.tables.draft_schedule import LEGEND
from simulator.planning.draft_schedule import DraftSchedule
from simulator.spec.scenario import Scenario

FORMULA = (
    "the K with the most tokens/s of a sequence, Ω(K) ÷ T(n, K) at each context, in steps without prompts; of those "
    "within 3 % of it the one that makes the fewest bands"
)
UNEVEN = (
    "K need not fall evenly: n sequences verify n × (K + 1) rows, and a matrix product takes longer in leaps, each "
    "time its rows fill another tile of the kernel."
)
POLICIES = (
    "each policy at n sequences in flight, prompts included: speed-up = output tokens/s ÷ those without a draft; "
    "goodput chooses before each step the K with the most tokens per second, for each sequence by its own acceptance"
)


def section(scenario: Scenario, view: View) -> None:
    """Draw the section."""
    schedule = schedule_of(at_point(scenario, view), view.name)
    if schedule.why_not:
        st.info(f"There is no schedule: {schedule.why_not}.")
        return
    st.markdown(f"**K by batch**: {schedule.says()}.")
    found = schedule.as_json()
    alt = f"The best K by sequences in flight and context. {schedule.says()}."
    explained(
        "Best K by batch and context", figures.schedule_figure(found), alt, how_of(scenario, view.name, FORMULA),
        says="÷ plain decoding", rows=scheduling.schedule_rows(found),
    )  # fmt: skip
    st.caption(UNEVEN)
    with st.expander("As a table", icon=":material/table:"):
        tables.show(schedule_rows(found))
        st.caption(LEGEND)
    _policies(scenario, view, schedule)


def _policies(scenario: Scenario, view: View, schedule: DraftSchedule) -> None:
    """What each policy makes of it, over batches and at the load."""
    ways = scheduling.speculations(scenario, view, schedule)
    compared = each(scenario, view.name, ways)
    lines, found = scheduling.lines_of(compared), estimated(compared)
    how = computed_by(POLICIES, found)
    explained(
        "Policies", figures.ways_figure(lines, view.sequences), figures.ways_alt(lines, view.sequences), how,
        says="one replica that always holds so many sequences", rows=scheduling.csv_rows(lines),
    )  # fmt: skip
    tables.show(rows.table_of(found, "policy"))
    beside("Policies at the load", how, lambda: as_csv(rows.csv_rows(found)))
    left_out(rows.unfit(found))
    st.caption(
        f"The table is at the scenario's load. fixed: K = {view.choice.draft_tokens} always. by-batch: the schedule "
        "above. goodput knows each request's acceptance, which an engine reads off its draft's confidence at best: an "
        "upper end. KV and token budget are reserved for the largest K that a policy may choose."
    )
    taking("policy", view.name, ways)
