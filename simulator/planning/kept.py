"""What the steady state of a deployment follows from, to keep it by: neither its name, nor the rate, nor its price."""

from dataclasses import dataclass, field

from simulator.catalog.load import Stamp, stamps
from simulator.spec.scenario import Scenario

STEADY = ("poisson", "constant", "gamma")
"""Arrivals at one rate, which the estimate takes for Poisson: any other may be wrong with another."""

KEPT = 128
"""Deployments of which something is kept, each of some hundred kB at most."""

_ANY = "any"


@dataclass(frozen=True, slots=True)
class Asked:
    """A deployment of a scenario, equal to any other whose steady state is the same."""

    said: str
    """All that it follows from, but for the config.json files that it names."""
    configs: tuple[Stamp, ...]
    scenario: Scenario = field(compare=False)
    name: str = field(compare=False)


def asked(scenario: Scenario, name: str) -> Asked:
    """A deployment of a scenario, and what its steady state follows from."""
    arrivals, workload = scenario.workload.arrivals, scenario.workload
    if arrivals.kind in STEADY:
        arrivals = arrivals.model_copy(update={"rate_per_s": 1.0})
        workload = workload.model_copy(update={"arrivals": arrivals})
    alone = scenario.deployments[name].model_copy(update={"price": 1.0})
    said = scenario.model_copy(
        update={"name": _ANY, "description": "", "workload": workload, "deployments": {_ANY: alone}}
    )
    return Asked(said.model_dump_json(exclude_unset=True), stamps(alone.models), scenario, name)
