"""A draft model that proposes trees: one pass per level over all nodes that are expanded there.

The nodes' keys and values lie behind the sequence in the draft's cache, in the order in which they were computed; each
row looks at its own path. The next step computes the tokens that were accepted anew, in its first pass.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from engine.batch import Branches, Span
from engine.drafters.interface import Draft, DraftSetup
from engine.drafters.model_draft import Decoder
from engine.growth import Choice, Growth, new_growth
from engine.kv_cache import KvStore
from engine.model import Model
from engine.sampling import pick, shaped_probs, widened
from engine.sequence import Chunk, SequenceState
from engine.trees import ROOT, DynamicTree, Shape, depths, path_to

D = TypeVar("D", bound=Decoder)


class TreeDraft:
    """A draft model's trees."""

    def __init__(self, decoder: Decoder, shape: Shape, *, replacement: bool) -> None:
        """replacement: whether siblings are drawn with replacement, where they are drawn."""
        self._decoder, self._shape, self._replacement = decoder, shape, replacement

    def attach(self, target: Model, store: KvStore) -> None:
        """See Drafter."""
        self._decoder.attach(target, store)

    def prefill(self, chunks: Sequence[Chunk]) -> None:
        """See Drafter."""
        self._decoder.prefill(chunks)

    def propose(self, sequences: Sequence[SequenceState], counts: Sequence[int]) -> list[Draft]:
        """See Drafter; the first pass catches up with the target."""
        growing = [_Growing(s, new_growth(self._shape, count)) for s, count in zip(sequences, counts, strict=True)]
        while True:
            level = [(g, nodes) for g in growing if (nodes := g.growth.frontier())]
            if not level:
                return [g.growth.draft() for g in growing]
            logits = self._decoder.compute([self._span(g, nodes) for g, nodes in level])
            rows = iter(logits)
            for g, nodes in level:
                for node in nodes:
                    g.growth.add(node, self._choices(next(rows), g.sequence, g.growth.wanted(node)))

    def release(self, sequence: SequenceState) -> None:
        """See Drafter."""
        self._decoder.release(sequence)

    def assume(self, sequence: SequenceState) -> None:
        """See Decoder."""
        self._decoder.assume(sequence)

    def _span(self, growing: "_Growing", nodes: Sequence[int]) -> Span:
        if nodes == [ROOT]:
            return self._decoder.catch_up(growing.sequence)
        return growing.span(nodes)

    def _choices(self, logits: Tensor, sequence: SequenceState, count: int) -> list[Choice]:
        """Tokens that may follow: the likeliest, or drawn ones where a sampled request has a tree of a known shape."""
        sampling = sequence.request.sampling
        if sequence.rng is not None and not isinstance(self._shape, DynamicTree):
            probs = shaped_probs(widened(logits), sampling)
            return drawn(probs, sequence.rng.random, count, replacement=self._replacement)
        probs = widened(logits).softmax(-1) if sequence.rng is None else shaped_probs(widened(logits), sampling)
        best = probs.topk(min(count, len(probs)))
        pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        return [Choice(token, confidence) for token, confidence in pairs if confidence > 0.0]


def in_shape(build: Callable[[DraftSetup], D]) -> Callable[[DraftSetup], D | TreeDraft]:
    """The same decoder, proposing trees where the setup names a shape."""

    def built(setup: DraftSetup) -> D | TreeDraft:
        decoder = build(setup)
        return decoder if setup.shape is None else TreeDraft(decoder, setup.shape, replacement=setup.replacement)

    return built


class _Growing:
    """A sequence, its tree, and where the tree's nodes lie in the draft's cache."""

    def __init__(self, sequence: SequenceState, growth: Growth) -> None:
        self.sequence, self.growth = sequence, growth
        self._computed: list[int] = []
        """Nodes in the order of their slots."""

    def span(self, nodes: Sequence[int]) -> Span:
        """Rows of nodes that are to be expanded."""
        self._computed += nodes
        length, before = len(self.sequence.tokens), len(self._computed) - len(nodes)
        slot_of = {node: slot for slot, node in enumerate(self._computed)}
        seen = torch.zeros(len(nodes), len(self._computed), dtype=torch.bool)
        for row, node in enumerate(nodes):
            seen[row, [slot_of[n] for n in path_to(self.growth.parents, node)]] = True
        found = depths(self.growth.parents)
        branches = Branches([length - 1 + found[node] for node in nodes], seen)
        tokens = [self.growth.tokens[node] for node in nodes]
        return Span(tokens, length + before, self.sequence.table, len(nodes), branches)


def drawn(probs: Tensor, uniform: Callable[[], float], count: int, *, replacement: bool) -> list[Choice]:
    """Tokens drawn from a distribution [vocabulary]; without replacement, each from what those before it left."""
    choices: list[Choice] = []
    for _ in range(count):
        token = int(pick(probs.unsqueeze(0), torch.tensor([uniform()]))[0])
        choices.append(Choice(token, float(probs[token]), probs))
        if not replacement:
            probs = probs.clone()
            probs[token] = 0.0
            left = probs.sum()
            if left <= 0:
                break
            probs = probs / left
    return choices
