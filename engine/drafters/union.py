"""Several drafts at once: their chains or trees merged into one tree, which the target verifies in one pass."""

from collections.abc import Sequence

import torch
from torch import Tensor

from engine.drafters.interface import Draft, Drafter
from engine.errors import DraftError
from engine.kv_cache import KvStore
from engine.model import Model
from engine.sequence import Chunk, SequenceState
from engine.trees import ROOT, chain_of


class Union:
    """Asks each draft for as many tokens, the first ones first where the number does not divide.

    At each place the drafts' tokens are tried in the order of the drafts.
    """

    def __init__(self, drafters: Sequence[Drafter]) -> None:
        if not drafters:
            raise DraftError("union: no draft was given")
        self.drafters = drafters

    def attach(self, target: Model, store: KvStore) -> None:
        """See Drafter."""
        for drafter in self.drafters:
            drafter.attach(target, store)

    def prefill(self, chunks: Sequence[Chunk]) -> None:
        """See Drafter."""
        for drafter in self.drafters:
            drafter.prefill(chunks)

    def propose(self, sequences: Sequence[SequenceState], counts: Sequence[int]) -> list[Draft]:
        """See Drafter."""
        drafts: list[list[Draft]] = [[] for _ in sequences]
        for place, drafter in enumerate(self.drafters):
            shares = [(count + len(self.drafters) - 1 - place) // len(self.drafters) for count in counts]
            for mine, draft in zip(drafts, drafter.propose(sequences, shares), strict=True):
                mine.append(draft)
        return [merged(mine) for mine in drafts]

    def release(self, sequence: SequenceState) -> None:
        """See Drafter."""
        for drafter in self.drafters:
            drafter.release(sequence)


def merged(drafts: Sequence[Draft]) -> Draft:
    """One tree of several drafts, shared prefixes once; a token that several drafts drew is tried once for each.

    A certain draft's second trial of a token is left out: where the first fell, nothing of it is left.

    >>> merged([Draft([1, 2]), Draft([1, 3]), Draft([4])])[0:3:2]
    ([1, 2, 3, 4], [-1, 0, 0, -1])
    """
    drawn = any(draft.probs is not None for draft in drafts)
    tokens: list[int] = []
    parents: list[int] = []
    trials: list[int] = []
    rows: list[Tensor | int] = []
    known: dict[tuple[int, int], int] = {}
    for draft in drafts:
        place: dict[int, int] = {ROOT: ROOT}
        for trial, node in enumerate(range(len(draft.tokens)) if draft.trials is None else draft.trials):
            token = draft.tokens[node]
            key = (place[draft.tree[node]], token)
            new = key not in known
            if new:
                known[key] = len(tokens)
                tokens.append(token)
                parents.append(key[0])
            place[node] = known[key]
            if new or draft.probs is not None:
                trials.append(known[key])
                rows.append(token if draft.probs is None else draft.probs[trial])
    probs = _stacked(rows) if drawn else None
    if parents == list(chain_of(len(tokens))) and trials == list(range(len(tokens))):
        return Draft(tokens, probs)
    return Draft(tokens, probs, parents, trials)


def _stacked(rows: Sequence[Tensor | int]) -> Tensor:
    """[rows, vocabulary] of distributions, those of certain tokens among them."""
    like = next(row for row in rows if isinstance(row, Tensor))
    certain = torch.arange(len(like), device=like.device)
    return torch.stack([row if isinstance(row, Tensor) else (certain == row).to(like) for row in rows])
