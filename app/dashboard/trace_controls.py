"""A trace in place of drawn requests: chosen or uploaded, looked at, then replayed, or a workload fitted to it."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import streamlit as st

from app.dashboard import cards, own_traces, state
from app.dashboard.arrival_controls import drawn_instead, take_workload
from app.dashboard.arriving import fitted
from app.dashboard.simulations import MOST_REQUESTS
from app.dashboard.terms import unmarked
from app.dashboard.traces import MOST_BYTES, SAMPLE, table_of
from app.tables.trace import facts
from simulator.cluster.traces import TraceTable
from simulator.errors import SimulatorError
from simulator.planning.workload_fit import class_shares, summary
from simulator.spec.scenario import Scenario

CHOSEN, UPLOAD = "trace_chosen", "trace_upload"
"""Keys of the session: the trace that is looked at, the uploaded file."""

WARMUP_SHARE = 0.1
"""Most of a trace that is left out as warm-up: a choice."""

TYPES = ["csv", "jsonl", "json", "txt"]
MEGABYTES = MOST_BYTES // 10**6

COLUMN_PX = 250
"""Width below which the list and the upload stand one below the other."""

SAYS = (
    f"CSV of Azure or BurstGPT, JSON lines of Mooncake or of specfleet, at most {MEGABYTES} MB; told apart by content. "
    "An upload is yours alone, kept until the server ends, and in no link."
)


def trace_controls(scenario: Scenario) -> None:
    """Choose or upload a trace, see what it holds, take it."""
    st.subheader("A trace in place of drawn requests", anchor=False)
    known = own_traces.known()
    grid = st.grid(2, min_column_width=COLUMN_PX, gap="medium")
    with grid.cell():
        _choose(scenario, known)
    with grid.cell():
        st.file_uploader(
            "Upload a trace", TYPES, key=UPLOAD, on_change=_uploaded, max_upload_size=MEGABYTES, help=SAYS,
        )  # fmt: skip
    chosen = st.session_state.get(CHOSEN)
    if chosen in known:
        _look(scenario, chosen, known[chosen])
    else:
        st.caption(f"Nothing is replayed before you say so. {SAYS}")


def _choose(scenario: Scenario, known: Mapping[str, Path]) -> None:
    """The traces that there are; what was chosen and is gone is chosen no more."""
    if st.session_state.get(CHOSEN) not in known:
        st.session_state[CHOSEN] = own_traces.replayed(scenario)
    own = own_traces.uploaded()

    def said(name: str) -> str:
        return f"{name} (synthetic)" if name == SAMPLE else f"{name} (uploaded)" if name in own else name

    st.selectbox(
        "Trace", list(known), index=None, key=CHOSEN, format_func=said, placeholder="Choose one",
        help="The sample is drawn, to try the page with: bursts of three times the mean rate, with the lengths of a "
        "public trace. Others lie in the folder of `specfleet dashboard --traces`, or you upload them.",
    )  # fmt: skip


def _uploaded() -> None:
    file = st.session_state[UPLOAD]
    if file is None:
        return
    try:
        st.session_state[CHOSEN] = own_traces.add(file.name, file.getvalue())
    except SimulatorError as error:
        state.tell(str(error))


def _look(scenario: Scenario, name: str, path: Path) -> None:
    """What the chosen trace holds, and what can be done with it."""
    try:
        table = table_of(path)
    except SimulatorError as error:
        st.error(str(error), icon=":material/block:")
        return
    if own_traces.replayed(scenario) != name:
        st.markdown(f"**{unmarked(name)}**, the whole trace")
        st.html(cards.labelled(facts(_summary(path, path.stat().st_mtime_ns))))
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if own_traces.replayed(scenario) == name:
            st.button(
                "Back to drawn requests", key="trace_back", on_click=_back, icon=":material/undo:",
                help="Poisson arrivals at the trace's mean rate, and its lengths as a table of quantiles.",
            )  # fmt: skip
        else:
            st.button(
                "Replay it", key="trace_replay", on_click=_replay, args=(name, path), type="primary",
                icon=":material/replay:", help="Its own times and lengths, in place of those of the scenario.",
            )  # fmt: skip
        st.button(
            "Fit a workload to it", key="trace_fit", on_click=_fit, args=(path,), icon=":material/insights:",
            help="Arrivals, lengths and prefixes that stand for it, as `specfleet import trace --fit` finds them. A "
            "link holds them.",
        )  # fmt: skip
        st.download_button(
            "Trace", path.read_bytes, name, "text/plain", on_click="ignore", key="trace_take",
            icon=":material/download:", type="tertiary", help="To lie beside the scenario's file.",
        )  # fmt: skip
    if table.size > MOST_REQUESTS:
        st.caption(f"Of its {table.size:,} requests a browser replays the first {MOST_REQUESTS:,}.")


@lru_cache(maxsize=16)
def _summary(path: Path, changed_ns: int) -> dict[str, Any]:
    """A trace in figures; changed_ns: tells it from the same one that was written anew."""
    return summary(table_of(path))


def _replay(name: str, path: Path) -> None:
    """Put a trace in place of arrivals and lengths."""
    take_workload(replaying(name, table_of(path), state.mapping()["workload"]))


def replaying(name: str, table: TraceTable, workload: Mapping[str, Any]) -> dict[str, Any]:
    """Parts of a workload that replays a trace; None for those that it does without."""
    arrivals: dict[str, Any] = {"kind": "trace", "file": name}
    if table.size > MOST_REQUESTS:
        arrivals["limit"] = MOST_REQUESTS
    requests = min(table.size, MOST_REQUESTS)
    warmup = min(int((workload.get("horizon") or {}).get("warmup_requests") or 0), int(WARMUP_SHARE * requests))
    parts: dict[str, Any] = {
        "arrivals": arrivals, "lengths": {"kind": "trace"}, "prefix": None,
        "horizon": {"requests": requests, "warmup_requests": warmup},
    }  # fmt: skip
    named = set(class_shares(table))
    if named and not named <= set(workload.get("classes") or {"all": 1.0}):
        parts["classes"] = _whole(class_shares(table))
    return parts


def _whole(shares: Mapping[str, float]) -> dict[str, float]:
    """Shares of four digits that sum to 1."""
    rounded = {name: round(share, 4) for name, share in shares.items()}
    largest = max(rounded, key=lambda name: rounded[name])
    return rounded | {largest: round(rounded[largest] + 1.0 - sum(rounded.values()), 6)}


def _fit(path: Path) -> None:
    """Put a fitted workload in place of arrivals, lengths and prefixes."""
    try:
        found = fitted(table_of(path))
    except SimulatorError as error:
        state.tell(str(error))
        return
    take_workload({"prefix": None, **found})


def _back() -> None:
    """Poisson arrivals at the rate of the trace, and its lengths as a table."""
    take_workload(drawn_instead(state.current(), "poisson"))
