"""The controls of the page Speculation: they ask what if, and edit nothing."""

from typing import NamedTuple

import streamlit as st

from app.dashboard.answers import answer
from app.dashboard.curves import grid_of
from app.dashboard.speculation_inputs import Choice, Ratios, draft_of, own_choice, tried
from app.format import limit, significant
from app.tables.figures import limits_of
from simulator.planning.draft_words import draft_words, speculation_words
from simulator.planning.speculation_gain import MOST_DRAFT_TOKENS
from simulator.spec.scenario import Scenario
from simulator.spec.speculation import DraftSpeculation

LATENCY_RATIOS = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 1.0)
FLOPS_RATIOS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0)
MODELLED, BY_RATIO = "its model", "two ratios"
HERE, AT_TARGET = "this batch", "TPOT target"
CHANGES = (0.7, 1.3)
"""Changes of acceptance per position that the slider goes to."""


class View(NamedTuple):
    """What the controls ask for."""

    name: str
    draft: str | None
    """Which of the deployment's drafts is looked at; None: it has none, or a single one."""
    choice: Choice
    sequences: float
    limit_s: float | None
    """Time per output token within which the map of cost looks for the cheapest batch; None: at the sequences."""


def deployment(scenario: Scenario) -> str:
    """The deployment whose step times the maps are made of; at first the last that speculates."""
    names = list(scenario.deployments)
    drafting = [name for name in names if scenario.deployments[name].speculation.kind != "none"]
    return st.selectbox(
        "Deployment", names, index=names.index((drafting or names)[-1]), key=f"speculation_{'_'.join(names)}",
        help="Whose step times the maps are made of.",
    )  # fmt: skip


def controls(scenario: Scenario, name: str) -> View:
    """All sliders; at first where the deployment itself stands."""
    draft = _one_draft(scenario, name)
    own = own_choice(scenario, name, draft)
    key = f"speculation_{name}_{draft or ''}{own}"
    grid = st.grid(3, min_column_width=220, gap=("small", "medium"))
    with grid.cell():
        first, change = _acceptance(own, key)
    with grid.cell():
        draft_tokens = st.slider(
            "Draft tokens K", 1, MOST_DRAFT_TOKENS, own.draft_tokens, key=f"{key}_k", persist_state="session",
        )  # fmt: skip
        sequences, limit_s = _load(scenario, name, draft, own, key)
    with grid.cell():
        ratios = _costs(scenario, name, draft, own, key)
    st.caption(
        f"{_as_a_chain(scenario, name)}What if: the scenario stays as it is until you take this point into it, below."
    )
    return View(name, draft, Choice(first, change, draft_tokens, ratios), sequences, limit_s)


def _one_draft(scenario: Scenario, name: str) -> str | None:
    """Of several drafts the one that is looked at."""
    drafts = list(scenario.deployments[name].speculation.drafts)
    if len(drafts) < 2:
        return None
    return st.selectbox("Draft", drafts, key=f"speculation_draft_{name}", help="Each is looked at as if it were alone.")


def _as_a_chain(scenario: Scenario, name: str) -> str:
    """What the page leaves out of how a deployment speculates."""
    speculation = scenario.deployments[name].speculation
    if not isinstance(speculation, DraftSpeculation):
        return ""
    if speculation.combine.kind == "single" and speculation.propose.shape == "chain":
        return ""
    return f"{name} has {speculation_words(speculation)}; this page looks at one draft and a chain. "


def _acceptance(own: Choice, key: str) -> tuple[float, float]:
    """Acceptance of the first position, and its change from one to the next."""
    first = st.slider(
        "Acceptance of the first draft token", 0.0, 1.0, own.first, 0.01, key=f"{key}_first",
        persist_state="session",
        help="Conditional acceptance β₁: the chance that the target keeps the first token of a draft.",
    )  # fmt: skip
    change = st.slider(
        "Change per position", *CHANGES, min(max(own.change, CHANGES[0]), CHANGES[1]), 0.01, key=f"{key}_change",
        persist_state="session",
        help="β of a position ÷ β of the one before. 1: always alike; measured drafts mostly lie below.",
    )  # fmt: skip
    return first, change


def _load(scenario: Scenario, name: str, draft: str | None, own: Choice, key: str) -> tuple[float, float | None]:
    """Sequences in flight, and the limit within which cost is sought."""
    grid = grid_of(tried(scenario, name, own.ratios, draft_name=draft), name)
    sizes = [int(size) for size in grid.sequences if size <= max(grid.places[0], 1)]
    row = next((row for row in answer().rows if row["deployment"] == name), {})
    near = min(sizes, key=lambda size: abs(size - (row.get("mean_batch") or 8.0)))
    sequences = st.select_slider(
        "Sequences in flight per replica", sizes, near, key=f"{key}_n_{near}", persist_state="session",
        help="The batch. At first the one that the estimate finds at the offered load.",
    )  # fmt: skip
    stated = limits_of(scenario.slo).get("tpot_s", {})
    if not stated:
        return float(sequences), None
    limit_s = stated[max(stated)]
    where = st.segmented_control(
        "Cost by acceptance at", (HERE, AT_TARGET), default=AT_TARGET, required=True, key=f"{key}_at",
        persist_state="session", help=f"The target: the cheapest batch whose mean TPOT stays within {limit(limit_s)}.",
    )  # fmt: skip
    return float(sequences), limit_s if where == AT_TARGET else None


def _costs(scenario: Scenario, name: str, draft: str | None, own: Choice, key: str) -> Ratios | None:
    """The draft's costs: of its model, or two ratios."""
    speculation = scenario.deployments[name].speculation
    modelled = own.ratios is None
    model = draft_words(draft_of(speculation, draft)) if isinstance(speculation, DraftSpeculation) else ""
    options = (MODELLED, BY_RATIO) if modelled else (BY_RATIO,)
    chosen = st.segmented_control(
        "Draft costs by", options, default=options[0], required=True, key=f"{key}_costs", persist_state="session",
        format_func=lambda option: model if option == MODELLED else option,
        help="A modelled draft's latency is measured; by ratios any draft can be tried.",
    )  # fmt: skip
    at = own.ratios or _modelled(scenario, name, draft)
    latency = st.select_slider(
        "Latency ratio, draft pass ÷ plain step", _with(LATENCY_RATIOS, at.latency), at.latency, key=f"{key}_latency",
        disabled=chosen == MODELLED, persist_state="session", format_func=significant,
        help="Measure it: small models are bound by launches, so it is not the FLOP ratio.",
    )  # fmt: skip
    flops = st.select_slider(
        "FLOP ratio, draft ÷ target per token", _with(FLOPS_RATIOS, at.flops), at.flops, key=f"{key}_flops",
        disabled=chosen == MODELLED, persist_state="session", format_func=significant,
        help="Prices the draft's own prefill, and the operations that a token takes.",
    )  # fmt: skip
    return None if chosen == MODELLED else Ratios(flops, latency)


def _modelled(scenario: Scenario, name: str, draft: str | None) -> Ratios:
    """What the two ratios of a modelled draft are, at a small batch."""
    grid = grid_of(tried(scenario, name, None, draft_name=draft), name)
    return Ratios(float(f"{grid.flops_ratio:.2g}"), float(f"{grid.latency_ratio[0]:.2g}"))


def _with(options: tuple[float, ...], value: float) -> list[float]:
    return sorted({*options, value})
