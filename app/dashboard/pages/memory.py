"""The page Memory: what the HBM of each GPU role goes to, what fits into the rest, and what would make it fit."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st
import yaml

from app.dashboard import badges, state, tables
from app.dashboard.charts import looks_of
from app.dashboard.computed import LEDGER, How
from app.dashboard.curves import ledger_of
from app.dashboard.explained import as_csv, beside, explained
from app.dashboard.headings import titled
from app.dashboard.kv_view import kv_of_one
from app.dashboard.terms import tip
from app.figures import memory as figures
from app.figures.names import short
from app.format import Formatter, context, count, gib, gigabytes, percent, significant
from simulator.physics.ledger import CONTEXTS_TOKENS, fits
from simulator.spec.deployment import Deployment
from simulator.spec.scenario import Scenario

Row = Mapping[str, Any]
CARD_PX, CHART_PX = 162, 330
"""Width of a card, two of which stand side by side on a phone; width below which one chart stands alone."""
CARD_LETTERS = 24
"""Letters of a name that a card has room for."""

ESTIMATED = (
    "The engine's own identity, from the catalog's models and memory rules; docs/concepts.md says how near it is."
)

NONE_HELD = "No sequence has room at any of these contexts: above stands what is lacking."
"""In place of a figure."""

REMEDIES = "what would fit: "
"""Where a ledger's reason begins to name ways out."""

FORMULAS = {
    "ledger": "usable = memory fraction × what CUDA shows, or the budget; KV = usable − weights − activations − "
    "runtime, in whole blocks; the fullest GPU of each role",
    "sequences": "KV blocks of a replica ÷ blocks of a sequence of that length, those of its drafts included",
}
"""Figure → how its numbers follow, in words."""


def page() -> None:
    """Draw the page."""
    scenario = state.current()
    budget_gb, length = _controls(scenario)
    deployments = {name: with_budget(spec, budget_gb) for name, spec in scenario.deployments.items()}
    rows = ledger_of(deployments)
    _verdicts(rows, length)
    shown, alt = figures.ledger_figure(rows), figures.ledger_alt(rows)
    explained("HBM of each GPU", shown, alt, _how("ledger"), rows=rows)
    st.caption(
        "A grey tick ends what the engine may use, a red one the memory as CUDA shows it; what lies beyond that is on "
        "the host."
    )
    for row in rows:
        if not row["fits"]:
            _ways_out(row)
    below = st.grid(2, min_column_width=CHART_PX)
    with below.cell():
        sequences, alt = figures.sequences_figure(rows, looks_of(scenario)), figures.sequences_alt(rows)
        explained("Sequences at context", sequences, alt, _how("sequences"), empty=NONE_HELD)
    with below.cell():
        st.markdown("**In figures**")
        tables.show(_table(rows, length))
        beside("HBM in figures", _how("ledger"), lambda: as_csv(rows))
        _budget(scenario, budget_gb)
    kv_of_one(scenario, scenario.model_copy(update={"deployments": deployments}), length)


def _how(figure: str) -> How:
    return [("Formula", FORMULAS[figure]), ("Method", LEDGER), ("Basis", ESTIMATED)]


def with_budget(spec: Deployment, budget_gb: float | None) -> Deployment:
    """A deployment that may use so many GB of each GPU; None: what its file says."""
    if budget_gb is None:
        return spec
    return spec.model_copy(update={"engine": spec.engine.model_copy(update={"hbm_budget_gb": budget_gb})})


def smallest_budget_gb(spec: Deployment) -> int | None:
    """Smallest whole budget with which a deployment fits; None where even all of the HBM does not do [10^9 bytes]."""
    low, high = 0, int(ledger_of({"any": spec})[0]["hbm_bytes"] / 1e9) + 1
    if not fits(with_budget(spec, float(high))):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(with_budget(spec, float(middle))) else (middle, high)
    return high


def _controls(scenario: Scenario) -> tuple[float | None, int]:
    """The budget that is tried [10^9 bytes], and the context that is counted."""
    most = max(row["hbm_bytes"] for row in ledger_of(scenario.deployments)) / 1e9
    grid = st.grid(2, min_column_width=240, gap=("small", "large"))
    with grid.cell():
        budget = st.slider(
            "HBM budget per GPU [GB]", 10, int(most) + 1, int(most) + 1, 1, key=f"memory_budget_{int(most)}",
            persist_state="session",
            help=tip("hbm-budget", "All the way to the right: as the scenario says."),
        )  # fmt: skip
    with grid.cell():
        length = st.select_slider(
            "Context of a sequence [tokens]", CONTEXTS_TOKENS, 8192, format_func=context, key="memory_context",
            persist_state="session", help=tip("context"),
        )  # fmt: skip
    return (None if budget > most else float(budget)), length


def _verdicts(rows: Sequence[Row], length: int) -> None:
    """Sequences at the chosen context, one card for each GPU role."""
    says = tip("sequences-at-context", "Below it, the tokens that all KV of the replica holds.")
    estimated = badges.badge("estimated", "estimated", ESTIMATED)
    titled(f"Sequences of {context(length)} tokens that a replica holds at once", estimated)
    with st.container(horizontal=True):
        for row, name in zip(rows, short([column(row) for row in rows], CARD_LETTERS), strict=True):
            fit = row["fits"]
            st.metric(
                name, count(row["max_sequences_at"][length]) if fit else "none",
                f"{count(row['kv_tokens'])} KV tokens" if fit else f"{gib(row['shortfall_bytes'])} short",
                delta_color="off" if fit else "inverse", delta_arrow="off", border=True, help=says, width=CARD_PX,
            )  # fmt: skip


def _ways_out(row: Row) -> None:
    """Why a role does not fit, and the single changes after which it would."""
    why, _, ways = str(row["reason"]).partition(REMEDIES)
    st.error(f"{column(row)}: {why.strip('; ')}.", icon=":material/memory:")
    changes = [(way, change) for way in ways.split("; ") if (change := change_of(row["deployment"], way))]
    if not changes:
        st.write("No single change of split, KV, length, weights or draft makes it fit: change two of them.")
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("Any one of these makes it fit:")
        for way, change in changes:
            st.button(way, key=f"memory_{column(row)}_{way}", on_click=state.apply, args=(change,))


def change_of(deployment: str, way: str) -> dict[str, Any]:
    """The change of a scenario that a ledger's way out names; empty for a sentence that names none.

    >>> change_of("a", "target.kv fp8")
    {'deployments.a.target.kv': 'fp8'}
    >>> change_of("a", "placement.gpus 4")
    {'deployments.a.speculation.placement.gpus': 4}
    >>> change_of("a", "no draft")
    {'deployments.a.speculation': {'kind': 'none'}}
    """
    if way == "no draft":
        return {f"deployments.{deployment}.speculation": {"kind": "none"}}
    path, space, value = way.rpartition(" ")
    path = f"speculation.{path}" if path.startswith("placement.") else path
    return {f"deployments.{deployment}.{path}": yaml.safe_load(value)} if space and " " not in path else {}


def column(row: Row) -> str:
    """Name of a GPU role: the deployment's, but for GPUs of the drafts alone."""
    return f"{row['deployment']}, draft GPUs" if row["role"] == "draft" else str(row["deployment"])


def _table(rows: Sequence[Row], length: int) -> list[dict[str, str]]:
    """The ledger's bytes, a column for each GPU role."""
    lines = [("HBM", "hbm_bytes"), ("usable", "usable_bytes"), *((name, field) for field, name, *_ in figures.PARTS)]
    table = [{"per GPU": name} | {column(row): gigabytes(row[field]) for row in rows} for name, field in lines]
    if any(row["kv_host_bytes"] for row in rows):
        table.append({"per GPU": "KV on the host"} | {column(row): _on_host(row) for row in rows})
    of_one = {column(row): _split(sequence_bytes(row, length), _megabytes) for row in rows}
    table.append({"per GPU": f"KV of {context(length)} tokens"} | of_one)
    held = [("KV bytes per token", "kv_bytes_per_token"), ("KV bytes per sequence", "kv_bytes_per_sequence_fixed")]
    for name, field in held:
        if any(any(row[field].values()) for row in rows):
            table.append({"per GPU": name} | {column(row): _split(row[field]) for row in rows})
    return table


def sequence_bytes(row: Row, length: int) -> dict[str, int]:
    """KV of a sequence on this GPU and its host, windows counted as full, by `target` and `draft` [bytes]."""
    growing, fixed = row["kv_bytes_per_token"], row["kv_bytes_per_sequence_fixed"]
    return {whose: growing[whose] * length + fixed[whose] for whose in ("target", "draft")}


def _megabytes(num_bytes: float | None) -> str:
    """Bytes in MB of 10^6.

    >>> _megabytes(671_088_640)
    '671 MB'
    """
    return f"{significant(None if num_bytes is None else num_bytes / 1e6)} MB"


def _on_host(row: Row) -> str:
    """Room on the host, and the share of every sequence that lies there."""
    return f"{gigabytes(row['kv_host_bytes'])}, {percent(row['kv_host_share'])} of the target's KV"


def _split(held: Mapping[str, int], show: Formatter = count) -> str:
    """Bytes of target and drafts together, and the drafts' share."""
    target, draft = held["target"], held["draft"]
    return show(target + draft) + (f", {percent(draft / (target + draft))} draft" if draft else "")


def _budget(scenario: Scenario, budget_gb: float | None) -> None:
    """The smallest budgets that still fit, and the button that takes the tried one into the scenario."""
    least = {name: smallest_budget_gb(spec) for name, spec in scenario.deployments.items()}
    said = "; ".join(
        f"{name} {'at none' if least_gb is None else f'{least_gb} GB'}" for name, least_gb in least.items()
    )
    st.caption(f"Smallest budget that still holds one sequence of the longest length: {said}.")
    if budget_gb is not None:
        changes = {f"deployments.{name}.engine.hbm_budget_gb": budget_gb for name in scenario.deployments}
        st.button(
            f"Take {budget_gb:g} GB into the scenario", key="memory_adopt", icon=":material/check:",
            on_click=state.apply, args=(changes,),
            help="Sets engine.hbm_budget_gb of every deployment; Compare and Load follow.",
        )  # fmt: skip
