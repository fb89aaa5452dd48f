"""The controls of the page Speculation: they ask what if, and edit nothing."""

import streamlit as st

from app.dashboard.answers import answer
from app.dashboard.curves import grid_of
from app.dashboard.speculation import kept
from app.dashboard.speculation_inputs import Choice, Ratios, View, draft_of, own_choice, tried
from app.dashboard.terms import tip
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
"""Changes of acceptance per position that the slider goes to, and as far as the deployment's own."""


def deployment(scenario: Scenario) -> str:
    """The deployment whose step times the maps are made of; at first the last that speculates."""
    names = list(scenario.deployments)
    drafting = [name for name in names if scenario.deployments[name].speculation.kind != "none"]
    found: str = kept.choice(
        "Deployment", "deployment", names, (drafting or names)[-1],
        help=tip("deployment", "The figures are made of the step times of this one."),
    )  # fmt: skip
    return found


def controls(scenario: Scenario, name: str) -> View:
    """All sliders; at first where the deployment itself stands."""
    draft = _one_draft(scenario, name)
    own = own_choice(scenario, name, draft)
    of = f"{name} {draft or ''} {own}"
    grid = st.grid(3, min_column_width=220, gap=("small", "medium"))
    with grid.cell():
        first, change = _acceptance(own, of)
    with grid.cell():
        draft_tokens = kept.slider(
            "Draft tokens K", "k", own.draft_tokens, (1, MOST_DRAFT_TOKENS), 1, of=of, help=tip("draft-tokens-k"),
        )  # fmt: skip
        sequences, limit_s = _load(scenario, name, draft, own, of)
    with grid.cell():
        ratios = _costs(scenario, name, draft, own, of)
    st.caption(f"{_as_a_chain(scenario, name)}What if: the scenario stays as it is until you take something into it.")
    return View(name, draft, Choice(first, change, draft_tokens, ratios), sequences, limit_s)


def _one_draft(scenario: Scenario, name: str) -> str | None:
    """Of several drafts the one that is looked at."""
    drafts = list(scenario.deployments[name].speculation.drafts)
    if len(drafts) < 2:
        return None
    found: str = kept.choice("Draft", f"draft_{name}", drafts, drafts[0], help="Each is looked at as if it were alone.")
    return found


def _as_a_chain(scenario: Scenario, name: str) -> str:
    """What the page leaves out of how a deployment speculates."""
    speculation = scenario.deployments[name].speculation
    if not isinstance(speculation, DraftSpeculation):
        return ""
    if speculation.combine.kind == "single" and speculation.propose.shape == "chain":
        return ""
    words = speculation_words(speculation)
    return f"{name} has {words}; your point is one draft and a chain, Ways to draft has all of it. "


def _acceptance(own: Choice, of: str) -> tuple[float, float]:
    """Acceptance of the first position, and its change from one to the next."""
    first = kept.slider(
        "Acceptance of the first draft token", "first", own.first, (0.0, 1.0), 0.01, of=of,
        help=tip("acceptance", "β₁, of the first draft token."),
    )  # fmt: skip
    ends = min(CHANGES[0], own.change), max(CHANGES[1], own.change)
    change = kept.slider(
        "Change per position", "change", own.change, ends, 0.01, of=of, help=tip("change-per-position")
    )
    return first, change


def _load(scenario: Scenario, name: str, draft: str | None, own: Choice, of: str) -> tuple[float, float | None]:
    """Sequences in flight, and the limit within which cost is sought."""
    grid = grid_of(tried(scenario, name, own.ratios, draft_name=draft), name)
    sizes = [int(size) for size in grid.sequences if size <= max(grid.places[0], 1)]
    row = next((row for row in answer().rows if row["deployment"] == name), {})
    near = min(sizes, key=lambda size: abs(size - (row.get("mean_batch") or 8.0)))
    sequences = kept.select_slider(
        "Sequences in flight per replica", "sequences", sizes, near, of=of,
        help=tip("sequences-in-flight", "At first as many as the estimate finds at the offered load."),
    )  # fmt: skip
    stated = limits_of(scenario.slo).get("tpot_s", {})
    if not stated:
        return float(sequences), None
    limit_s = stated[max(stated)]
    where = kept.segments(
        "Cost by acceptance at", "at", (HERE, AT_TARGET), AT_TARGET, of=of,
        help=tip("tpot", f"The target: the cheapest batch whose mean TPOT stays within {limit(limit_s)}."),
    )  # fmt: skip
    return float(sequences), limit_s if where == AT_TARGET else None


def _costs(scenario: Scenario, name: str, draft: str | None, own: Choice, of: str) -> Ratios | None:
    """The draft's costs: of its model, or two ratios."""
    speculation = scenario.deployments[name].speculation
    modelled = own.ratios is None
    model = draft_words(draft_of(speculation, draft)) if isinstance(speculation, DraftSpeculation) else ""
    options = (MODELLED, BY_RATIO) if modelled else (BY_RATIO,)
    chosen = kept.segments(
        "Draft costs by", "costs", options, options[0], of=of,
        format_func=lambda option: model if option == MODELLED else option,
        help="A modelled draft's latency is measured; by ratios any draft can be tried.",
    )  # fmt: skip
    at = own.ratios or _modelled(scenario, name, draft)
    latency = kept.select_slider(
        "Latency ratio, draft pass ÷ plain step", "latency", _with(LATENCY_RATIOS, at.latency), at.latency, of=of,
        disabled=chosen == MODELLED, format_func=significant,
        help=tip("latency-ratio"),
    )  # fmt: skip
    flops = kept.select_slider(
        "FLOP ratio, draft ÷ target per token", "flops", _with(FLOPS_RATIOS, at.flops), at.flops, of=of,
        disabled=chosen == MODELLED, format_func=significant,
        help=tip("flop-ratio", "It prices the prompts that the draft reads, and the operations that a token takes."),
    )  # fmt: skip
    return None if chosen == MODELLED else Ratios(flops, latency)


def _modelled(scenario: Scenario, name: str, draft: str | None) -> Ratios:
    """What the two ratios of a modelled draft are, at a small batch."""
    grid = grid_of(tried(scenario, name, None, draft_name=draft), name)
    return Ratios(float(f"{grid.flops_ratio:.2g}"), float(f"{grid.latency_ratio[0]:.2g}"))


def _with(options: tuple[float, ...], value: float) -> list[float]:
    return sorted({*options, value})
