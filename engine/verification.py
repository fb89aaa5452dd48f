"""Which draft tokens the target keeps, and the token that it adds: pure functions, lossless by construction.

Speculative sampling: Leviathan, Kalman, Matias, ICML 2023, arXiv:2211.17192, algorithm 1; Chen et al. 2023,
arXiv:2302.01318, algorithm 2. Several tokens at one place: recursive rejection (Miao et al. 2024, arXiv:2305.09781,
algorithm 2), without replacement too (Jeon et al. 2024, arXiv:2402.14160). docs/engine.md holds the argument;
tests/engine holds the proof by enumeration. `verify_typical` alone is lossy.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from engine.sampling import pick
from engine.trees import ROOT, Parents, chain_of, depths, path_to


class Verdict(NamedTuple):
    """What one verify step says of one sequence."""

    nodes: tuple[int, ...]
    """Draft tokens kept, from the first below the root on."""
    next_token: int
    """Token of the target behind them: a correction where all draft tokens fell, a bonus where none was left."""

    @property
    def accepted(self) -> int:
        """Draft tokens kept."""
        return len(self.nodes)


def verify_greedy(target_tokens: Sequence[int], draft_tokens: Sequence[int], parents: Parents | None = None) -> Verdict:
    """Keep the longest path of draft tokens that are the target's own most likely ones.

    target_tokens: the target's most likely token behind the root and behind each draft token: nodes + 1 of them.
    parents: of each draft token; None: a chain.

    >>> verify_greedy([5, 7, 9], [5, 8])
    Verdict(nodes=(0,), next_token=7)
    >>> verify_greedy([5, 7, 9], [4, 5], parents=(-1, -1))
    Verdict(nodes=(1,), next_token=9)
    """
    parents = chain_of(len(draft_tokens)) if parents is None else parents
    kept: list[bool] = []
    for token, parent in zip(draft_tokens, parents, strict=True):
        kept.append((parent == ROOT or kept[parent]) and target_tokens[parent + 1] == token)
    return _verdict_at(_deepest(parents, kept), parents, target_tokens)


def _deepest(parents: Parents, kept: Sequence[bool]) -> int:
    """The first of the deepest nodes that are kept; ROOT: none is."""
    found = depths(parents)
    return max((n for n, keep in enumerate(kept) if keep), key=lambda n: (found[n], -n), default=ROOT)


def _verdict_at(node: int, parents: Parents, next_tokens: Sequence[int]) -> Verdict:
    return Verdict(path_to(parents, node), next_tokens[node + 1])


def acceptance_probability(target_probs: Tensor, draft_probs: Tensor | None, draft_tokens: Tensor) -> Tensor:
    r"""Chance that the target keeps each draft token.

    .. math:: \\min(1, target(x) / draft(x))

    target_probs, draft_probs: [tokens, vocabulary]; draft_probs None: the draft was certain of its tokens (one-hot).
    draft_tokens: [tokens]

    >>> acceptance_probability(torch.tensor([[0.2, 0.8]]), torch.tensor([[0.5, 0.5]]), torch.tensor([0])).tolist()
    [0.4000000059604645]
    """
    index = draft_tokens.unsqueeze(-1)
    target = target_probs.gather(-1, index).squeeze(-1)
    if draft_probs is None:
        return target
    draft = draft_probs.gather(-1, index).squeeze(-1)
    return torch.where(draft > 0, (target / draft).clamp(max=1.0), 0.0)


def residual_probs(target_probs: Tensor, draft_probs: Tensor | None, draft_token: int) -> Tensor:
    r"""Distribution that is left for what replaces a draft token which fell: [vocabulary].

    .. math:: norm(\\max(0, target - draft))

    Where rounding leaves nothing of the difference, draft and target agree, and the target itself is right.

    >>> residual_probs(torch.tensor([0.2, 0.8]), torch.tensor([0.5, 0.5]), 0).tolist()
    [0.0, 1.0]
    """
    if draft_probs is None:
        rest = target_probs.clone()
        rest[draft_token] = 0.0
    else:
        rest = (target_probs - draft_probs).clamp(min=0.0)
    total = rest.sum()
    return rest / total if total > 0 else target_probs


def verify_sampled(
    target_probs: Tensor,
    draft_probs: Tensor | None,
    draft_tokens: Sequence[int],
    uniforms: Tensor,
    parents: Parents | None = None,
    trials: Sequence[int] | None = None,
) -> Verdict:
    """Keep draft tokens by chance, so that what is committed is distributed as the target alone would have it.

    At each place its tokens are tried in order: one is kept with min(1, rest/draft); where it falls, the rest is what
    the target has left when the draft's distribution is taken off. Where all fall, the token behind is drawn from the
    rest.

    target_probs: [nodes + 1, vocabulary] behind the root and behind each draft token.
    draft_probs: [trials, vocabulary] that the draft tokens were drawn from; None: one-hot.
    uniforms: [trials + 1] independent numbers in [0, 1): one per trial, and one for the token behind.
    parents: of each draft token; None: a chain.
    trials: draft tokens in the order in which they are tried; None: each once, in order.
    """
    parents = chain_of(len(draft_tokens)) if parents is None else parents
    trials = range(len(draft_tokens)) if trials is None else trials
    tries: dict[int, list[int]] = {}
    for trial, node in enumerate(trials):
        tries.setdefault(parents[node], []).append(trial)
    path: list[int] = []
    while True:
        here = path[-1] if path else ROOT
        rest = target_probs[here + 1]
        for trial in tries.get(here, ()):
            node = trials[trial]
            draft = None if draft_probs is None else draft_probs[trial]
            if uniforms[trial] < _chance(rest, draft, draft_tokens[node]):
                path.append(node)
                break
            rest = residual_probs(rest, draft, draft_tokens[node])
        else:
            return Verdict(tuple(path), int(pick(rest.unsqueeze(0), uniforms[-1:])[0]))


def _chance(target_probs: Tensor, draft_probs: Tensor | None, token: int) -> Tensor:
    """The same of one token: [] in double precision."""
    draft = None if draft_probs is None else draft_probs.unsqueeze(0)
    index = torch.tensor([token], device=target_probs.device)
    return acceptance_probability(target_probs.unsqueeze(0), draft, index)[0].double().cpu()


class Typical(NamedTuple):
    """Bounds of typical acceptance (Cai et al. 2024, Medusa, arXiv:2401.10774, section 2.3.1)."""

    epsilon: float = 0.09
    """A token is kept from this probability on, wherever the target is sure of itself."""
    delta: float = 0.3
    """Share of exp(−entropy) from which on it is kept where the target is not."""


def verify_typical(
    target_probs: Tensor, draft_tokens: Sequence[int], uniform: Tensor, bounds: Typical, parents: Parents | None = None
) -> Verdict:
    r"""LOSSY: keep the longest path of draft tokens that the target finds likely enough; the law is not the target's.

    .. math:: target(x) > \\min(\\epsilon, \\delta \\exp(-H(target)))

    uniform: [1] for the token behind, which is drawn from the target.
    """
    parents = chain_of(len(draft_tokens)) if parents is None else parents
    entropy = torch.special.entr(target_probs).sum(-1)
    bars = (bounds.delta * (-entropy).exp()).clamp(max=bounds.epsilon).tolist()
    kept: list[bool] = []
    for token, parent in zip(draft_tokens, parents, strict=True):
        likely = float(target_probs[parent + 1, token]) > bars[parent + 1]
        kept.append((parent == ROOT or kept[parent]) and likely)
    node = _deepest(parents, kept)
    return Verdict(path_to(parents, node), int(pick(target_probs[node + 1].unsqueeze(0), uniform)[0]))
