"""Which child of a node the target keeps: trees are remembered while they are proposed, and seen through afterwards."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from calibration.wrapped import Wrapped
from engine.drafters import Draft, Drafter
from engine.sequence import SequenceState
from engine.trees import ROOT


class Watched(Wrapped):
    """A drafter, and what it has proposed."""

    def __init__(self, drafter: Drafter) -> None:
        super().__init__(drafter)
        self.proposed: dict[int, list[tuple[int, Draft]]] = {}
        """By request number: tokens of the sequence before each verify step, and its draft."""

    def propose(self, sequences: Sequence[SequenceState], counts: Sequence[int]) -> list[Draft]:
        """See Drafter."""
        drafts = super().propose(sequences, counts)
        for sequence, draft in zip(sequences, drafts, strict=True):
            self.proposed.setdefault(sequence.number, []).append((len(sequence.tokens), draft))
        return drafts


@dataclass(slots=True)
class Branching:
    """Counts by depth and rank of a child among its siblings, the first tried first."""

    met: list[list[int]] = field(default_factory=list)
    """[depth][rank] nodes kept above that had such a child."""
    kept: list[list[int]] = field(default_factory=list)
    """[depth][rank] such children that were kept."""

    def add(self, draft: Draft, accepted: int, tokens: Sequence[int]) -> None:
        """Take in a verify step.

        tokens: what it committed; the last step of a request is cut at the output length, and only seen so far.
        """
        node = ROOT
        for depth in range(accepted + 1):
            children = [child for child, parent in enumerate(draft.tree) if parent == node]
            if not children or (depth < accepted and depth >= len(tokens)):
                return
            rank = None if depth == accepted else [draft.tokens[c] for c in children].index(tokens[depth])
            self._count(depth, len(children), rank)
            if rank is not None:
                node = children[rank]

    def _count(self, depth: int, children: int, rank: int | None) -> None:
        for table in (self.met, self.kept):
            table += [[] for _ in range(depth + 1 - len(table))]
            table[depth] += [0] * (children - len(table[depth]))
        for child in range(children):
            self.met[depth][child] += 1
        if rank is not None:
            self.kept[depth][rank] += 1


def branching_of(sequence: SequenceState, proposed: Sequence[tuple[int, Draft]]) -> Branching:
    """What became of all trees of a request."""
    found = Branching()
    for (length, draft), (_, accepted) in zip(proposed, sequence.rounds, strict=True):
        found.add(draft, accepted, sequence.tokens[length : length + accepted])
    return found


class Shares(NamedTuple):
    """Acceptance of any tree of a draft, by the positional law."""

    survival: tuple[float, ...]
    """Of the chain of best children, by depth [0 to 1]."""
    branches: tuple[float, ...]
    """Chance of the 1st, 2nd, … child to be the one that is kept, given that its parent was [0 to 1]."""


def shares_of(counts: Iterable[Branching], digits: int = 4) -> Shares:
    """Shares over many requests; where few nodes had so many children, they may add up to 1 at most."""
    listed = list(counts)
    met, kept = ([getattr(one, name) for one in listed] for name in ("met", "kept"))
    survival, alive = [], 1.0
    for depth in range(max((len(table) for table in met), default=0)):
        alive *= _ratio(*(sum(_at(table, depth, 0) for table in of) for of in (kept, met)))
        survival.append(round(alive, digits))
    ranks = max((len(row) for table in met for row in table), default=0)
    chances = [_ratio(*(sum(_over_depths(table, rank) for table in of) for of in (kept, met))) for rank in range(ranks)]
    whole = max(sum(chances), 1.0)
    return Shares(tuple(survival), tuple(int(chance / whole * 10**digits) / 10**digits for chance in chances))


def _at(table: Sequence[Sequence[int]], depth: int, rank: int) -> int:
    return table[depth][rank] if depth < len(table) and rank < len(table[depth]) else 0


def _over_depths(table: Sequence[Sequence[int]], rank: int) -> int:
    return sum(_at(table, depth, rank) for depth in range(len(table)))


def _ratio(some: int, of: int) -> float:
    return some / of if of else 0.0
