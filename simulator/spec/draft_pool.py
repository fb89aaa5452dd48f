"""What a pool of draft GPUs holds, and which drafts and proposals it cannot serve."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from simulator.spec.combine import ParallelStreams, Series
from simulator.spec.draft import Draft
from simulator.spec.placement import Dedicated, DraftAhead

ON_ITS_OWN = ("model", "abstract")
"""Ways to give a draft that can run away from its target."""
WHY_NOT = {
    "head": "a head reads the target's hidden states and its embedding",
    "moe_subset": "a subset of experts is a part of the target",
    "ngram": "copied text needs no GPU, and has no probabilities to send",
    "measured": "what was measured beside the target says nothing of another GPU",
}
"""Other ways → what keeps them with it."""


class Layout(NamedTuple):
    """How the drafts lie on the GPUs of a pool."""

    copies: Mapping[str, int]
    """Draft → copies, among which sequences are dealt out."""
    apart: bool
    """Whether each draft has GPUs of its own; else all lie on every GPU and take turns as `streams` says."""
    idle: int
    """GPUs of which no draft makes use."""


def layout(gpus: int, splits: Mapping[str, int]) -> Layout:
    """Drafts on GPUs of their own, equally many copies of each, where all have room; else all on every GPU.

    splits: draft → GPUs over which it is split.

    >>> layout(4, {"a": 1, "b": 1})
    Layout(copies={'a': 2, 'b': 2}, apart=True, idle=0)
    >>> layout(1, {"a": 1, "b": 1})
    Layout(copies={'a': 1, 'b': 1}, apart=False, idle=0)
    """
    all_at_once = sum(splits.values())
    if gpus >= all_at_once:
        return Layout(dict.fromkeys(splits, gpus // all_at_once), len(splits) > 1, gpus % all_at_once)
    copies = {name: gpus // split for name, split in splits.items()}
    return Layout(copies, False, max(gpus - copies[name] * split for name, split in splits.items()))


class Proposal(Protocol):
    """What is proposed, as far as a pool is concerned."""

    @property
    def shape(self) -> str:
        """chain, tree, …"""

    @property
    def depth(self) -> int:
        """Most draft tokens that a step can accept."""


def layout_of(pool: Dedicated, drafts: Mapping[str, Draft]) -> Layout:
    """How the drafts lie on the GPUs of a pool."""
    return layout(pool.gpus, {name: draft.tensor_parallel for name, draft in drafts.items()})


def check_pool(
    pool: Dedicated, drafts: Mapping[str, Draft], propose: Proposal, streams: Series | ParallelStreams
) -> None:
    """Raise ValueError for what this pool cannot do with these drafts."""
    for name, draft in drafts.items():
        _check_draft(name, draft, pool)
    found = layout_of(pool, drafts)
    if found.idle:
        each = ", ".join(f"{name} {draft.tensor_parallel}" for name, draft in drafts.items())
        raise ValueError(
            f"placement.gpus {pool.gpus}: {found.idle} would idle beside drafts split over so many GPUs: {each}; a "
            "pool holds equally many copies of each"
        )
    if found.apart and streams.kind == "parallel":
        raise ValueError("streams: parallel has no effect on drafts with GPUs of their own; leave it out")
    if pool.overlap.kind == "draft_ahead":
        _check_ahead(pool.overlap, propose)


def _check_draft(name: str, draft: Draft, pool: Dedicated) -> None:
    if draft.way not in ON_ITS_OWN:
        raise ValueError(
            f"placement dedicated: draft {name} is given by `{draft.way}`: {WHY_NOT[draft.way]}; keep it colocated"
        )
    if draft.shares_target_kv:
        raise ValueError(
            f"placement dedicated: draft {name} shares the target's KV, which lies on other GPUs: leave "
            "shares_target_kv out, or keep it colocated"
        )
    if draft.tensor_parallel > pool.gpus:
        raise ValueError(
            f"draft {name}: the draft's tensor_parallel {draft.tensor_parallel} is above placement.gpus {pool.gpus}: a "
            "pool holds a whole draft"
        )


def _check_ahead(ahead: DraftAhead, propose: Proposal) -> None:
    if ahead.outcomes > propose.depth + 1:
        raise ValueError(
            f"draft_ahead: {ahead.outcomes} outcomes, but a step accepts 0 to {propose.depth} draft tokens: at most "
            f"{propose.depth + 1}"
        )
    if ahead.bonus_guess is not None and propose.shape != "chain":
        raise ValueError(
            f"draft_ahead: what a {propose.shape} is guessed to commit follows from no formula: give its hit"
        )
