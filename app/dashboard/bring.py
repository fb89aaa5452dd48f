"""What a reader brings to the page Evidence: a benchmark that is predicted, and counters that become an acceptance."""

from collections.abc import Mapping
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any

import streamlit as st
import yaml

from app.dashboard import state, tables
from app.dashboard.computed import How
from app.dashboard.explained import explained
from app.dashboard.own_evidence import (
    MOST_BYTES,
    MOST_ROWS,
    benchmark_csv,
    check_size,
    decoded,
    is_json,
    predicted,
    read_counters,
)
from app.dashboard.pool import FairPool, Owner
from app.dashboard.speculation_inputs import drafting
from app.dashboard.terms import tip
from app.evidence.published import METRICS, Compared, pairs
from app.figures import parity as figures
from app.figures.acceptance import survival_alt, survival_figure
from app.format import percent, signed, significant
from app.report.markup import tag
from app.tables.validation import TITLES
from simulator.catalog.load import names
from simulator.errors import SimulatorError

if TYPE_CHECKING:
    from calibration.importers.finding import AcceptanceFinding

MOST_S = 90.0
"""Seconds after which a prediction is given up."""

CHART_PX = 300
"""Width below which one chart stands alone."""

OWN_HOW: How = (
    ("Formula", "error = |predicted ÷ measured − 1| of each row; bias = mean of predicted ÷ measured − 1"),
    ("Predicted", "each row replayed as it was run, with the step times of the profile of its GPU and engine"),
    ("Measured", "by you: the file that was uploaded"),
    ("Seeds", "a replay draws lengths from seed 0; one replay a row"),
)

EXAMPLE = """\
# TYPE vllm:spec_decode_num_drafts_total counter
vllm:spec_decode_num_drafts_total{model_name="m"} 1000
vllm:spec_decode_num_draft_tokens_total{model_name="m"} 4000
vllm:spec_decode_num_accepted_tokens_total{model_name="m"} 1910
vllm:spec_decode_num_accepted_tokens_per_pos_total{model_name="m",position="0"} 720
vllm:spec_decode_num_accepted_tokens_per_pos_total{model_name="m",position="1"} 520
vllm:spec_decode_num_accepted_tokens_per_pos_total{model_name="m",position="2"} 390
vllm:spec_decode_num_accepted_tokens_per_pos_total{model_name="m",position="3"} 280
"""


@st.cache_resource(show_spinner=False)
def _pool() -> FairPool:
    """One process that predicts what readers bring, in turn."""
    return FairPool(1, MOST_S)


def benchmark() -> None:
    """A serving benchmark, predicted row by row."""
    st.subheader("A serving benchmark", anchor=False)
    st.caption(
        f"The CSV of `specfleet validate`, or the JSON of vLLM bench serve, AIPerf or GuideLLM; at most {MOST_ROWS} "
        "rows. It is predicted in this server's memory and kept nowhere."
    )
    uploaded = st.file_uploader(
        "Benchmark (CSV or JSON)", ["csv", "json"], key="evidence_benchmark", max_upload_size=1,
    )  # fmt: skip
    if uploaded is None:
        return
    try:
        text = decoded(uploaded.getvalue())
        stated = _stated() if is_json(text) else {}
        with st.spinner("Predicting every row …"):
            table = benchmark_csv(text, stated)
            check_size(table)
            rows = _predicted(table)
    except (SimulatorError, CancelledError, TimeoutError, RuntimeError) as error:
        _refused("This benchmark cannot be predicted.", error)
        return
    _show(rows)


def _stated() -> dict[str, Any]:
    """What the JSON of a benchmark does not say."""
    grid = st.grid(5, min_column_width=150)
    gpu = grid.selectbox("GPU", names("gpus"), key="bring_gpu")
    model = grid.selectbox("Model", names("models"), key="bring_model")
    engine = grid.selectbox("Engine", names("engines"), key="bring_engine")
    precision = grid.selectbox("Precision", ["fp8", "fp4"], key="bring_precision")
    tp = grid.number_input("Tensor parallel", 1, 64, 1, key="bring_tp")
    return {"gpu": gpu, "model": model, "engine": engine, "precision": precision, "tp": int(tp)}


@st.cache_data(max_entries=16, show_spinner=False)
def _predicted(text: str) -> list[Compared]:
    """The rows of a CSV, predicted by a process of their own."""
    found: list[Compared] = Owner(_pool()).submit(predicted, text).result()
    return found


def _show(rows: list[Compared]) -> None:
    """How near the predictions are."""
    grid = st.grid(len(METRICS), min_column_width=CHART_PX)
    for metric in METRICS:
        shown = pairs(rows, metric)
        if shown:
            with grid.cell():
                found = figures.errors(shown)
                st.metric(
                    f"{TITLES[metric]}, median error", percent(found.median_ape),
                    f"bias {signed(found.bias)}", delta_color="off", delta_arrow="off", help=tip("held-out-error"),
                )  # fmt: skip
                drawn = figures.parity_figure(shown, seconds=metric != "output_tokens_per_s")
                alt, title = figures.parity_alt(shown, TITLES[metric]), f"{TITLES[metric]}, predicted against yours"
                explained(title, drawn, alt, OWN_HOW, rows=[one._asdict() for one in shown])
    failed = [{"row": row.id, "why it is not predicted": row.reason} for row in rows if row.reason]
    if failed:
        tables.show(failed)


def counters() -> None:
    """Counters of an engine, or responses of its requests: what they say of acceptance, and where it may go."""
    st.subheader("Acceptance of your traffic", anchor=False)
    st.caption(
        "Paste an engine's /metrics text, responses with speculative statistics, or a benchmark's JSON. With two "
        "scrapes of /metrics, only what happened between them counts."
    )
    grid = st.grid(2, min_column_width=CHART_PX)
    first = grid.text_area("First text", key="bring_first", height=160, max_chars=MOST_BYTES, placeholder=EXAMPLE)
    second = grid.text_area("A later /metrics text (optional)", key="bring_second", height=160, max_chars=MOST_BYTES)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        stated = st.number_input(
            "Draft tokens K, if the text lacks them", 0, 64, 0, key="bring_k", width=260, help="0: as the text says.",
        )  # fmt: skip
        add = st.toggle("Add up several engines", key="bring_add")
        lookup = st.toggle(
            "The draft is a look-up", key="bring_lookup", help="It does not propose in every step: those count too.",
        )  # fmt: skip
        st.button("Try an example", key="bring_example", on_click=_example, type="tertiary")
    if not first.strip():
        return
    texts = [first, second] if second.strip() else [first]
    try:
        found = read_counters(texts, int(stated) or None, add_engines=add, lookup=lookup)
        block = found.block()
    except SimulatorError as error:
        _refused("This says nothing certain of acceptance.", error)
        return
    _finding(found, block)


def _example() -> None:
    st.session_state["bring_first"] = EXAMPLE


def _finding(found: "AcceptanceFinding", block: Mapping[str, Any]) -> None:
    """What was found with its interval, and the block of a scenario that says it."""
    grid = st.grid(2, min_column_width=CHART_PX, gap=("small", "medium"))
    low, high = found.interval or (None, None)
    within = "no interval" if low is None else f"95 % {significant(low)} to {significant(high)}"
    with grid.cell():
        one, two = st.columns(2)
        one.metric("Tokens per step", significant(found.tokens_per_step), within, delta_color="off", delta_arrow="off",
                   help=tip("tokens-per-step", f"Averaged over {found.averaged_over}."))  # fmt: skip
        two.metric("Draft tokens accepted", percent(found.acceptance_rate), help=tip("acceptance-rate"))
        if found.survival:
            drawn = survival_figure(found.survival, found.survival_intervals)
            explained("Survival by draft position", drawn, survival_alt(found.survival), _counted(found))
    with grid.cell():
        st.code(yaml.safe_dump(dict(block), sort_keys=False, default_flow_style=None), language="yaml", wrap_lines=True)
        _take(block)
        said = (f"{found.format}, engine {found.engine}", f"interval: {found.method}", *found.notes)
        st.html(tag("ul", *(tag("li", text) for text in said), class_="sf-list"))


def _counted(found: "AcceptanceFinding") -> How:
    return [
        ("Formula", "survival of a position = steps that accepted it ÷ steps"),
        ("Measured", f"by your engine: {found.format}, engine {found.engine}"),
        ("Interval", f"95 %: {found.method}"),
        *(("Note", text) for text in found.notes),
    ]


def _take(block: Mapping[str, Any]) -> None:
    """Where the finding goes: a draft of the scenario, and a class of its requests."""
    scenario = state.current()
    drafts = drafting(scenario)
    if not drafts:
        st.info("No deployment of this scenario has a draft: give one a draft on the page Speculation first.")
        return
    one, two = st.columns(2)
    name = one.selectbox("Deployment", list(drafts), key="bring_deployment")
    of_class = two.selectbox("Class of requests", list(scenario.workload.classes), key="bring_class")
    own = drafts[name].drafts
    draft = st.selectbox("Draft", list(own), key=f"bring_draft_{name}") if len(own) > 1 else next(iter(own))
    stated = own[draft].model_dump(mode="json", exclude_unset=True)["acceptance"]
    changes = {f"deployments.{name}.speculation.drafts.{draft}.acceptance": stated | {of_class: dict(block)}}
    st.button(
        f"Take it into {name}", key="bring_take", icon=":material/check:", on_click=state.apply, args=(changes,),
        help="Sets the acceptance of that class; Compare, Load and Speculation follow.",
    )  # fmt: skip


def _refused(what: str, error: BaseException) -> None:
    st.error(what, icon=":material/block:")
    st.code(str(error) or type(error).__name__, language=None, wrap_lines=True)
