"""The scenario: a workload, a latency target, and the deployments to compare under the same random streams."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from simulator.spec.base import Count, CountOrZero, Name, Spec, Text
from simulator.spec.classes import class_problems
from simulator.spec.deployment import Deployment
from simulator.spec.workload import Slo, Workload


class Scenario(Spec):
    """One point to simulate: extends, sets and sweeps are already resolved."""

    schema_version: Literal[1]
    name: Name
    description: Text = ""
    """The question that the scenario answers."""
    seed: CountOrZero
    """Root of every random stream: same seed, same report."""
    replications: Annotated[Count, Field(le=1000)] = 5
    """Independent repetitions; intervals come from them."""
    workload: Workload
    slo: Slo | None = None
    """Without one, capacity is the saturation rate."""
    deployments: dict[Name, Deployment]

    @model_validator(mode="after")
    def _comparable(self) -> Self:
        if not self.deployments:
            raise ValueError("a scenario has at least one deployment")
        for name, deployment in self.deployments.items():
            for problem in class_problems(deployment.speculation, self.workload.classes):
                raise ValueError(f"deployments.{name}: {problem}")
        return self
