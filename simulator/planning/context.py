"""What a row says of its deployment whatever came of it, and whether the deployment fits at all."""

from dataclasses import dataclass, field
from functools import lru_cache

from simulator.catalog.load import Stamp, stamps
from simulator.outcome.cost import bill_of
from simulator.outcome.report import RowContext
from simulator.physics.ledger import LedgerRow, memory_ledger
from simulator.planning.beyond import beyond_measured
from simulator.planning.draft_words import speculation_words
from simulator.planning.kept import KEPT
from simulator.spec.deployment import Deployment
from simulator.spec.scenario import Scenario


def why_unfit(scenario: Scenario, deployment: str) -> str:
    """Why a deployment does not fit into its GPUs; empty when it does."""
    ledger = ledger_of(deployment, scenario.deployments[deployment])
    return "; ".join(f"{row.role}: {row.reason}" for row in ledger if not row.fits)


@dataclass(frozen=True, slots=True)
class _Memory:
    """A deployment, known by its name, all that it says, and the config.json files that it names."""

    name: str
    said: str
    configs: tuple[Stamp, ...]
    deployment: Deployment = field(compare=False)


def ledger_of(name: str, deployment: Deployment) -> tuple[LedgerRow, ...]:
    """The HBM ledger of a deployment, kept: its price is not in it."""
    alone = deployment.model_copy(update={"price": 1.0})
    return _ledger(_Memory(name, alone.model_dump_json(exclude_unset=True), stamps(deployment.models), deployment))


@lru_cache(maxsize=KEPT)
def _ledger(of: _Memory) -> tuple[LedgerRow, ...]:
    return memory_ledger(of.name, of.deployment)


def row_context(scenario: Scenario, deployment: str, point: str) -> RowContext:
    """What a row says of its deployment."""
    spec = scenario.deployments[deployment]
    return RowContext(
        deployment=deployment,
        gpu=spec.gpu,
        replicas=spec.replicas,
        bill=bill_of(spec),
        arrivals_kind=scenario.workload.arrivals.kind,
        slo=scenario.slo,
        point=point,
        speculation=speculation_words(spec.speculation),
        drafts=tuple(spec.speculation.drafts),
        draft_bytes=ledger_of(deployment, spec)[-1].draft_weights_bytes if spec.speculation.drafts else None,
        draft_gpu=spec.draft_gpu if spec.draft_pool is not None else None,
        draft_depth=None if spec.speculation.kind == "none" else spec.speculation.propose.depth,
        extrapolated=tuple(beyond_measured(spec, scenario.workload)),
    )
