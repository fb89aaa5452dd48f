"""What the page Speculation asks: a draft by its acceptance and costs, tried on a deployment, and taken into it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from simulator.catalog.load import load_model, load_quantisation
from simulator.cluster.accepted import survival_over_steps
from simulator.physics.footprint import weight_bytes
from simulator.physics.kv import kv_law
from simulator.planning.speculation_gain import MOST_DRAFT_TOKENS, change_of, survival_by_change
from simulator.spec.deployment import Deployment, Target
from simulator.spec.draft import OWN_CHECKPOINT, Draft
from simulator.spec.scenario import Scenario
from simulator.spec.speculation import Chain, DraftSpeculation

ASSUMED_FIRST, ASSUMED_TOKENS = 0.7, 4
"""Where the sliders stand for a deployment that has no draft; an assumption, and said so on the page."""

ASSUMED_LATENCY = 0.1
"""Draft ÷ target, latency of a pass, likewise."""

ASSUMED_FLOPS = 0.02
"""Draft ÷ target, FLOPs per token, likewise."""

DIGITS = 2
"""Digits of the sliders for acceptance."""


class Ratios(NamedTuple):
    """Costs of a draft that is not modelled."""

    flops: float
    """Draft ÷ target, FLOPs per token."""
    latency: float
    """Time of a draft pass ÷ time of a plain step."""


class Choice(NamedTuple):
    """Where the controls stand."""

    first: float
    """Conditional acceptance of the first draft token."""
    change: float
    """Its factor from one position to the next."""
    draft_tokens: int
    ratios: Ratios | None
    """None: the deployment's own draft."""

    @property
    def survival(self) -> tuple[float, ...]:
        """Survival by position, as far as the maps go."""
        return survival_by_change(self.first, self.change, MOST_DRAFT_TOKENS)


class View(NamedTuple):
    """What the controls ask for: the reader's own point."""

    name: str
    """Deployment whose step times count."""
    draft: str | None
    """Which of the deployment's drafts is looked at; None: it has none, or a single one."""
    choice: Choice
    sequences: float
    limit_s: float | None
    """Time per output token within which the map of cost looks for the cheapest batch; None: at the sequences."""


def drafting(scenario: Scenario) -> dict[str, DraftSpeculation]:
    """Deployments with a draft, and how they speculate."""
    return {
        name: spec.speculation
        for name, spec in scenario.deployments.items()
        if isinstance(spec.speculation, DraftSpeculation)
    }


def chaining(scenario: Scenario) -> dict[str, DraftSpeculation]:
    """Deployments whose drafts propose chains, each with an acceptance of its own that counts."""
    return {
        name: of
        for name, of in drafting(scenario).items()
        if of.propose.shape == "chain" and not (of.combine.kind == "union" and of.combine.survival is not None)
    }


def alone(deployment: Deployment, draft: Draft, draft_tokens: int) -> Deployment:
    """The deployment with one draft and a chain, whatever else it has."""
    speculation = DraftSpeculation(kind="drafts", drafts={"draft": draft}, propose=Chain(draft_tokens=draft_tokens))
    return deployment.model_copy(update={"speculation": speculation})


def own_survival(scenario: Scenario, name: str, draft: Draft, draft_tokens: int) -> tuple[float, ...]:
    """Survival of a draft's chain by position, over the steps of all classes that it has an acceptance for."""
    classes = scenario.workload.classes
    known = {kind: share for kind, share in classes.items() if kind in draft.acceptance or "all" in draft.acceptance}
    workload = scenario.workload.model_copy(update={"classes": known})
    return survival_over_steps(alone(scenario.deployments[name], draft, draft_tokens), workload)


def draft_of(speculation: DraftSpeculation, name: str | None) -> Draft:
    """A draft by its name; without one the first."""
    return speculation.drafts[name] if name in speculation.drafts else next(iter(speculation.drafts.values()))


def own_choice(scenario: Scenario, name: str, draft_name: str | None = None) -> Choice:
    """What a deployment does as it stands; without a draft, what the page assumes at first.

    draft_name: of several drafts the one that is looked at, as if it were alone and proposed a chain.
    """
    speculation = scenario.deployments[name].speculation
    if not isinstance(speculation, DraftSpeculation) or speculation.draft_tokens == 0:
        return Choice(ASSUMED_FIRST, 1.0, ASSUMED_TOKENS, Ratios(ASSUMED_FLOPS, ASSUMED_LATENCY))
    draft, draft_tokens = draft_of(speculation, draft_name), min(_depth(speculation), MOST_DRAFT_TOKENS)
    survival = own_survival(scenario, name, draft, draft_tokens)
    abstract = draft.abstract
    return Choice(
        round(survival[0], DIGITS),
        round(change_of(survival), DIGITS),
        draft_tokens,
        None if abstract is None else Ratios(abstract.flops_ratio, abstract.latency_ratio),
    )


def _depth(speculation: DraftSpeculation) -> int:
    """Most draft tokens of one chain that a step accepts."""
    propose = speculation.propose
    return propose.max_depth if propose.shape == "best_tree" else propose.depth


def tried(
    scenario: Scenario, name: str, ratios: Ratios | None, lender: str | None = None, draft_name: str | None = None
) -> Scenario:
    """The scenario with one deployment that drafts as many tokens as the maps go to, whatever is accepted of them.

    ratios: costs of the draft; None: a modelled one.
    lender: deployment whose modelled draft it takes; by default its own.
    draft_name: which of the lender's drafts; by default the first.
    """
    spec, lent = scenario.deployments[name], scenario.deployments[lender or name].speculation
    acceptance = {"all": {"survival": (1.0,) * MOST_DRAFT_TOKENS}}
    if ratios is not None or not isinstance(lent, DraftSpeculation):
        draft = _abstract(spec, ratios or Ratios(ASSUMED_FLOPS, ASSUMED_LATENCY), lent, draft_name)
    else:
        found = draft_of(lent, draft_name)
        draft = found.model_dump(exclude_unset=True)
        if found.way in OWN_CHECKPOINT:
            draft["tensor_parallel"] = min(found.tensor_parallel, spec.target.tensor_parallel)
    speculation = _speculation(draft | {"acceptance": acceptance}, MOST_DRAFT_TOKENS)
    changed = spec.model_copy(update={"speculation": DraftSpeculation.model_validate(speculation)})
    return scenario.model_copy(update={"deployments": {name: changed}})


def adopted(
    scenario: Scenario, name: str, choice: Choice, draft_name: str | None = None, positions: int | None = None
) -> dict[str, Any]:
    """The speculation that takes the choice into a deployment, as a file says it: one draft, and a chain.

    Acceptance by class is kept while the sliders stand where the deployment's own put them.

    positions: of the acceptance that the sliders make; None: those of K.
    """
    spec = scenario.deployments[name]
    lent = spec.speculation
    survival = [round(value, 4) for value in choice.survival[: positions or choice.draft_tokens]]
    acceptance: Mapping[str, Any] = {"all": {"survival": survival}}
    if not isinstance(lent, DraftSpeculation):
        draft = _abstract(spec, choice.ratios or Ratios(ASSUMED_FLOPS, ASSUMED_LATENCY), lent, None)
        return _speculation(draft | {"acceptance": acceptance}, choice.draft_tokens)
    stated = draft_of(lent, draft_name).model_dump(mode="json", exclude_unset=True)
    draft = stated if choice.ratios is None else _abstract(spec, choice.ratios, lent, draft_name)
    kept = keeps_own_acceptance(scenario, name, choice, draft_name)
    draft = draft | {"acceptance": stated["acceptance"] if kept else acceptance}
    return _speculation(draft, choice.draft_tokens, draft_name or next(iter(lent.drafts)))


def keeps_own_acceptance(scenario: Scenario, name: str, choice: Choice, draft_name: str | None = None) -> bool:
    """Whether the sliders stand where the deployment's own acceptance put them, so that it counts by class."""
    lent, own = scenario.deployments[name].speculation, own_choice(scenario, name, draft_name)
    same = (own.first, own.change) == (choice.first, choice.change) and choice.draft_tokens <= own.draft_tokens
    return same and isinstance(lent, DraftSpeculation) and lent.propose.shape == "chain"


def _speculation(draft: Mapping[str, Any], draft_tokens: int, name: str = "draft") -> dict[str, Any]:
    return {
        "kind": "drafts",
        "drafts": {name: dict(draft)},
        "propose": {"shape": "chain", "draft_tokens": draft_tokens},
    }


def _abstract(spec: Deployment, ratios: Ratios, lent: object, draft_name: str | None) -> dict[str, Any]:
    """An abstract draft; what the ratios do not say is the stated draft's, else the target's times the FLOP ratio."""
    stated = draft_of(lent, draft_name).abstract if isinstance(lent, DraftSpeculation) else None
    weights_gb = stated.weights_gb if stated else round(ratios.flops * _weights_gb(spec.target), 3)
    kv = stated.kv_bytes_per_token if stated else round(ratios.flops * _kv_bytes_per_token(spec.target))
    return {
        "abstract": {
            "flops_ratio": ratios.flops,
            "latency_ratio": ratios.latency,
            "weights_gb": weights_gb,
            "kv_bytes_per_token": kv,
        }
    }


def _weights_gb(target: Target) -> float:
    """Weights of the target over the whole replica [10^9 bytes]."""
    found = weight_bytes(load_model(target.model), load_quantisation(target.weights), target.unquantised)
    return found.per_gpu_bytes / 1e9


def _kv_bytes_per_token(target: Target) -> int:
    """KV of the target over the whole replica [bytes per token]."""
    return kv_law(load_model(target.model), target.kv).bytes_per_token
