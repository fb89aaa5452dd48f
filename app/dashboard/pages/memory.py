"""The page Memory: what the HBM of each GPU role goes to, what fits into the rest, and what would make it fit."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st
import yaml

from app.dashboard import badges, state, tables
from app.dashboard.charts import looks_of, titled_chart
from app.dashboard.curves import ledger_of
from app.dashboard.headings import titled
from app.figures import memory as figures
from app.format import context, count, gib, gigabytes, percent
from simulator.physics.ledger import CONTEXTS_TOKENS, fits
from simulator.spec.deployment import Deployment
from simulator.spec.scenario import Scenario

Row = Mapping[str, Any]
CARD_PX, CHART_PX = 162, 330
"""Width of a card, two of which stand side by side on a phone; width below which one chart stands alone."""

ESTIMATED = (
    "The engine's own identity, from the catalog's models and memory rules; docs/concepts.md says how near it is."
)

REMEDIES = "what would fit: "
"""Where a ledger's reason begins to name ways out."""


def page() -> None:
    """Draw the page."""
    scenario = state.current()
    budget_gb, length = _controls(scenario)
    deployments = {name: with_budget(spec, budget_gb) for name, spec in scenario.deployments.items()}
    rows = ledger_of(deployments)
    _verdicts(rows, length)
    titled_chart("HBM of each GPU", figures.ledger_figure(rows), figures.ledger_alt(rows))
    st.caption("A grey tick ends what the engine may use, a red one the memory as CUDA shows it.")
    for row in rows:
        if not row["fits"]:
            _ways_out(row)
    below = st.grid(2, min_column_width=CHART_PX)
    with below.cell():
        sequences = figures.sequences_figure(rows, looks_of(scenario))
        titled_chart("Sequences at context", sequences, figures.sequences_alt(rows))
    with below.cell():
        st.markdown("**In figures**")
        tables.show(_table(rows))
        _budget(scenario, budget_gb)


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
            help="What a deployment may use of each GPU, in 10⁹ bytes; the engine's memory fraction holds beside it. "
            "All the way to the right: as the scenario says.",
        )  # fmt: skip
    with grid.cell():
        length = st.select_slider(
            "Context of a sequence [tokens]", CONTEXTS_TOKENS, 8192, format_func=context, key="memory_context",
            persist_state="session", help="Prompt and output together.",
        )  # fmt: skip
    return (None if budget > most else float(budget)), length


def _verdicts(rows: Sequence[Row], length: int) -> None:
    """Sequences at the chosen context, one card for each GPU role."""
    says = "KV blocks of a replica ÷ blocks of such a sequence; what is below holds all tokens of the replica's KV."
    estimated = badges.badge("estimated", "estimated", ESTIMATED)
    titled(f"Sequences of {context(length)} tokens that a replica holds at once", estimated)
    with st.container(horizontal=True):
        for row in rows:
            fit = row["fits"]
            st.metric(
                str(row["deployment"]), count(row["max_sequences_at"][length]) if fit else "none",
                f"{count(row['kv_tokens'])} KV tokens" if fit else f"{gib(row['shortfall_bytes'])} short",
                delta_color="off" if fit else "inverse", delta_arrow="off", border=True, help=says, width=CARD_PX,
            )  # fmt: skip


def _ways_out(row: Row) -> None:
    """Why a role does not fit, and the single changes after which it would."""
    why, _, ways = str(row["reason"]).partition(REMEDIES)
    st.error(f"{row['deployment']}: {why.strip('; ')}.", icon=":material/memory:")
    changes = [(way, change) for way in ways.split("; ") if (change := change_of(row["deployment"], way))]
    if not changes:
        st.write("No single change of split, KV, length, weights or draft makes it fit: change two of them.")
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("Any one of these makes it fit:")
        for way, change in changes:
            st.button(way, key=f"memory_{row['deployment']}_{way}", on_click=state.apply, args=(change,))


def change_of(deployment: str, way: str) -> dict[str, Any]:
    """The change of a scenario that a ledger's way out names; empty for a sentence that names none.

    >>> change_of("a", "target.kv fp8")
    {'deployments.a.target.kv': 'fp8'}
    >>> change_of("a", "no draft")
    {'deployments.a.speculation': {'kind': 'none'}}
    """
    if way == "no draft":
        return {f"deployments.{deployment}.speculation": {"kind": "none"}}
    path, space, value = way.rpartition(" ")
    return {f"deployments.{deployment}.{path}": yaml.safe_load(value)} if space and " " not in path else {}


def _table(rows: Sequence[Row]) -> list[dict[str, str]]:
    """The ledger's bytes, a column for each GPU role."""
    lines = [("HBM", "hbm_bytes"), ("usable", "usable_bytes"), *((name, field) for field, name, *_ in figures.PARTS)]
    table = [{"per GPU": name} | {row["deployment"]: gigabytes(row[field]) for row in rows} for name, field in lines]
    if any(row["kv_host_bytes"] for row in rows):
        table.append({"per GPU": "KV on the host"} | {row["deployment"]: _on_host(row) for row in rows})
    held = [("KV bytes per token", "kv_bytes_per_token"), ("KV bytes per sequence", "kv_bytes_per_sequence_fixed")]
    for name, field in held:
        if any(any(row[field].values()) for row in rows):
            table.append({"per GPU": name} | {row["deployment"]: _split(row[field]) for row in rows})
    return table


def _on_host(row: Row) -> str:
    """Room on the host, and the share of every sequence that lies there."""
    return f"{gigabytes(row['kv_host_bytes'])}, {percent(row['kv_host_share'])} of the target's KV"


def _split(held: Mapping[str, int]) -> str:
    """Bytes of target and drafts together, and the drafts' share."""
    target, draft = held["target"], held["draft"]
    return f"{count(target + draft)}" + (f", {percent(draft / (target + draft))} draft" if draft else "")


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
