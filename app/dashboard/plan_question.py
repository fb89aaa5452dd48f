"""What the page Plan asks beside the scenario: what is on offer, what may vary, what is kept free, what may be spent.

The scenario's deployments are the offers; scenario and question together are a plan file. Knows nothing of pages.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

from pydantic import ValidationError

from app.dashboard.draft_presets import PRESETS
from app.dashboard.speculation_inputs import chaining
from scenarios.store import to_yaml
from simulator.catalog.load import load_price_list, names
from simulator.errors import ScenarioError
from simulator.spec.base import Name, Spec
from simulator.spec.plan import Plan
from simulator.spec.scenario import Scenario

WIDTHS = (1, 2, 4, 8)
"""GPUs over which a layer may be split."""
DRAFT_TOKENS = tuple(range(1, 7))
"""K at first, where drafts are on offer."""

GPU, TENSOR_PARALLEL, K = "gpu", "target.tensor_parallel", "speculation.propose.draft_tokens"
WEIGHTS, KV, MAX_SEQUENCES = "target.weights", "target.kv", "engine.max_num_seqs"
"""Places that the page varies; a plan file may vary any."""

MOST_COMBINATIONS = 5_000
"""Offers times choices that a browser may ask for."""

Offers = dict[str, dict[str, Any]]
"""Name → a deployment as a mapping."""


class Question(Spec):
    """What is asked beside the scenario."""

    without: tuple[Name, ...] = ()
    """Deployments of the scenario that are not on offer."""
    gpus: tuple[Name, ...] = ()
    """Further GPUs on which the offers of the first GPU stand, too."""
    drafts: tuple[str, ...] = ()
    """Drafts of the dashboard's list that are on offer on each GPU, too."""
    plan: Plan = Plan()


def first_question(scenario: Scenario) -> Question:
    """What is asked of a scenario that says nothing of a plan: how wide a replica is, and how many tokens to draft."""
    vary: dict[str, tuple[Any, ...]] = {TENSOR_PARALLEL: WIDTHS} | ({K: DRAFT_TOKENS} if chaining(scenario) else {})
    return Question(plan=Plan(vary=vary))


def question_of(mapping: Mapping[str, Any]) -> Question:
    """A question from a link; ScenarioError when it is none."""
    try:
        return Question.model_validate(mapping)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ScenarioError(f"link: {place}: {first['msg']}") from None


def mapping_of(question: Question) -> dict[str, Any]:
    """A question as a link holds it."""
    return question.model_dump(mode="json", exclude_defaults=True)


def plan_document(scenario: Mapping[str, Any], question: Question) -> dict[str, Any]:
    """The plan file of a scenario and a question, as a mapping.

    Raises ScenarioError where nothing is on offer, or more than a browser may ask for.
    """
    on_offer = offers(scenario["deployments"], question)
    if not on_offer:
        raise ScenarioError("nothing is on offer: choose at least one deployment")
    chains = any(draft_tokens(spec) for spec in on_offer.values())
    vary = {path: values for path, values in question.plan.vary.items() if path != K or chains}
    check_combinations(len(on_offer), vary)
    kept = {key: value for key, value in scenario.items() if key not in ("deployments", "sweep", "assert", "plan")}
    deployments = {name: _without(spec, "replicas") for name, spec in on_offer.items()}
    plan = question.plan.model_copy(update={"vary": vary})
    return {**kept, "plan": plan.model_dump(mode="json", exclude_defaults=True), "deployments": deployments}


def draft_tokens(spec: Mapping[str, Any]) -> int | None:
    """Draft tokens of an offer that proposes a chain; None of any other."""
    propose = (spec.get("speculation") or {}).get("propose") or {}
    return propose.get("draft_tokens") if propose.get("shape") == "chain" else None


def check_combinations(num_offers: int, vary: Any) -> None:
    """ScenarioError for more combinations of offers and choices than a browser may ask for."""
    choices = vary.values() if isinstance(vary, Mapping) else ()
    combinations = num_offers * prod(len(values) for values in choices if isinstance(values, list | tuple))
    if combinations > MOST_COMBINATIONS:
        raise ScenarioError(
            f"plan.vary: {num_offers} offers × their choices are {combinations:,} combinations; a browser gets at most "
            f"{MOST_COMBINATIONS:,}: vary less, or take the plan file to `specfleet plan`"
        )


def plan_text(scenario: Mapping[str, Any], question: Question) -> str:
    """The plan file of a scenario and a question."""
    return to_yaml(plan_document(scenario, question))


def offers(deployments: Mapping[str, Any], question: Question) -> Offers:
    """What may be bought: deployments of the scenario, the same on further GPUs, further drafts on each GPU."""
    found: Offers = {name: dict(spec) for name, spec in deployments.items() if name not in question.without}
    first = next(iter(found.values()), {}).get("gpu")
    models = {name: spec for name, spec in found.items() if spec["gpu"] == first}
    standing = {spec["gpu"] for spec in found.values()}
    for gpu in question.gpus:
        if gpu not in standing and _lists_with(gpu):
            _add(found, [(_on(name, str(first), gpu), _moved(spec, gpu)) for name, spec in models.items()])
    for draft in question.drafts:
        if draft in PRESETS:
            _add(found, list(_drafting(found, draft)))
    return found


def priced_gpus() -> list[str]:
    """GPUs that a price list of the catalog holds, in the catalog's order."""
    return [gpu for gpu in names("gpus") if _lists_with(gpu)]


def _add(found: Offers, further: Sequence[tuple[str, dict[str, Any]]]) -> None:
    for name, spec in further:
        while name in found:
            name += "-too"
        found[name] = spec


def _moved(spec: Mapping[str, Any], gpu: str) -> dict[str, Any]:
    """An offer on another GPU, at the price of the same list where that holds it, else of the first that does."""
    stated = spec.get("price")
    own = stated.get("catalog") if isinstance(stated, dict) else None
    lists = _lists_with(gpu)
    return {**spec, "gpu": gpu, "price": {"catalog": own if own in lists else lists[0]}}


def _lists_with(gpu: str) -> list[str]:
    return [name for name in names("prices") if gpu in {entry.gpu for entry in load_price_list(name).prices}]


def _drafting(found: Offers, draft: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """A draft on each GPU, in place of that of the plain offer there, else of the first."""
    for gpu in dict.fromkeys(spec["gpu"] for spec in found.values()):
        there = [spec for spec in found.values() if spec["gpu"] == gpu]
        base = next((spec for spec in there if _kind(spec) == "none"), there[0])
        name = f"{_short(gpu)}-{_slug(draft)}"
        yield name, {**_without(base, "economics"), "speculation": PRESETS[draft].mapping()}


def _kind(spec: Mapping[str, Any]) -> str:
    return str((spec.get("speculation") or {"kind": "none"})["kind"])


def _without(spec: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in spec.items() if name != key}


def _on(name: str, gpu: str, other: str) -> str:
    """What an offer is called on another GPU.

    >>> _on("h200-spec", "h200-sxm", "b300-sxm"), _on("plain", "h200-sxm", "gb200")
    ('b300-spec', 'gb200-plain')
    """
    return f"{_short(other)}-{name.removeprefix(f'{_short(gpu)}-')}"


def _short(gpu: str) -> str:
    return gpu.partition("-")[0]


def _slug(text: str) -> str:
    """A name as part of a deployment's.

    >>> _slug("EAGLE-3 head")
    'eagle-3-head'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
