"""What clumps of arrivals cost, by short simulated runs: an estimate knows Poisson arrivals only."""

from collections.abc import Mapping
from concurrent.futures import Executor
from typing import NamedTuple

from simulator.outcome.cost import bill_of
from simulator.outcome.slo import verdict
from simulator.planning.comparison import BY_LOAD
from simulator.planning.curve import shortened
from simulator.planning.fleet import fewest
from simulator.planning.moved_costs import Costs
from simulator.planning.swing import Bar, End, winner_at
from simulator.planning.tasks import run_all
from simulator.run import simulate_once
from simulator.spec.arrivals import GammaArrivals, PoissonArrivals
from simulator.spec.scenario import Scenario

MORE_CLUMPED = 2.0
"""Factor on the coefficient of variation of the gaps, either way: an assumption."""

MOST_CV = 50.0
"""Largest coefficient of variation that a scenario may state."""


def why_no_bursts(scenario: Scenario) -> str:
    """Why burstiness is not varied; empty where it is."""
    arrivals = scenario.workload.arrivals
    if isinstance(arrivals, PoissonArrivals | GammaArrivals):
        return ""
    return f"burstiness is not varied: arrivals of kind {arrivals.kind} have no clumps to strengthen"


def burst_bar(scenario: Scenario, starts: Mapping[str, int], winner: str, executor: Executor | None = None) -> Bar:
    """Fleets for arrivals whose gaps vary half and twice as much, one short run of the same random streams each.

    starts: deployment → replicas from which the fewest are sought.
    winner: who is the cheapest as far as the estimate knows.
    """
    factors = (1.0 / MORE_CLUMPED, 1.0, MORE_CLUMPED)
    found = run_all(
        simulated_costs,
        [Sought(clumped(shortened(scenario), factor), *start) for factor in factors for start in starts.items()],
        executor,
    )
    rows = [
        dict(zip(starts, found[part : part + len(starts)], strict=True)) for part in range(0, len(found), len(starts))
    ]
    low, base, high = rows
    return Bar(
        name="burstiness",
        says="coefficient of variation of the gaps between arrivals",
        basis="assumption",
        source="clumps half and twice as strong; one short simulated run each",
        ends=(End(factors[0], low), End(factors[2], high)),
        base=base,
        winners=(winner_at(winner, low, BY_LOAD), winner_at(winner, high, BY_LOAD)),
        method="simulated",
        drawn=False,
    )


def clumped(scenario: Scenario, factor: float) -> Scenario:
    """The scenario with gaps between arrivals that vary more by a factor, at the same rate."""
    arrivals = scenario.workload.arrivals
    assert isinstance(arrivals, PoissonArrivals | GammaArrivals)
    cv = arrivals.cv if isinstance(arrivals, GammaArrivals) else 1.0
    changed = GammaArrivals(kind="gamma", rate_per_s=arrivals.rate_per_s, cv=min(cv * factor, MOST_CV))
    workload = scenario.workload.model_copy(update={"arrivals": changed})
    return scenario.model_copy(update={"workload": workload})


class Sought(NamedTuple):
    """Whose fewest replicas are sought; picklable."""

    scenario: Scenario
    deployment: str
    start: int
    """Replicas to begin with."""


def simulated_costs(sought: Sought) -> Costs:
    """What the fewest replicas cost that hold one run of the scenario."""
    scenario, deployment, start = sought

    def holds(replicas: int) -> bool:
        records = simulate_once(scenario, deployment, 0, replicas=replicas)
        return verdict(records, scenario.slo, open_loop=True).holds

    replicas = fewest(holds, start)
    bill = bill_of(scenario.deployments[deployment])
    return Costs(None if replicas is None else bill.usd_per_hour(replicas), None, replicas)
