"""The section of the page Speculation that asks whether one draft pays, and where that ends."""

import numpy as np
import streamlit as st

from app.dashboard import badges, tables
from app.dashboard.curves import grid_of
from app.dashboard.explained import as_csv, beside, explained
from app.dashboard.headings import titled
from app.dashboard.speculation.shown import how_of
from app.dashboard.speculation_inputs import View, tried
from app.dashboard.terms import tip
from app.figures import speculation as figures
from app.figures.speculation import GainLine, GainMap
from app.figures.style import looks
from app.format import limit, percent, plural, signed, significant, times, usd
from simulator.errors import SimulatorError
from simulator.physics.acceptance import constant_acceptance, operation_factor
from simulator.planning import speculation_gain as gain
from simulator.planning.speculation_gain import Floats, SpeculationGrid, tokens_by_draft
from simulator.spec.scenario import Scenario

ACCEPTANCES = tuple(round(0.3 + 0.05 * step, 2) for step in range(14))
"""Rows of the maps over acceptance."""

ESTIMATED = "From the step times of a replica that always holds so many sequences, whatever has been simulated."

SPEEDUP = (
    "X(K) ÷ X(0), X = n·L ÷ ((L − 1) ÷ Ω·T(n, K) + n·Δ(n, K)): n sequences in flight, L output tokens, Ω = 1 + ΣS "
    "tokens per step, T a step with K passes of the draft, Δ what a prompt adds"
)
COST = f"replica $/h ÷ 3,600 ÷ X × 10⁶; speed-up = {SPEEDUP}"

CARD_PX, CHART_PX = 162, 330
"""Width of a figure, two of which stand side by side on a phone; width below which one map stands alone."""


def section(scenario: Scenario, view: View) -> None:
    """Draw the section."""
    grid = grid_of(tried(scenario, view.name, view.choice.ratios, draft_name=view.draft), view.name)
    tokens = tokens_by_draft(view.choice.survival)
    _answer(grid, tokens, view)
    _maps(scenario, grid, tokens, view)
    below = st.grid(2, min_column_width=CHART_PX)
    with below.cell():
        _pays(scenario, tokens, view)
    with below.cell():
        _schedule(scenario, grid, tokens, view)


def _answer(grid: SpeculationGrid, tokens: Floats, view: View) -> None:
    """The reader's own point in figures."""
    k, here = view.choice.draft_tokens, grid.at(np.array([view.sequences]))
    speedup, cost = gain.speedup(here, tokens)[0, k], gain.usd_per_million(here, tokens)[0]
    beta = gain.survival_by_change(view.choice.first, view.choice.change, k)
    alike = constant_acceptance(tokens[k], k)
    operations = operation_factor(alike, k, grid.flops_ratio)
    titled("At your point", badges.badge("estimated", "estimated", ESTIMATED))
    with st.container(horizontal=True):
        faster = times(speedup) if np.isfinite(speedup) else "no place"
        _metric("Speed-up", faster, tip("speed-up"))
        _metric("$/M output", usd(cost[k]), tip("m-output", "Of one replica."),
                f"{signed(cost[k] / cost[0] - 1)} against plain")  # fmt: skip
        _metric("Tokens per step", significant(tokens[k]), tip("tokens-per-step", f"Over {k} positions."))
        _metric(
            "Draft pass ÷ plain step",
            significant(here.latency_ratio[0]),
            tip("latency-ratio", "At this batch and context."),
        )
        _metric("Operations per token", times(operations), tip("operations-per-token", "Leviathan et al., 2023."))
    up_to = gain.pays_up_to(grid, tokens, k)
    best = int(np.nanargmax(gain.output_tokens_per_s(here, tokens)[0]))
    said = f"K = {k} {figures.pays(up_to)}; with {plural(int(view.sequences), 'sequence')} the fastest K is {best}."
    whose = view.name if view.draft is None else f"{view.name} with {view.draft} alone"
    st.markdown(f"**{whose}**: {said} S₁ … S_K: {', '.join(percent(value) for value in beta)}.")


def _metric(label: str, value: str, says: str, delta: str | None = None) -> None:
    st.metric(label, value, delta, delta_color="inverse", help=says, width=CARD_PX)


def _maps(scenario: Scenario, grid: SpeculationGrid, tokens: Floats, view: View) -> None:
    by_acceptance = [
        tokens_by_draft(gain.survival_by_change(first, view.choice.change, gain.MOST_DRAFT_TOKENS))
        for first in ACCEPTANCES
    ]
    here = grid.at(np.array([view.sequences]))
    where = plural(int(view.sequences), "sequence")
    if view.limit_s is None:
        costs, at = [gain.usd_per_million(here, one)[0] for one in by_acceptance], f"{where} in flight"
    else:
        costs = [gain.usd_per_million_within(grid, one, view.limit_s) for one in by_acceptance]
        at = f"cheapest batch, mean TPOT ≤ {limit(view.limit_s)}"
    acceptance = GainMap(
        "acceptance of the first draft token", ACCEPTANCES,
        np.array([gain.speedup(here, one)[0] for one in by_acceptance]),
        view.choice.first, view.choice.draft_tokens, f"output tokens/s ÷ plain, {where} in flight",
    )  # fmt: skip
    batch = GainMap(
        "sequences in flight", grid.sequences.tolist(), gain.speedup(grid, tokens), view.sequences,
        view.choice.draft_tokens, "output tokens/s ÷ plain with as many sequences",
    )  # fmt: skip
    cost = acceptance._replace(values=np.array(costs), says=f"replica $/h ÷ output tokens/s, {at}")
    batch_cost = batch._replace(values=gain.usd_per_million(grid, tokens), says="replica $/h ÷ output tokens/s")
    maps = st.grid(2, min_column_width=CHART_PX)
    for title, says, table, label in (
        ("Speed-up by acceptance", f"{where} in flight", acceptance, times),
        ("$/M output by acceptance", at, cost, usd),
        ("Speed-up by batch", "", batch, times),
        ("$/M output by batch", "", batch_cost, usd),
    ):
        draw = figures.speedup_map if label is times else figures.cost_map
        with maps.cell():
            how = how_of(scenario, view.name, SPEEDUP if label is times else COST)
            explained(title, draw(table), figures.map_alt(table, title, label), how, says=says, rows=map_rows(table))
    st.caption(
        "The star is your point. An empty cell has no place for so many sequences. Every step proposes K tokens; later "
        "positions follow by the change per position. Queues, and the spread of acceptance over requests, are left to "
        "Load and Compare."
    )


def map_rows(table: GainMap) -> list[dict[str, float]]:
    """A row for each cell of a map, unrounded."""
    return [
        {table.row_title: row, "draft tokens K": k, "value": value}
        for row, values in zip(table.rows, table.values.tolist(), strict=True)
        for k, value in enumerate(values)
    ]


def _pays(scenario: Scenario, tokens: Floats, view: View) -> None:
    """Speed-up against the batch, one line for each GPU type."""
    shown = _one_each(scenario, view.name)
    drawn_as = looks({name: (gpu, True) for gpu, name in shown.items()})
    lines = []
    for gpu, name in shown.items():
        try:
            lender = _lender(scenario, name, view.name)
            grid = grid_of(tried(scenario, name, view.choice.ratios, lender, view.draft), name)
        except SimulatorError:
            st.caption(f"{name} is not drawn: with a draft it does not fit on {gpu}.")
            continue
        speedup = gain.speedup(grid, tokens)
        up_to = gain.pays_up_to(grid, tokens, view.choice.draft_tokens)
        chosen, best = speedup[:, view.choice.draft_tokens], np.nanmax(np.nan_to_num(speedup, nan=1.0), axis=1)
        lines.append(GainLine(name, drawn_as[name], grid.sequences.tolist(), chosen.tolist(), best.tolist(), up_to))
    if lines:
        k = view.choice.draft_tokens
        how = how_of(scenario, view.name, SPEEDUP)
        explained("Where it stops paying", figures.pays_figure(lines, k), figures.pays_alt(lines, k), how)


def _one_each(scenario: Scenario, chosen: str) -> dict[str, str]:
    """GPU → the deployment that stands for it: the chosen one, else the first with a draft, else the first."""
    found = {scenario.deployments[chosen].gpu: chosen}
    drafting = [name for name, d in scenario.deployments.items() if d.speculation.kind != "none"]
    for name in (*drafting, *scenario.deployments):
        found.setdefault(scenario.deployments[name].gpu, name)
    return {d.gpu: found[d.gpu] for d in scenario.deployments.values()}


def _lender(scenario: Scenario, name: str, chosen: str) -> str:
    """Whose draft a deployment takes: its own, or that of the chosen one where it has none."""
    return name if scenario.deployments[name].speculation.drafts else chosen


def _schedule(scenario: Scenario, grid: SpeculationGrid, tokens: Floats, view: View) -> None:
    st.markdown("**Fastest K by batch**")
    sizes = grid.sequences[grid.sequences <= grid.places[0]].tolist()
    runs = figures.schedule(sizes, gain.best_draft_tokens(grid, tokens))
    rows = [{"sequences in flight": _range(low, high), "fastest K": f"{k}"} for low, high, k in runs]
    tables.show(rows)
    beside("Fastest K by batch", how_of(scenario, view.name, f"the K with the most X; {SPEEDUP}"), lambda: as_csv(rows))


def _range(low: int, high: int) -> str:
    return f"{low} to {high}" if high > low else f"{low}"
