"""What a deployment is predicted from beyond what was measured, in words: acceptance, and the width of its steps."""

from collections.abc import Iterator

from simulator.cluster.accepted import extrapolated
from simulator.physics.step import StepShape
from simulator.run import step_times_of
from simulator.spec.deployment import Deployment
from simulator.spec.workload import Workload


def beyond_measured(deployment: Deployment, workload: Workload) -> Iterator[str]:
    """Acceptance, then what a step of a single sequence verifies; how many run at once is not known here."""
    yield from extrapolated(deployment, workload)
    tokens = deployment.speculation.draft_tokens
    alone = StepShape(1, tokens + 1, 1.0, 0, 0, 0.0, tokens)
    for said in step_times_of(deployment, workload).outside(alone):
        yield f"step times extrapolated: {said}"
