"""One candidate of a plan in full: its figures, its K schedule, the flags to start it, and where it goes from here."""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import streamlit as st
import yaml

from app.dashboard import cards, links, own_traces, plan_view, tables
from app.dashboard.estimates import alone
from app.dashboard.planned import Planned, as_file
from app.export.exported import COMMANDS, exported
from app.tables.draft_schedule import LEGEND
from app.tables.export import TITLES
from simulator.errors import ScenarioError, SimulatorError
from simulator.spec.scenario import Scenario

LOOKED_AT = "plan_point"
"""Key of the session: the candidate that is looked at."""


def looked_at(planned: Planned, names: Sequence[str]) -> dict[str, Any] | None:
    """The candidate that is looked at, at first the first of the names: as `specfleet export --json` has it."""
    if not names:
        st.info("No candidate has a size that holds: see below why, and Memory for what would make one fit.")
        return None
    if st.session_state.get(LOOKED_AT) not in names:
        st.session_state[LOOKED_AT] = names[0]
    name = st.selectbox("Candidate", names, key=LOOKED_AT, help="The choice first, then by cost.")
    st.html(cards.labelled(plan_view.facts(planned.points[name], plan_view.limits(planned))))
    _go(planned, name)
    engine = st.segmented_control(
        "Flags for", list(COMMANDS), default=_own_engine(planned, name), required=True, key=f"plan_engine_{name}",
        format_func=TITLES.__getitem__,
    )  # fmt: skip
    found = export_of(_sized(planned, name), name, engine)
    _flags(found)
    return found


def _go(planned: Planned, name: str) -> None:
    """A page Compare of its own for the candidate, and the file for the command line."""
    file = own_traces.named(as_file(planned, compared_with(planned, name)))
    with st.container(horizontal=True):
        try:
            st.link_button(
                "Open in Compare", links.address_in_compare(yaml.safe_load(file)), icon=":material/balance:",
                help="In a window of its own, beside the choice or the runner-up.",
            )  # fmt: skip
        except ScenarioError as error:
            st.caption(str(error))
        st.download_button(
            "Scenario (YAML)", file, f"{name}.yaml", "application/yaml", on_click="ignore", key="plan_take",
            icon=":material/download:", help="For `specfleet run` and `specfleet export` on the command line.",
        )  # fmt: skip


def compared_with(planned: Planned, name: str) -> list[str]:
    """The candidate, and beside it the choice, or beside the choice the runner-up."""
    others = [other for other in (planned.found["choice"], planned.found["runner_up"]) if other not in (None, name)]
    return [name, *others[:1]]


def _own_engine(planned: Planned, name: str) -> str:
    own = planned.loaded.scenario.deployments[name].engine.policy
    return own if own in COMMANDS else next(iter(COMMANDS))


def _sized(planned: Planned, name: str) -> Scenario:
    """The scenario of one candidate with the replicas that it needs."""
    scenario, replicas = planned.loaded.scenario, planned.points[name]["replicas"]
    spec = scenario.deployments[name].model_copy(update={"replicas": replicas})
    return scenario.model_copy(update={"deployments": {name: spec}})


def export_of(scenario: Scenario, name: str, engine: str) -> dict[str, Any]:
    """What `specfleet export --json` says of a deployment; `problem` where it cannot be exported."""
    return _export_of(alone(scenario, name), name, engine)


@lru_cache(maxsize=64)
def _export_of(document: str, name: str, engine: str) -> dict[str, Any]:
    try:
        return exported(Scenario.model_validate_json(document), name, engine).as_json()
    except SimulatorError as error:
        return {"problem": str(error)}


def _flags(found: dict[str, Any]) -> None:
    """The command that starts a replica, and what is to be known of it."""
    if "problem" in found:
        st.caption(found["problem"])
        return
    st.code(found["text"], language="bash", wrap_lines=True)
    for text in (*(f"Not exported: {left}" for left in found["left_out"]), *found["notes"]):
        st.caption(text)


def schedule(found: dict[str, Any]) -> None:
    """The best K by batch and context, as a table and as the engine takes it, and where drafts should run."""
    advised = found.get("draft_schedule")
    if advised is None:
        return
    st.markdown("**K by sequences in flight and context**")
    if advised["why_not"] is not None:
        st.caption(f"{found['deployment']}: no schedule, for {advised['why_not']}.")
        return
    st.markdown(str(advised["says"]))
    with st.expander("As a table", icon=":material/table:"):
        tables.show(plan_view.schedule_rows(advised))
        st.caption(LEGEND)
    if found["draft_schedule_for_engine"] is not None:
        st.code(json.dumps(found["draft_schedule_for_engine"]), language="json", wrap_lines=True)
    if found["placement"] is not None:
        st.caption(str(found["placement"]["sentence"]))
