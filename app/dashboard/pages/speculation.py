"""The page Speculation: where a draft pays, by its acceptance, its cost, its length and the batch."""

import numpy as np
import streamlit as st

from app.dashboard import badges, state, tables
from app.dashboard.charts import titled_chart
from app.dashboard.curves import grid_of
from app.dashboard.headings import titled
from app.dashboard.speculation_controls import View, controls, deployment
from app.dashboard.speculation_inputs import adopted, tried
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

CARD_PX, CHART_PX = 162, 330
"""Width of a figure, two of which stand side by side on a phone; width below which one map stands alone."""


def page() -> None:
    """Draw the page."""
    scenario = state.current()
    name = deployment(scenario)
    try:
        with st.container(border=True):
            view = controls(scenario, name)
        grid = grid_of(tried(scenario, name, view.choice.ratios, draft_name=view.draft), name)
    except SimulatorError as error:
        st.error("With this draft the deployment does not fit: see Memory.", icon=":material/memory:")
        st.code(str(error), language=None, wrap_lines=True)
        return
    tokens = tokens_by_draft(view.choice.survival)
    _answer(grid, tokens, view)
    _maps(grid, tokens, view)
    below = st.grid(2, min_column_width=CHART_PX)
    with below.cell():
        _pays(scenario, tokens, view)
    with below.cell():
        _schedule(grid, tokens)
        _adopt(scenario, view)


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
        _metric("Speed-up", faster, "Output tokens/s ÷ those without a draft, with as many sequences.")
        _metric("$/M output", usd(cost[k]), "Replica $/h ÷ 3,600 ÷ output tokens/s × 10⁶.",
                f"{signed(cost[k] / cost[0] - 1)} against plain")  # fmt: skip
        _metric("Tokens per step", significant(tokens[k]), f"1 + ΣS over {k} positions, Sᵢ = β₁·…·βᵢ.")
        _metric("Draft pass ÷ plain step", significant(here.latency_ratio[0]), "Time, at this batch and context.")
        _metric("Operations per token", times(operations), "(K·ĉ + K + 1) ÷ Ω (Leviathan 2023): never below 1.")
    up_to = gain.pays_up_to(grid, tokens, k)
    best = int(np.nanargmax(gain.output_tokens_per_s(here, tokens)[0]))
    said = f"K = {k} {figures.pays(up_to)}; with {plural(int(view.sequences), 'sequence')} the fastest K is {best}."
    whose = view.name if view.draft is None else f"{view.name} with {view.draft} alone"
    st.markdown(f"**{whose}**: {said} S₁ … S_K: {', '.join(percent(value) for value in beta)}.")


def _metric(label: str, value: str, says: str, delta: str | None = None) -> None:
    st.metric(label, value, delta, delta_color="inverse", help=says, width=CARD_PX)


def _maps(grid: SpeculationGrid, tokens: Floats, view: View) -> None:
    by_acceptance = [
        tokens_by_draft(gain.survival_by_change(first, view.choice.change, gain.MOST_DRAFT_TOKENS))
        for first in ACCEPTANCES
    ]
    here = grid.at(np.array([view.sequences]))
    where = plural(int(view.sequences), "sequence")
    if view.limit_s is None:
        costs, at = [gain.usd_per_million(here, one)[0] for one in by_acceptance], f"with {where} in flight"
    else:
        costs = [gain.usd_per_million_within(grid, one, view.limit_s) for one in by_acceptance]
        at = f"at the cheapest batch with mean TPOT ≤ {limit(view.limit_s)}"
    acceptance = GainMap(
        "acceptance of the first draft token", ACCEPTANCES,
        np.array([gain.speedup(here, one)[0] for one in by_acceptance]),
        view.choice.first, view.choice.draft_tokens, f"output tokens/s ÷ plain, {where} in flight",
    )  # fmt: skip
    batch = GainMap(
        "sequences in flight", grid.sequences.tolist(), gain.speedup(grid, tokens), view.sequences,
        view.choice.draft_tokens, "output tokens/s ÷ plain with as many sequences",
    )  # fmt: skip
    cost = acceptance._replace(values=np.array(costs), says=f"replica $/h ÷ output tokens/s {at}")
    batch_cost = batch._replace(values=gain.usd_per_million(grid, tokens), says="replica $/h ÷ output tokens/s")
    maps = st.grid(2, min_column_width=CHART_PX)
    for title, table, label in (
        ("Speed-up by acceptance", acceptance, times),
        ("$/M output by acceptance", cost, usd),
        ("Speed-up by batch", batch, times),
        ("$/M output by batch", batch_cost, usd),
    ):
        draw = figures.speedup_map if label is times else figures.cost_map
        with maps.cell():
            titled_chart(title, draw(table), figures.map_alt(table, title, label), table.says)
    st.caption(
        "The star is your point. An empty cell has no place for so many sequences. Every step proposes K tokens; later "
        "positions follow by the change per position. Queues, and the spread of acceptance over requests, are left to "
        "Load and Compare."
    )


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
        titled_chart("Where it stops paying", figures.pays_figure(lines, k), figures.pays_alt(lines, k))


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


def _schedule(grid: SpeculationGrid, tokens: Floats) -> None:
    st.markdown("**Fastest K by batch**")
    sizes = grid.sequences[grid.sequences <= grid.places[0]].tolist()
    runs = figures.schedule(sizes, gain.best_draft_tokens(grid, tokens))
    tables.show([{"sequences in flight": _range(low, high), "fastest K": f"{k}"} for low, high, k in runs])


def _range(low: int, high: int) -> str:
    return f"{low} to {high}" if high > low else f"{low}"


def _adopt(scenario: Scenario, view: View) -> None:
    changes = {f"deployments.{view.name}.speculation": adopted(scenario, view.name, view.choice, view.draft)}
    st.button(
        f"Take this into {view.name}", key="speculation_adopt", icon=":material/check:", on_click=state.apply,
        args=(changes,),
        help="Sets the deployment's speculation in the scenario, one draft and a chain; Compare and Load follow.",
    )  # fmt: skip
