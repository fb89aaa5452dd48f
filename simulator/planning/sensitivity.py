"""How far the answer moves with each of its inputs, and how likely the winner stays the winner when all of them vary.

By the steady state. Arrivals are Poisson in it: what bursts do is for a simulation to say (`bursts`).
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from simulator.errors import ScenarioError
from simulator.outcome.plain import plain
from simulator.planning.burst_costs import burst_bar, why_no_bursts
from simulator.planning.comparison import BY_CAPACITY, BY_LOAD
from simulator.planning.context import why_unfit
from simulator.planning.inputs import HIGH_END, LOW_END, Input, moved_by
from simulator.planning.moved import Moved
from simulator.planning.moved_costs import Costs
from simulator.planning.stability import Stability, costs_of_all, drawn_moves, latin_hypercube, stability
from simulator.planning.swing import Bar, End, bar_of, leader
from simulator.planning.tasks import Progress
from simulator.planning.uncertain import Within, inputs_of
from simulator.spec.scenario import Scenario

DRAWS = 200
"""Draws of all inputs together: the chance is then known to ±7 % at worst."""

MOST_DEPLOYMENTS = 6
"""Deployments that are varied: the cheapest."""


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The answer of a scenario, and what moves it."""

    scenario: str
    basis: str
    """Field by which deployments are ranked."""
    costs: dict[str, Costs]
    """Deployment → what it costs as the scenario says, the cheapest first."""
    winner: str | None
    runner_up: str | None
    bars: list[Bar] = field(default_factory=list)
    """Inputs by how far they move the winner's cost, those that move it most first."""
    stability: Stability | None = None
    """None where nothing was drawn."""
    notes: list[str] = field(default_factory=list)
    """What is left out."""

    def as_json(self) -> dict[str, Any]:
        """For scripts and figures."""
        ready: dict[str, Any] = plain(
            {
                "scenario": self.scenario,
                "method": "steady state",
                "basis": self.basis,
                "costs": {name: one.as_json() for name, one in self.costs.items()},
                "winner": self.winner,
                "runner_up": self.runner_up,
                "bars": [bar.as_json() for bar in self.bars],
                "stability": None if self.stability is None else self.stability.as_json(),
                "notes": self.notes,
            }
        )
        return ready


def sensitivity(
    scenario: Scenario,
    executor: Executor | None = None,
    progress: Progress | None = None,
    *,
    draws: int = DRAWS,
    within: Within | None = None,
    bursts: bool = False,
) -> Sensitivity:
    """How the answer of a scenario depends on its inputs.

    executor: where the costs are computed; None: here. The answer is the same.
    progress: called with the draws done and the draws there are.
    draws: of all inputs together; 0: each input alone is all that is asked.
    within: intervals of inputs that the reader states, by name.
    bursts: whether clumps of arrivals are simulated, too.

    Raises ScenarioError when no deployment fits, or for an interval of an input that is not there.
    """
    fitting = [name for name in scenario.deployments if not why_unfit(scenario, name)]
    if not fitting:
        raise ScenarioError(f"{scenario.name}: no deployment fits into its GPUs, so nothing is there to vary")
    basis, base = ranked(scenario, fitting, executor)
    names = list(base)[:MOST_DEPLOYMENTS]
    inputs = inputs_of(scenario, names, within)
    winner, runner_up = (*[name for name in names if base[name].on(basis) is not None], None, None)[:2]
    found = Sensitivity(scenario.name, basis, {name: base[name] for name in names}, winner, runner_up)
    if winner is None:
        return replace(found, notes=["no deployment holds the load as the scenario says"])
    bars = tornado(scenario, found, inputs, executor)
    starts = {name: replicas for name in names[:2] if (replicas := base[name].replicas) is not None}
    if bursts and starts and not why_no_bursts(scenario):
        bars.append(burst_bar(scenario, starts, winner, executor))
    bars.sort(key=lambda bar: (-bar.swing(winner, basis), -bar.swing(winner, BY_CAPACITY)))
    notes = list(_left_out(scenario, fitting, names, bursts=bursts))
    drawn = _drawn(scenario, found, inputs, draws, executor, progress) if draws else None
    return replace(found, bars=bars, notes=notes, stability=drawn)


def ranked(
    scenario: Scenario, deployments: Sequence[str], executor: Executor | None = None
) -> tuple[str, dict[str, Costs]]:
    """On which basis deployments are compared, and what each costs as the scenario says, the cheapest first.

    By the load where anyone holds it, else by the cost at capacity.
    """
    [costs] = costs_of_all(scenario, deployments, [Moved()], executor)
    basis = BY_LOAD if leader(costs, BY_LOAD) is not None else BY_CAPACITY

    def place(name: str) -> tuple[float, float, str]:
        on_basis, at_capacity = (costs[name].on(of) for of in (basis, BY_CAPACITY))
        return inf if on_basis is None else on_basis, inf if at_capacity is None else at_capacity, name

    return basis, {name: costs[name] for name in sorted(costs, key=place)}


def tornado(
    scenario: Scenario, found: Sensitivity, inputs: Sequence[Input], executor: Executor | None = None
) -> list[Bar]:
    """Each input alone at both ends of its interval, all others as the scenario says."""
    assert found.winner is not None
    moves = [moved_by([(one, chance)]) for one in inputs for chance in (LOW_END, HIGH_END)]
    costs = list(costs_of_all(scenario, list(found.costs), moves, executor))
    return [
        bar_of(
            one, (End(one.said(LOW_END), low), End(one.said(HIGH_END), high)), found.costs, found.winner, found.basis
        )
        for one, low, high in zip(inputs, costs[::2], costs[1::2], strict=True)
    ]


def _drawn(
    scenario: Scenario,
    found: Sensitivity,
    inputs: Sequence[Input],
    draws: int,
    executor: Executor | None,
    progress: Progress | None,
) -> Stability:
    """All inputs together."""
    assert found.winner is not None
    drawn = [one for one in inputs if one.drawn]
    chances = latin_hypercube(draws, len(drawn), scenario.seed)
    costs: list[dict[str, Costs]] = []
    by_load = found.basis == BY_LOAD
    for one in costs_of_all(scenario, list(found.costs), drawn_moves(drawn, chances), executor, load_alone=by_load):
        costs.append(one)
        if progress is not None:
            progress(len(costs), draws)
    return stability(found.winner, found.basis, drawn, chances, costs)


def _left_out(scenario: Scenario, fitting: Sequence[str], varied: Sequence[str], *, bursts: bool) -> Iterator[str]:
    """What is not in the answer, in sentences."""
    unfit = [name for name in scenario.deployments if name not in fitting]
    if unfit:
        yield f"{', '.join(unfit)}: no fit into the GPUs"
    if len(varied) < len(fitting):
        yield f"the {len(varied)} cheapest of {len(fitting)} deployments are varied"
    if scenario.workload.lengths.kind == "trace":
        yield "lengths are the trace's own and are not varied"
    if not bursts:
        yield "arrivals are Poisson in an estimate: clumps of them are for a simulation"
    elif why := why_no_bursts(scenario):
        yield why
