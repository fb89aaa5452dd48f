"""A deployment as an engine is to be told of it: every choice written out, and how often its drafts are accepted."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from simulator.catalog.load import load_model
from simulator.cluster.accepted import survival_over_steps
from simulator.cluster.limits import Limits
from simulator.cluster.plan import limits_of
from simulator.errors import ScenarioError
from simulator.planning.draft_rates import with_draft_tokens
from simulator.planning.draft_schedule import DraftSchedule
from simulator.planning.sampled_requests import sample_requests
from simulator.spec.deployment import Deployment
from simulator.spec.draft import Draft
from simulator.spec.draft_policy import ByBatch
from simulator.spec.scenario import Scenario

ENGINES = ("vllm", "sglang", "trtllm")
"""Engines for which a deployment is written."""
MODEL, DRAFT, PORT = "$MODEL", "$DRAFT", "$PORT"
"""Variables of a script, inside words of a command."""
USUAL_PORT = "8000"
"""Port, where none is set."""
_PUBLISHED = re.compile(r"(?!none/)[\w.-]+/[\w.-]+")
"""A name on Hugging Face."""


@dataclass(frozen=True, slots=True)
class Served:
    """One deployment of a scenario, for one engine."""

    name: str
    spec: Deployment
    """With the engine's own policy."""
    limits: Limits
    """Its batch and token limits, defaults written out."""
    rates: tuple[float, ...]
    """Survival by position over all steps, to which synthetic acceptance is set; empty without drafts [0 to 1]."""

    @property
    def engine(self) -> str:
        """The engine."""
        return self.spec.engine.policy

    @property
    def draft(self) -> Draft | None:
        """The only draft; None where there is none, or several."""
        drafts = list(self.spec.speculation.drafts.values())
        return drafts[0] if len(drafts) == 1 else None

    @property
    def draft_tokens(self) -> int:
        """Draft tokens K that are proposed at most."""
        return self.spec.speculation.draft_tokens

    @property
    def tokens_per_step(self) -> float:
        """Mean committed tokens per sequence and step, bonus token included, where all propose K."""
        return 1.0 + sum(self.rates)


def with_engine(scenario: Scenario, names: Iterable[str], engine: str | None = None) -> Scenario:
    """The scenario with some deployments only, on an engine that is exported to: by default each on its own.

    Raises ScenarioError for an engine that serves nobody.
    """
    found = {name: _on_engine(name, scenario.deployments[name], engine) for name in names}
    return scenario.model_copy(update={"deployments": found})


def _on_engine(name: str, spec: Deployment, engine: str | None) -> Deployment:
    wanted = engine or spec.engine.policy
    if wanted not in ENGINES:
        raise ScenarioError(
            f"deployments.{name}.engine.policy: {wanted} is no engine to export to: name one with --engine "
            f"({', '.join(ENGINES)})"
        )
    return spec.model_copy(update={"engine": spec.engine.model_copy(update={"policy": wanted})})


def served(scenario: Scenario, name: str, schedule: DraftSchedule | None = None) -> Served:
    """A deployment of a scenario as its engine is to be told of it.

    schedule: draft tokens by batch in place of the deployment's own; None: as it is.

    Raises ScenarioError where the deployment does not fit, and where it takes no prompt of the workload.
    """
    spec = scenario.deployments[name]
    if schedule is not None and schedule.policy() is not None and schedule.draft_tokens:
        spec = with_schedule(spec, schedule)
    limits = limits_of(name, spec, scenario.workload)
    shortest, longest = int(sample_requests(scenario).prompts.min()), limits.longest_prompt
    if shortest > longest:
        raise ScenarioError(
            f"{name}: {spec.engine.policy} takes prompts of up to {longest:,} tokens here, and those of the workload "
            f"begin at {shortest:,}: raise engine.max_num_batched_tokens, or take an engine that splits prompts"
        )
    return Served(name, spec, limits, survival_over_steps(spec, scenario.workload))


def with_schedule(spec: Deployment, schedule: DraftSchedule) -> Deployment:
    """The deployment with draft tokens by batch."""
    longest = with_draft_tokens(spec, schedule.draft_tokens)
    policy = ByBatch(kind="by_batch", schedule=schedule.here.bands)
    return longest.model_copy(update={"speculation": longest.speculation.model_copy(update={"policy": policy})})


def published_id(model: str) -> str | None:
    """Name of a catalog's model on Hugging Face; None where it has none."""
    known = load_model(model).hf_id
    return known if _PUBLISHED.fullmatch(known) else None


def least_varied(tokens_per_step: float, draft_tokens: int) -> tuple[float, ...]:
    """Survival by position of steps whose numbers of accepted tokens differ by one at most [0 to 1].

    tokens_per_step: mean, bonus token included. [tokens]

    >>> [round(rate, 6) for rate in least_varied(2.5, 4)]
    [1.0, 0.5, 0.0, 0.0]

    What engines do that are given a mean alone: SGLang `SGLANG_SIMULATE_ACC_METHOD=match-expected`, vLLM
    `SpeculativeConfig._acceptance_length_to_rates`.
    """
    accepted = tokens_per_step - 1.0
    return tuple(min(max(accepted - position, 0.0), 1.0) for position in range(draft_tokens))
