"""What each way to hold KV buys a deployment, alone: sequences, time per token, cost. Knows nothing of pages."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from pydantic import ValidationError

from app.dashboard.curves import ledger_of
from app.dashboard.estimates import alone, row_of
from simulator.catalog.load import load_engine, load_gpu
from simulator.cluster.plan import has_prefixes
from simulator.errors import SimulatorError
from simulator.physics.checks import check_deployment
from simulator.physics.kv import KV_BYTES
from simulator.spec.deployment import Deployment
from simulator.spec.draft import KEEPS_KV, OWN_CHECKPOINT, Draft
from simulator.spec.scenario import Scenario

WINDOW = {"sinks": 4, "recent": 508}
"""The window that is tried: the 512 tokens of MagicDec (Sadhukhan et al., arXiv:2408.11049)."""

AS_IT_IS = "as it is"

Changes = Mapping[str, Any]
"""Dotted path below a deployment → value; None takes away."""


class Step(NamedTuple):
    """A change of how a deployment holds KV."""

    name: str
    changes: Changes


@dataclass(frozen=True, slots=True)
class Bought:
    """What a deployment has with a step taken."""

    step: Step
    reason: str = ""
    """Why it cannot be taken, does not fit or is not estimated; empty where all is well."""
    fits: bool = False
    shortfall_bytes: int = 0
    """On the fullest GPU: what one sequence of the longest length lacks."""
    sequences: int = 0
    """Of the context that was asked for, which a replica holds at once."""
    kv_tokens: int = 0
    kv_host_bytes: int = 0
    """On the host, for each GPU."""
    kv_host_share: float = 0.0
    row: Mapping[str, Any] | None = None
    """Its estimate, in the shape of `run --json`; None where there is none."""


def bought(scenario: Scenario, name: str, length: int) -> list[Bought]:
    """What a deployment of a scenario has as it is, and with each step alone.

    length: context of the sequences that are counted, one of a ledger's [tokens].
    """
    return list(_bought(alone(scenario, name), name, length))


@lru_cache(maxsize=64)
def _bought(document: str, name: str, length: int) -> tuple[Bought, ...]:
    scenario = Scenario.model_validate_json(document)
    return tuple(_taken(scenario, name, step, length) for step in steps_of(scenario, name))


def _taken(scenario: Scenario, name: str, step: Step, length: int) -> Bought:
    try:
        changed = with_step(scenario.deployments[name], step.changes)
    except ValidationError as error:
        return Bought(step, str(error.errors()[0]["msg"]).removeprefix("Value error, "))
    if problems := check_deployment(name, changed):
        return Bought(step, problems[0].partition(": ")[2])
    held = ledger_of({name: changed})
    unfit = "; ".join(str(row["reason"]) for row in held if not row["fits"])
    row, refused = _estimated(scenario, name, changed)
    return Bought(
        step,
        unfit or refused,
        not unfit,
        max(row["shortfall_bytes"] for row in held),
        min(row["max_sequences_at"][length] for row in held),
        min(row["kv_tokens"] for row in held),
        held[0]["kv_host_bytes"],
        held[0]["kv_host_share"],
        None if unfit else row,
    )


def _estimated(scenario: Scenario, name: str, changed: Deployment) -> tuple[dict[str, Any] | None, str]:
    """The estimated row, or why there is none."""
    try:
        return row_of(scenario.model_copy(update={"deployments": {name: changed}}), name), ""
    except SimulatorError as error:
        return None, str(error)


def with_step(deployment: Deployment, changes: Changes) -> Deployment:
    """A deployment with values put at dotted paths; ValidationError where it does not take them."""
    document = json.loads(deployment.model_dump_json(exclude_unset=True))
    for path, value in changes.items():
        *parents, last = path.split(".")
        place = document
        for key in parents:
            place = place[key]
        place[last] = value
    return Deployment.model_validate_json(json.dumps(document))


def steps_of(scenario: Scenario, name: str) -> Iterator[Step]:
    """A deployment as it is, and every step that changes what it holds; those that take less room together, too."""
    spec = scenario.deployments[name]
    smaller = [*_smaller_formats(spec), *_windows(spec)]
    yield Step(AS_IT_IS, {})
    yield from smaller
    if len(smaller) > 1:
        yield Step("all of these together", {path: value for step in smaller for path, value in step.changes.items()})
    yield from _host(spec)
    yield from _prefix_cache(scenario, spec)
    yield from _larger(spec)
    if spec.speculation.kind != "none":
        yield Step("no draft", {"speculation": {"kind": "none"}} | ({"economics": None} if spec.economics else {}))


def _smaller_formats(spec: Deployment) -> Iterator[Step]:
    if KV_BYTES[spec.target.kv] > 1:
        yield Step("target's KV in fp8", {"target.kv": "fp8"})
    wide = [key for key, draft in _formatted(spec) if KV_BYTES[draft.kv] > 1]
    if wide:
        yield Step(f"{_whose(wide)} KV in fp8", {f"speculation.drafts.{key}.kv": "fp8" for key in wide})


def _windows(spec: Deployment) -> Iterator[Step]:
    whole = [key for key, draft in spec.speculation.drafts.items() if takes_window(draft) and draft.window is None]
    if whole:
        said = f"{_whose(whole)} KV in a window of {sum(WINDOW.values())}"
        yield Step(said, {f"speculation.drafts.{key}.window": dict(WINDOW) for key in whole})


def _larger(spec: Deployment) -> Iterator[Step]:
    """What the formats and windows that are chosen already have bought."""
    if KV_BYTES[spec.target.kv] == 1:
        yield Step("target's KV in bf16", {"target.kv": "bf16"})
    narrow = [key for key, draft in _formatted(spec) if KV_BYTES[draft.kv] == 1]
    if narrow:
        yield Step(f"{_whose(narrow)} KV in bf16", {f"speculation.drafts.{key}.kv": "bf16" for key in narrow})
    capped = [key for key, draft in spec.speculation.drafts.items() if draft.window is not None]
    if capped:
        yield Step(
            f"{_whose(capped)} KV without a window", {f"speculation.drafts.{key}.window": None for key in capped}
        )


def _formatted(spec: Deployment) -> Iterator[tuple[str, Draft]]:
    """Drafts that have KV whose format is chosen."""
    return ((key, draft) for key, draft in spec.speculation.drafts.items() if chooses_format(draft))


def _whose(keys: list[str]) -> str:
    return "draft's" if len(keys) == 1 else "drafts'"


def _host(spec: Deployment) -> Iterator[Step]:
    """As much memory of the host as HBM has room for KV, or none."""
    if spec.engine.kv_host_gb is not None:
        yield Step("no KV on the host", {"engine.kv_host_gb": None, "engine.kv_host_link": None})
    elif has_host(spec):
        gb = round(ledger_of({"any": spec})[0]["kv_budget_bytes"] / 1e9)
        if gb:
            yield Step(f"{gb} GB of the host per GPU", {"engine.kv_host_gb": float(gb)})


def _prefix_cache(scenario: Scenario, spec: Deployment) -> Iterator[Step]:
    if has_prefixes(scenario.workload):
        kept = keeps_prefixes(spec)
        yield Step("no prefix cache" if kept else "a prefix cache", {"engine.prefix_cache": not kept})


def has_host(spec: Deployment) -> bool:
    """Whether there is a host beside the GPU whose memory it could use."""
    return load_gpu(spec.gpu).architecture != "cpu"


def keeps_prefixes(spec: Deployment) -> bool:
    """Whether the engine keeps KV for prompts that begin alike, by its own default where nothing is said."""
    stated = spec.engine.prefix_cache
    return load_engine(spec.engine.policy).scheduler.prefix_cache if stated is None else stated


def chooses_format(draft: Draft) -> bool:
    """Whether a draft has KV whose format is chosen."""
    return draft.way in OWN_CHECKPOINT and not draft.shares_kv


def takes_window(draft: Draft) -> bool:
    """Whether a draft has KV that a window can cap."""
    return draft.way in KEEPS_KV and not draft.shares_kv
