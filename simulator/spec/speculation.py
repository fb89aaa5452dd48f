"""How a deployment speculates: its drafts, how they are combined, and what they propose in a step."""

from itertools import accumulate
from operator import mul
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from simulator.spec.acceptance import Acceptance
from simulator.spec.base import Count, CountOrZero, Name, Spec
from simulator.spec.combine import ParallelStreams, Routed, Series, SingleDraft, Union
from simulator.spec.draft import Draft
from simulator.spec.draft_policy import DraftPolicy, FixedPolicy
from simulator.spec.draft_pool import Layout, check_pool, layout_of
from simulator.spec.placement import Colocated, Placement

MOST_NODES = 1024
"""Largest tree that can be described [nodes]; engines verify up to some 64, offloaded targets up to 768."""

Levels = Annotated[tuple[Count, ...], Field(strict=False, min_length=1, max_length=64)]

Path = Annotated[tuple[Annotated[int, Field(strict=True, ge=0, le=63)], ...], Field(strict=False, min_length=1)]


class Chain(Spec):
    """A chain: each draft token follows the one before."""

    shape: Literal["chain"] = "chain"
    draft_tokens: CountOrZero
    """Draft tokens K proposed per step, the root not counted."""

    @property
    def depth(self) -> int:
        """Most draft tokens that a step can accept."""
        return self.draft_tokens


class Tree(Spec):
    """A tree of fixed widths: every node of level i has widths[i] children."""

    shape: Literal["tree"]
    widths: Levels
    """Children of the root, of each node below it, and so on."""

    @model_validator(mode="after")
    def _not_too_large(self) -> Self:
        if max(self.widths) > 64 or self.draft_tokens > MOST_NODES:
            raise ValueError(f"{self.draft_tokens} nodes: at most {MOST_NODES}, and 64 children of a node")
        return self

    @property
    def depth(self) -> int:
        """Most draft tokens that a step can accept."""
        return len(self.widths)

    @property
    def draft_tokens(self) -> int:
        """Nodes that are verified, root not counted."""
        return sum(accumulate(self.widths, mul))


class NodesTree(Spec):
    """A tree given node by node, as Medusa and Sequoia write theirs."""

    shape: Literal["nodes"]
    paths: Annotated[tuple[Path, ...], Field(strict=False, min_length=1, max_length=MOST_NODES)]
    """Of each node, which child to take from the root on: [0] is the root's best child, [0, 1] that one's second."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        known = set(self.paths)
        if len(known) != len(self.paths):
            raise ValueError("a node stands twice among paths")
        for path in self.paths:
            before = (path[:-1], *((*path[:-1], path[-1] - 1) for _ in range(min(path[-1], 1))))
            if missing := [list(node) for node in before if node and node not in known]:
                raise ValueError(f"node {list(path)} needs {missing[0]}: parents and better siblings come first")
        return self

    @property
    def depth(self) -> int:
        """Most draft tokens that a step can accept."""
        return max(map(len, self.paths))

    @property
    def draft_tokens(self) -> int:
        """Nodes that are verified, root not counted."""
        return len(self.paths)


class DynamicTree(Spec):
    """The best nodes of a tree that grows by the draft's own confidence (EAGLE-2 and -3)."""

    shape: Literal["dynamic_tree"]
    depth: Annotated[Count, Field(le=64)]
    """Passes of the draft, and most draft tokens that a step can accept."""
    top_k: Annotated[Count, Field(le=64)]
    """Nodes that each pass expands, and children of each."""
    nodes: Annotated[Count, Field(le=MOST_NODES)]
    """Nodes that are verified, root not counted."""

    @model_validator(mode="after")
    def _enough(self) -> Self:
        most = self.top_k + (self.depth - 1) * self.top_k**2
        if not self.depth <= self.nodes <= most:
            raise ValueError(
                f"{self.nodes} nodes: depth {self.depth} with top_k {self.top_k} takes from {self.depth} to {most}"
            )
        return self

    @property
    def draft_tokens(self) -> int:
        """Nodes that are verified, root not counted."""
        return self.nodes


class BestTree(Spec):
    """The tree that commits most tokens per second by the measured verify curve (Sequoia)."""

    shape: Literal["best_tree"]
    max_depth: Annotated[Count, Field(le=16)] = 8
    max_nodes: Annotated[Count, Field(le=256)] = 64
    at_sequences: Count = 1
    """Batch for which it is chosen; it is not changed while serving."""

    @property
    def depth(self) -> int:
        """Most draft tokens that a step can accept, whatever is chosen."""
        return self.max_depth

    @property
    def draft_tokens(self) -> int:
        """Most nodes that are verified, root not counted, whatever is chosen."""
        return self.max_nodes


Proposed = Annotated[Chain | Tree | NodesTree | DynamicTree | BestTree, Field(discriminator="shape")]


class NoSpeculation(Spec):
    """Plain decoding."""

    kind: Literal["none"]

    @property
    def drafts(self) -> dict[str, Draft]:
        """None."""
        return {}

    @property
    def draft_tokens(self) -> int:
        """None."""
        return 0


WAY_OF_KIND = {"heads": "head", "ngram": "ngram", "moe_subset": "moe_subset"}
"""Kinds that are only another name for drafts of one way."""


class DraftSpeculation(Spec):
    """Speculation: drafts propose, the target verifies."""

    kind: Literal["drafts", "heads", "ngram", "moe_subset"]
    """drafts: of any way; the others: every draft is of this way."""
    drafts: dict[Name, Draft]
    """Drafts by names of your own."""
    propose: Proposed
    combine: Annotated[SingleDraft | Routed | Union, Field(discriminator="kind")] = SingleDraft()
    streams: Annotated[Series | ParallelStreams, Field(discriminator="kind")] = Series()
    """How several drafts share the GPU in a step."""
    placement: Placement = Colocated()
    policy: DraftPolicy = FixedPolicy()

    @model_validator(mode="before")
    @classmethod
    def _usual_kinds(cls, data: Any) -> Any:
        """A chain, one draft, in series: where no shape or kind is written."""
        if not isinstance(data, dict):
            return data
        usual = {"propose": {"shape": "chain"}, "combine": {"kind": "single"}, "streams": {"kind": "series"}}
        found = {key: kind | data[key] for key, kind in usual.items() if isinstance(data.get(key), dict)}
        return data | found

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        way = WAY_OF_KIND.get(self.kind)
        for name, draft in self.drafts.items():
            if way is not None and draft.way != way:
                raise ValueError(
                    f"kind {self.kind}: draft {name} is given by `{draft.way}`, not by `{way}`; kind drafts takes any"
                )
        self._count_drafts()
        self._names_of_combine()
        self._what_a_policy_can()
        if self.placement.kind == "dedicated":
            check_pool(self.placement, self.drafts, self.propose, self.streams)
        return self

    def _count_drafts(self) -> None:
        count = len(self.drafts)
        if self.combine.kind == "single" and count != 1:
            raise ValueError(f"combine: single takes exactly one draft, got {count}; say routed or union for several")
        if self.combine.kind != "single" and count > 8:
            raise ValueError(f"{count} drafts: at most 8")
        if count == 1 and self.streams.kind == "parallel":
            raise ValueError("streams: parallel has no effect with one draft; leave it out")

    def _names_of_combine(self) -> None:
        combine = self.combine
        if combine.kind == "routed":
            for where, name in (*combine.routes.items(), ("fallback", combine.fallback)):
                if name not in self.drafts:
                    known = ", ".join(self.drafts)
                    raise ValueError(f"routed: {where} names {name}, which is not among the drafts ({known})")
        if combine.kind == "union" and combine.recursive_rejection is not None:
            order = combine.recursive_rejection.order
            if order is not None and sorted(order) != sorted(self.drafts):
                raise ValueError(f"order names each draft once ({', '.join(self.drafts)}); got {', '.join(order)}")
        if combine.kind == "union" and self.propose.shape != "chain":
            raise ValueError("a union verifies a tree of its drafts' chains: propose a chain")

    def _what_a_policy_can(self) -> None:
        """A policy shortens chains; it never proposes more than `propose`, for which the scheduler reserves."""
        policy = self.policy
        if policy.kind == "fixed":
            return
        if self.propose.shape != "chain":
            raise ValueError(f"policy {policy.kind} changes the length of a chain; a {self.propose.shape} stays whole")
        if self.combine.kind == "union":
            raise ValueError(f"policy {policy.kind} changes the length of a chain; a union verifies a tree of several")
        if self.placement.kind != "colocated":
            raise ValueError(f"policy {policy.kind} is for drafts beside the target; on GPUs of their own K is fixed")
        if policy.most > self.propose.draft_tokens:
            raise ValueError(
                f"policy {policy.kind} names {policy.most} draft tokens, above the {self.propose.draft_tokens} of "
                "propose.draft_tokens: raise that, it is what KV and token budget are reserved for"
            )

    def draft_layout(self) -> Layout:
        """How the drafts lie on the GPUs of their pool."""
        assert self.placement.kind == "dedicated"
        return layout_of(self.placement, self.drafts)

    @property
    def draft_tokens(self) -> int:
        """Most draft tokens of all drafts that a step verifies per sequence, root not counted."""
        return self.propose.draft_tokens * (len(self.drafts) if self.combine.kind == "union" else 1)

    @property
    def acceptances(self) -> list[Acceptance]:
        """What is accepted of each draft in each class that it names."""
        return [acceptance for draft in self.drafts.values() for acceptance in draft.acceptance.values()]

    @property
    def draft(self) -> Draft:
        """The only draft, where there is one."""
        return next(iter(self.drafts.values()))


Speculation = Annotated[NoSpeculation | DraftSpeculation, Field(discriminator="kind")]
