"""A scenario with some of its inputs moved: factors on the rate, lengths, acceptance, step times, bandwidth, prices.

The requests and what drafts get accepted of them change in the scenario itself; the rest follows from its steady state.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from simulator.catalog.load import load_lengths
from simulator.physics.odds import survival_with_odds, with_odds
from simulator.spec.combine import Union
from simulator.spec.deployment import Deployment
from simulator.spec.scenario import Scenario
from simulator.spec.speculation import DraftSpeculation
from simulator.spec.workload import LogNormal, QuantileLengths

TOGETHER = ""
"""In place of a draft's name: a union whose acceptance was measured as a whole."""

Factors = Mapping[Any, float]


@dataclass(frozen=True, slots=True)
class Moved:
    """Factors on inputs; 1, or a key that is not there, leaves one as it is."""

    rate: float = 1.0
    """On the offered load: requests per second, or clients of a closed loop."""
    prompt_tokens: float = 1.0
    output_tokens: float = 1.0
    acceptance: Factors = field(default_factory=dict)
    """(deployment, draft) → factor on the odds of each of its draft tokens."""
    step_time: Factors = field(default_factory=dict)
    """Deployment → factor on the seconds of every step."""
    bandwidth: Factors = field(default_factory=dict)
    """Deployment → factor on the memory bandwidth of its target's GPUs."""
    price: Factors = field(default_factory=dict)
    """GPU → factor on its price."""

    def odds(self, deployment: str) -> dict[str, float]:
        """Draft → factor on its odds, in one deployment."""
        return {draft: factor for (name, draft), factor in self.acceptance.items() if name == deployment}


def moved_requests(scenario: Scenario, deployment: str, moved: Moved) -> Scenario:
    """The scenario of one deployment with lengths and acceptance moved; the rate and the price are as they were."""
    spec = scenario.deployments[deployment]
    workload, lengths = scenario.workload, scenario.workload.lengths
    if (moved.prompt_tokens, moved.output_tokens) != (1.0, 1.0):
        scaled = scaled_lengths(lengths, moved.prompt_tokens, moved.output_tokens)
        workload = workload.model_copy(update={"lengths": scaled})
    own = {deployment: with_acceptance(spec, moved.odds(deployment))}
    return scenario.model_copy(update={"workload": workload, "deployments": own})


def only(scenario: Scenario, names: Sequence[str]) -> Scenario:
    """The scenario with some of its deployments."""
    return scenario.model_copy(update={"deployments": {name: scenario.deployments[name] for name in names}})


def with_acceptance(deployment: Deployment, odds: Mapping[str, float]) -> Deployment:
    """A deployment with factors on the odds of its drafts' tokens. A tree stays the one that was proposed."""
    speculation = deployment.speculation
    if speculation.kind == "none" or all(factor == 1.0 for factor in odds.values()):
        return deployment
    depth = speculation.propose.depth
    drafts = {
        name: draft.model_copy(
            update={
                "acceptance": {of: with_odds(one, odds.get(name, 1.0), depth) for of, one in draft.acceptance.items()}
            }
        )
        for name, draft in speculation.drafts.items()
    }
    changed = {"drafts": drafts, "combine": _combined(speculation, odds.get(TOGETHER, 1.0))}
    return deployment.model_copy(update={"speculation": speculation.model_copy(update=changed)})


def _combined(speculation: DraftSpeculation, factor: float) -> Any:
    """How the drafts are combined, with what was measured of a union moved."""
    combine = speculation.combine
    if not isinstance(combine, Union) or combine.survival is None or factor == 1.0:
        return combine
    curves = {name: survival_with_odds(curve, factor) for name, curve in combine.survival.items()}
    return combine.model_copy(update={"survival": curves})


@lru_cache(maxsize=64)
def scaled_lengths(lengths: Any, prompt: float, output: float) -> Any:
    """Lengths × factors; a table of the catalog is written out, and a trace has those that it has.

    Kept, for deployments that are moved alike share them.
    """
    assert lengths.kind != "trace"
    if lengths.kind == "empirical":
        table = load_lengths(lengths.table)
        lengths = QuantileLengths(
            kind="quantiles", prompt_tokens=table.prompt_quantiles, output_tokens=table.output_quantiles
        )
    changed = {"prompt_tokens": _scaled(lengths.prompt_tokens, prompt)}
    return lengths.model_copy(update=changed | {"output_tokens": _scaled(lengths.output_tokens, output)})


def _scaled(tokens: Any, factor: float) -> Any:
    """A number of tokens, a range, a law or a table of them × a factor; whole numbers stay whole, 1 at least."""
    if isinstance(tokens, tuple):
        return tuple(_scaled(inner, factor) for inner in tokens)
    if isinstance(tokens, LogNormal):
        return tokens.model_copy(update={"mean": tokens.mean * factor, "p95": tokens.p95 * factor})
    return max(round(tokens * factor), 1) if isinstance(tokens, int) else tokens * factor
