"""How the deployments of a scenario look in every figure of the pages."""

from app.figures.style import Look, looks
from simulator.spec.scenario import Scenario


def looks_of(scenario: Scenario) -> dict[str, Look]:
    """Deployment → its look, the same on every page."""
    return looks({name: (spec.gpu, spec.speculation.kind != "none") for name, spec in scenario.deployments.items()})
