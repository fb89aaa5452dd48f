"""The page Runs: what lies in the runs folder, a batch on its way, one run in full, and any two against each other."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

import streamlit as st

from app.dashboard import badges, cards, state, stored, tables
from app.dashboard.computed import COMPARISON, said_of
from app.dashboard.explained import as_csv, beside
from app.dashboard.layout import side_by_side
from app.dashboard.stored import Opened
from app.dashboard.terms import head
from app.format import plural
from app.report.markup import Markup, join, tag
from app.report.tables import comparison as comparison_table
from app.report.tables import sweep as sweep_table
from app.tables.runs import progress_of
from scenarios.runs import Run, list_runs
from simulator.errors import SimulatorError

POLL_S = 2.0
"""How often the page asks how far a running batch is [s]."""

MOST_LISTED = 200
"""Runs in the table; a filter brings the others."""

MOST_SWEPT = 60
"""Points of a sweep in the table."""

MOST_DIFFERENCES = 30
"""Places at which two scenarios differ, in the table."""

NEITHER = "–"


def page() -> None:
    """Draw the page."""
    folder = stored.runs_folder()
    try:
        runs = list_runs(folder)
    except SimulatorError:
        runs = []
    if not runs:
        _empty()
        return
    if any(run.state == "running" for run in runs):
        st.fragment(_running, run_every=POLL_S)()
    shown = _filtered(runs)
    tables.show(stored.listed(shown[:MOST_LISTED]))
    if len(shown) > MOST_LISTED:
        st.caption(f"The newest {MOST_LISTED} of {len(shown):,}: a filter brings the others.")
    finished = [run for run in shown if run.state == "finished"]
    if not finished:
        st.info("None of these is finished: choose other filters.")
        return
    _one(finished)


def _empty() -> None:
    st.info(
        f"No run lies in the folder “{stored.runs_folder()}” of this server yet. `specfleet run`, of a file or of a "
        "folder of scenarios, writes there; `specfleet dashboard --runs DIR` shows another folder."
    )


def _running() -> None:
    """How far each batch on its way is; the whole page anew when one has ended."""
    running = [run for run in list_runs(stored.runs_folder()) if run.state == "running"]
    for run in running:
        share = min(run.points / run.points_in_file, 1.0) if run.points_in_file else 0.0
        st.progress(share, f"{run.path.name} is on its way: {progress_of(run)} points")
    if not running:
        st.rerun()


def _filtered(runs: Sequence[Run]) -> list[Run]:
    grid = st.grid(3, min_column_width=220, gap=("small", "medium"))
    with grid.cell():
        name = st.text_input(
            "Scenario or run", key="runs_name", persist_state="session", max_chars=200,
            help="Part of its name; `*` stands for anything.",
        )  # fmt: skip
    gpus = sorted({gpu for run in runs for gpu in run.gpus})
    with grid.cell():
        chosen = st.pills("GPU", gpus, selection_mode="multi", key="runs_gpus", persist_state="session") if gpus else []
    states = [state for state in stored.STATES if any(run.state == state for run in runs)]
    with grid.cell():
        kept = st.pills(
            "State", states, selection_mode="multi", key="runs_states", persist_state="session",
            format_func=stored.STATES.__getitem__,
        )  # fmt: skip
    return [
        run
        for run in runs
        if _named(run, name) and (not chosen or set(chosen) & set(run.gpus)) and (not kept or run.state in kept)
    ]


def _named(run: Run, pattern: str) -> bool:
    wanted = f"*{pattern.strip().lower()}*"
    return any(fnmatchcase(name.lower(), wanted) for name in (run.scenario, run.path.name))


def _one(finished: Sequence[Run]) -> None:
    """A finished run in full, or two against each other."""
    by_name = {run.path.name: run for run in finished}
    left, right = side_by_side()
    name = left.selectbox("Open", list(by_name), key="runs_open", help="A finished run; the newest first.")
    others = [NEITHER, *(other for other in by_name if other != name)]
    against = right.selectbox("Compare with", others, key="runs_against", help="What was before: ratios are ÷ it.")
    try:
        if against == NEITHER:
            _shown(by_name[name])
        else:
            _compared(by_name[against], by_name[name])
    except SimulatorError as error:
        st.error("This run cannot be opened.", icon=":material/block:")
        st.code(str(error), language=None, wrap_lines=True)


def _shown(run: Run) -> None:
    found = stored.opened(run)
    points = found.points
    if len(points) > 1:
        st.html(cards.verdict(found.summary["comparison"], _simulated(found)))
        st.html(tag("div", sweep_table(list(points.values())[:MOST_SWEPT]), class_="sf-table"))
        _left_out(len(points))
    label = (
        st.selectbox("Point", list(points), key=f"runs_point_{run.path.name}")
        if len(points) > 1
        else next(iter(points))
    )
    comparison, limits = points[label]["comparison"], found.document.get("slo") or {}
    st.html(join(cards.verdict(comparison, _simulated(found)), badges.origins(found.summary["provenance"])))
    st.html(tag("div", comparison_table(found.rows(label), limits, comparison, head), class_="sf-table"))
    provenance = found.summary["provenance"]
    how = said_of(COMPARISON, f"{_seeds(found)}, random streams from seed {provenance.get('seed')}", provenance)
    beside(f"{run.path.name} {label}", how, lambda: as_csv(found.rows(label)))
    _take(run, found)


def _left_out(number: int) -> None:
    if number > MOST_SWEPT:
        st.caption(f"The first {MOST_SWEPT} of {plural(number, 'point')}; the report and summary.parquet have all.")


def _simulated(found: Opened) -> Markup:
    return badges.badge(_seeds(found), "simulated", badges.SIMULATED)


def _seeds(found: Opened) -> str:
    return f"simulated ({plural(int(found.summary['provenance'].get('replications') or 0), 'seed')})"


def _take(run: Run, found: Opened) -> None:
    """The report, and the scenario: as a file, or on the other pages."""
    with st.container(horizontal=True):
        st.download_button(
            "Report (HTML)", lambda: stored.report_of(run), f"{run.path.name}.html", "text/html", on_click="ignore",
            key="runs_report", icon=":material/download:",
        )  # fmt: skip
        st.download_button(
            "Scenario (YAML)", found.text, f"{run.path.name}.yaml", "application/yaml", on_click="ignore",
            key="runs_scenario", icon=":material/download:",
        )  # fmt: skip
        st.button(
            "Open its scenario", key="runs_take", icon=":material/edit_note:", on_click=_open_scenario, args=(found,),
            help="On all pages, in place of the scenario that is open.",
        )  # fmt: skip


def _open_scenario(found: Opened) -> None:
    try:
        state.replace_text(found.text, f"{found.summary['scenario']}.yaml")
    except SimulatorError as error:
        state.tell(str(error))


def _compared(first: Run, second: Run) -> None:
    found = stored.compared(first, second)
    st.markdown(f"**{second.path.name} ÷ {first.path.name}**")
    tables.show(stored.ratio_rows(found))
    st.caption("In brackets: 95 % interval over replications, paired where both saw the same random streams.")
    st.html(cards.labelled(stored.why_rows(found)))
    different = found["differences"][:MOST_DIFFERENCES]
    with st.expander(f"How the scenarios differ ({len(found['differences'])})", icon=":material/difference:"):
        tables.show(
            [
                {"place": str(one["path"]), "first": _value(one["first"]), "second": _value(one["second"])}
                for one in different
            ]
        )


def _value(value: object) -> str:
    return NEITHER if value is None else str(value)
