"""What a step accepts of all that its drafts propose: chains, trees, routed drafts and unions, as survival by depth.

Whatever is proposed comes down to the same: groups of requests of a class, each with the chance that a step accepts a
draft token at depth 1, 2, …. Groups stand for a request's own difficulty, which is the same for every draft.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.catalog.presets import stated
from simulator.errors import ScenarioError
from simulator.physics.acceptance import conditional_from_survival
from simulator.physics.curves import extended
from simulator.physics.drafted import drafted_shares
from simulator.physics.factors import AS_MEASURED, Conditions
from simulator.physics.rejection import union_survival
from simulator.physics.spread import mean_over_steps
from simulator.physics.survival import acceptance_tables, measured_positions, survival_for
from simulator.physics.trees import nodes_of, tree_survival
from simulator.spec.acceptance import Acceptance
from simulator.spec.combine import Routed, Union
from simulator.spec.draft import Draft
from simulator.spec.speculation import (
    BestTree,
    Chain,
    DraftSpeculation,
    DynamicTree,
    NodesTree,
    Proposed,
    Tree,
)

Floats = NDArray[np.float64]


class Part(NamedTuple):
    """Requests of a class that one draft serves, or all drafts together."""

    draft: str | None
    """Its name; None: all of a union."""
    share: float
    """Of the class's requests [0 to 1]."""
    survival: Floats
    """[prompt lengths, groups, depth], the groups equally likely [0 to 1]."""


def class_parts(
    speculation: DraftSpeculation, class_name: str, conditions: Conditions = AS_MEASURED
) -> tuple[Part, ...]:
    """Who serves a class of requests, and what a step accepts of it.

    Raises ScenarioError where the acceptance given does not say what the proposed tree needs to know.
    """
    return COMBINED[speculation.combine.kind](speculation, class_name, conditions)


def survival_by_group(parts: Sequence[Part]) -> tuple[Floats, Floats]:
    """Survival [prompt lengths, groups, depth] of all parts of a class, and each group's share of its requests.

    Parts lie side by side within a group, so that a request is as difficult whichever draft it gets.
    """
    groups = max(part.survival.shape[1] for part in parts)
    lengths, _, depth = parts[0].survival.shape
    beside = np.stack([np.broadcast_to(part.survival, (lengths, groups, depth)) for part in parts], axis=2)
    weights = np.tile([part.share / groups for part in parts], groups)
    return beside.reshape(lengths, groups * len(parts), depth), weights


def tokens_over_steps(part: Part) -> Floats:
    """Tokens per step of a part over time, by length of prompt [tokens]."""
    return np.array([mean_over_steps(1.0 + survival.sum(axis=1)) for survival in part.survival])


def _single(speculation: DraftSpeculation, class_name: str, conditions: Conditions) -> tuple[Part, ...]:
    name = next(iter(speculation.drafts))
    return (Part(name, 1.0, draft_survival(speculation, name, class_name, conditions)),)


def _routed(speculation: DraftSpeculation, class_name: str, conditions: Conditions) -> tuple[Part, ...]:
    """The class's own draft as often as the router is right, the fallback else."""
    return tuple(
        Part(name, share, draft_survival(speculation, name, class_name, conditions))
        for name, share in routed_shares(speculation, class_name).items()
    )


def routed_shares(speculation: DraftSpeculation, class_name: str) -> dict[str, float]:
    """Draft → share of a class's requests that the router sends to it; drafts that get none are left out [0 to 1]."""
    combine = speculation.combine
    assert isinstance(combine, Routed)
    own = combine.routes[class_name if class_name in combine.routes else "all"]
    right = combine.accuracy[class_name if class_name in combine.accuracy else "all"]
    if own == combine.fallback:
        return {own: 1.0}
    return {name: share for name, share in ((own, right), (combine.fallback, 1.0 - right)) if share > 0}


def _union(speculation: DraftSpeculation, class_name: str, conditions: Conditions) -> tuple[Part, ...]:
    """All drafts propose: what was measured of them together, or what their own acceptance makes by a stated law."""
    combine = speculation.combine
    assert isinstance(combine, Union)
    if combine.survival is not None:
        curve = extended(_measured_together(combine, class_name), speculation.propose.depth)
        table = np.array(curve[: speculation.propose.depth])
        return (Part(None, 1.0, np.tile(table, (len(conditions.prompt_tokens), 1, 1))),)
    assert combine.recursive_rejection is not None
    own = {name: draft_survival(speculation, name, class_name, conditions) for name in speculation.drafts}
    if len(own) == 1:
        return (Part(None, 1.0, next(iter(own.values()))),)
    together = np.stack(np.broadcast_arrays(*own.values()))
    law, names = combine.recursive_rejection, list(own)
    order = None if law.order is None else [names.index(name) for name in law.order]
    return (Part(None, 1.0, union_survival(together, law.correlation, order)),)


def _measured_together(combine: Union, class_name: str) -> tuple[float, ...]:
    assert combine.survival is not None
    return combine.survival[class_name if class_name in combine.survival else "all"]


COMBINED: dict[str, Callable[[DraftSpeculation, str, Conditions], tuple[Part, ...]]] = {
    "single": _single,
    "routed": _routed,
    "union": _union,
}
"""How several drafts work together → who serves a class."""


def draft_survival(
    speculation: DraftSpeculation, draft: str, class_name: str, conditions: Conditions = AS_MEASURED
) -> Floats:
    """Survival of what one draft proposes on its own, [prompt lengths, groups, depth] [0 to 1]."""
    spec, propose = speculation.drafts[draft], speculation.propose
    acceptance = stated(spec.acceptance_of(class_name))
    kept = 1.0 if spec.moe_subset is None else 1.0 - spec.moe_subset.routing_mismatch
    chain = acceptance_tables(acceptance, propose.depth, conditions, kept)
    if _is_chain(propose) or acceptance.of == "tree":
        return chain
    return _of_tree(propose, acceptance, chain)


def _of_tree(propose: Proposed, acceptance: Acceptance, chain: Floats) -> Floats:
    """Survival by depth of a tree, from that of the chain of its best nodes.

    A dynamic tree is the one that the class's mean acceptance makes; it is the same for all of its requests.
    """
    assert not isinstance(propose, BestTree)
    if acceptance.drafted is not None:
        raise ScenarioError("drafted says how long a chain was: leave it out where a tree is proposed")
    branches = branches_of(acceptance, propose)
    before = np.concatenate((np.ones((*chain.shape[:-1], 1)), chain[..., :-1]), axis=-1)
    conditional = np.divide(chain, before, out=np.zeros_like(chain), where=before > 0)
    typical = conditional_from_survival(survival_for(acceptance, propose.depth))
    return tree_survival(nodes_of(propose, typical, branches), conditional, branches)


def branches_of(acceptance: Acceptance, propose: Proposed) -> tuple[float, ...]:
    """Chance of each child of a node, as many as the tree has; beyond those given they fall on as the last two did.

    Raises ScenarioError where nothing is said of a second child.
    """
    children, given = most_children(propose), acceptance.branches or ()
    if len(given) < 2:
        raise ScenarioError(
            f"nodes have up to {children} children, and nothing says what each brings: add branches (chance that the "
            "1st, 2nd, … child is the one that is kept), or of: tree where the figures are of this very tree by depth; "
            "or propose a chain"
        )
    found, ratio = list(given), min(given[-1] / given[-2], 1.0) if given[-2] > 0 else 0.0
    while len(found) < children:
        found.append(max(min(found[-1] * ratio, 1.0 - sum(found)), 0.0))
    return tuple(found)


def most_children(propose: Proposed) -> int:
    """Most children that a node of the tree has."""
    if isinstance(propose, Tree):
        return max(propose.widths)
    if isinstance(propose, NodesTree):
        return max(max(path) for path in propose.paths) + 1
    return propose.top_k if isinstance(propose, DynamicTree) else 1


def _is_chain(propose: Proposed) -> bool:
    """Whether no node has a second child."""
    return isinstance(propose, Chain) or (isinstance(propose, Tree | NodesTree) and most_children(propose) == 1)


def proposed_shares(speculation: DraftSpeculation, draft: str | None, class_name: str) -> tuple[float, ...] | None:
    """Share of steps that propose exactly 0, 1, … draft tokens; None: all propose what they can [0 to 1].

    draft: who proposes; None: all of a union, each on its own.
    """
    names = list(speculation.drafts) if draft is None else [draft]
    known = [_stated_of(speculation.drafts[name], class_name) for name in names]
    if all(a is None or a.drafted is None for a in known):
        return None
    k = speculation.propose.draft_tokens
    total = np.ones(1)
    for acceptance in known:
        total = np.convolve(total, drafted_shares(acceptance, k) if acceptance else (*(0.0,) * k, 1.0))
    return tuple(total.tolist())


def _stated_of(draft: Draft, class_name: str) -> Acceptance | None:
    """Acceptance of a class; None where a union that was measured as a whole does not ask its draft."""
    known = draft.acceptance
    return stated(draft.acceptance_of(class_name)) if class_name in known or "all" in known else None


def extrapolations(speculation: DraftSpeculation, classes: Sequence[str]) -> Iterator[str]:
    """What is taken of acceptance beyond what was measured, in words."""
    found: dict[str, list[str]] = {}
    for class_name in classes:
        for what, known, used in _known_and_used(speculation, class_name):
            if used > known:
                found.setdefault(f"{what} = {known}", []).append(class_name)
    for what, names in found.items():
        whose, _, where = what.partition(":")
        yield f"acceptance of {', '.join(names)}{whose} extrapolated beyond {where}"


def _known_and_used(speculation: DraftSpeculation, class_name: str) -> Iterator[tuple[str, int, int]]:
    """By whom and in what, up to where it was measured, and up to where it is used."""
    combine, propose = speculation.combine, speculation.propose
    if isinstance(combine, Union) and combine.survival is not None:
        yield " by the union:K", len(_measured_together(combine, class_name)), propose.depth
        return
    serving = routed_shares(speculation, class_name) if isinstance(combine, Routed) else speculation.drafts
    for name in serving:
        whose = f" by {name}" if len(speculation.drafts) > 1 else ""
        acceptance = stated(speculation.drafts[name].acceptance_of(class_name))
        yield f"{whose}:K", measured_positions(acceptance), propose.depth
        if acceptance.of == "chain" and acceptance.branches is not None:
            yield f"{whose}:children of a node", len(acceptance.branches), most_children(propose)
