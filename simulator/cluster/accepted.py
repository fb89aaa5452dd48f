"""What a deployment's requests accept, by class and prompt length: tables to draw from, and means over all steps.

A request has a share of the steps by how few tokens each of them commits; outputs are taken to be equally long.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.catalog.presets import stated
from simulator.cluster.sessions import with_prefixes
from simulator.cluster.streams import acceptance_key
from simulator.cluster.traffic import RequestChunk, request_chunks
from simulator.physics.factors import Conditions
from simulator.physics.proposed import (
    Part,
    class_parts,
    extrapolations,
    proposed_shares,
    survival_by_group,
    tokens_over_steps,
)
from simulator.spec.deployment import Deployment
from simulator.spec.speculation import DraftSpeculation
from simulator.spec.workload import Workload

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BETWEEN_KNOTS = 128
"""Ranges of prompt lengths between two that acceptance was measured at, each with a table of its own."""


@dataclass(frozen=True, slots=True)
class AcceptanceTables:
    """Survival of groups of requests, by class and, within it, by range of prompt lengths."""

    context_edges: Ints
    """Prompt lengths at which the next range begins, rising; none where acceptance does not depend on them."""
    survival: tuple[Floats, ...]
    """By class and range: [groups, depth] [0 to 1]."""
    weights: tuple[Floats, ...]
    """By class and range: share of its requests in each group; none where all groups are equally large [0 to 1]."""
    drafted_tokens: tuple[float, ...]
    """By class and range: draft tokens that a step proposes, mean [tokens]."""


def tables_of(deployment: Deployment, classes: Sequence[str], temperature: float | None = None) -> AcceptanceTables:
    """Tables for requests of these classes; of no position where nothing is proposed."""
    speculation = deployment.speculation
    if speculation.kind == "none" or not speculation.draft_tokens:
        count = len(classes)
        return AcceptanceTables(np.empty(0, np.int64), (np.empty((1, 0)),) * count, (), (0,) * count)
    edges = context_edges(speculation, classes)
    conditions = Conditions(temperature, _within(edges))
    survival, weights, drafted = [], [], []
    for name in classes:
        parts = class_parts(speculation, name, conditions)
        tables, shares = survival_by_group(parts)
        survival += list(tables)
        weights += [shares] * len(tables)
        drafted += _drafted_tokens(speculation, name, parts)
    even = all((shares == shares[0]).all() for shares in weights)
    return AcceptanceTables(edges, tuple(survival), () if even else tuple(weights), tuple(drafted))


def _drafted_tokens(speculation: DraftSpeculation, class_name: str, parts: Sequence[Part]) -> list[float]:
    """Draft tokens that a step of a class proposes, mean, by range of prompt lengths."""
    shares = [proposed_shares(speculation, part.draft, class_name) for part in parts]
    most = speculation.draft_tokens
    if all(of is None for of in shares):
        return [most] * parts[0].survival.shape[0]
    each = [most if of is None else float(np.arange(len(of)) @ np.array(of)) for of in shares]
    steps = np.array([part.share / tokens_over_steps(part) for part in parts])
    return (np.array(each) @ steps / steps.sum(axis=0)).tolist()  # type: ignore[no-any-return]


def context_edges(speculation: DraftSpeculation, classes: Collection[str]) -> Ints:
    """Prompt lengths at which acceptance changes: those that were measured, and steps between each two [tokens]."""
    knots: set[int] = set()
    for draft in speculation.drafts.values():
        for name in draft.acceptance.keys() & {*classes, "all"}:
            knots |= set(draft.acceptance[name].by_context or ())
    known = sorted(knots)
    between = [np.linspace(low, high, BETWEEN_KNOTS, endpoint=False) for low, high in pairwise(known)]
    return np.unique(np.concatenate([*between, known[-1:]]).round().astype(np.int64))


def _within(edges: Ints) -> tuple[float, ...]:
    """A prompt length that stands for each range: its middle, and the nearest that was measured at both ends."""
    if not edges.size:
        return (0.0,)
    return (float(edges[0]), *((edges[:-1] + edges[1:] - 1) / 2).tolist(), float(edges[-1]))


class StepShare(NamedTuple):
    """Steps of the requests of one class that one draft serves, or all drafts of a union."""

    class_name: str
    draft: str | None
    share: float
    """Of all steps [0 to 1]."""
    survival: Floats
    """[depth] mean over these steps [0 to 1]."""


def step_shares(deployment: Deployment, workload: Workload) -> list[StepShare]:
    """Who takes which share of all steps; requests that commit few tokens a step take more. Empty: no speculation."""
    speculation = deployment.speculation
    if speculation.kind == "none" or not speculation.draft_tokens:
        return []
    edges = context_edges(speculation, workload.classes)
    conditions, lengths = Conditions(workload.temperature, _within(edges)), _length_shares(workload, edges)
    found = []
    for name, share in workload.classes.items():
        for part in class_parts(speculation, name, conditions):
            groups = part.survival.shape[1]
            steps = share * part.share * lengths[:, None] / groups / (1.0 + part.survival.sum(axis=2))
            mean = np.tensordot(steps, part.survival, axes=2) / max(float(steps.sum()), 1e-300)
            found.append(StepShare(name, part.draft, float(steps.sum()), mean))
    total = sum(of.share for of in found)
    return [of._replace(share=of.share / total) for of in found]


def _length_shares(workload: Workload, edges: Ints) -> Floats:
    """Share of the requests in each range of prompt lengths, by the first requests of a stream of their own."""
    if not edges.size:
        return np.ones(1)
    counts = np.bincount(np.searchsorted(edges, _some_prompts(workload), side="right"), minlength=edges.size + 1)
    return np.asarray(counts / counts.sum())


def _some_prompts(workload: Workload) -> Ints:
    return _some_requests(workload).prompt_tokens


def _some_requests(workload: Workload) -> RequestChunk:
    return next(with_prefixes(request_chunks(workload, 0, 0, None), workload.prefix, acceptance_key(0, 0)))


def expected_context(workload: Workload) -> float:
    """Context of a running sequence, mean over its output tokens [tokens]."""
    some = _some_requests(workload)
    outputs = some.output_tokens.astype(np.float64)
    return float(np.average(some.prompt_tokens + outputs / 2, weights=outputs))


def drafted_mix(deployment: Deployment, workload: Workload) -> tuple[float, ...] | None:
    """Share of all steps that propose exactly 0, 1, … draft tokens; None: all propose what they can."""
    speculation = deployment.speculation
    if speculation.kind == "none" or not _may_propose_less(speculation):
        return None
    most = speculation.draft_tokens
    mixed = np.zeros(most + 1)
    for of in step_shares(deployment, workload):
        shares = proposed_shares(speculation, of.draft, of.class_name)
        mixed += of.share * (np.eye(most + 1)[most] if shares is None else np.array(shares))
    return tuple(mixed.tolist()) if mixed[:most].any() else None


def _may_propose_less(speculation: DraftSpeculation) -> bool:
    return any(stated(acceptance).drafted is not None for acceptance in speculation.acceptances)


def draft_shares(deployment: Deployment, workload: Workload) -> dict[str, float]:
    """Draft → share of the decoding sequences that it drafts for, mean over steps; all of a union draft for all."""
    speculation = deployment.speculation
    if speculation.kind == "none" or speculation.combine.kind != "routed":
        return dict.fromkeys(speculation.drafts, 1.0)
    shares = dict.fromkeys(speculation.drafts, 0.0)
    for of in step_shares(deployment, workload):
        assert of.draft is not None
        shares[of.draft] += of.share
    return shares


def survival_over_steps(deployment: Deployment, workload: Workload) -> tuple[float, ...]:
    """Survival by depth over the steps of all requests, as an engine's counters would show it [0 to 1]."""
    parts = step_shares(deployment, workload)
    return tuple(sum(of.share * of.survival for of in parts).tolist()) if parts else ()  # type: ignore[union-attr]


def extrapolated(deployment: Deployment, workload: Workload) -> Iterator[str]:
    """What is taken of acceptance beyond what was measured, in words."""
    speculation = deployment.speculation
    if speculation.kind == "none":
        return
    yield from extrapolations(speculation, list(workload.classes))
    edges = context_edges(speculation, workload.classes)
    if edges.size:
        prompts = _some_prompts(workload)
        for beyond, edge in (((prompts < edges[0]).mean(), edges[0]), ((prompts > edges[-1]).mean(), edges[-1])):
            if beyond > 0:
                yield f"acceptance of {beyond:.0%} of the prompts as at {edge:,} tokens, the last length measured"
