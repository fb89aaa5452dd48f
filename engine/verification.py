"""Which draft tokens the target keeps, and the token that it adds: pure functions, lossless by construction.

Speculative sampling: Leviathan, Kalman, Matias, ICML 2023, arXiv:2211.17192, algorithm 1; Chen et al. 2023,
arXiv:2302.01318, algorithm 2. docs/engine.md holds the argument; tests/engine holds the proof by enumeration.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from engine.sampling import pick


class Verdict(NamedTuple):
    """What one verify step says of one sequence."""

    accepted: int
    """Draft tokens kept, from the first on."""
    next_token: int
    """Token of the target behind them: a correction where a draft token fell, a bonus where all were kept."""


def verify_greedy(target_tokens: Sequence[int], draft_tokens: Sequence[int]) -> Verdict:
    """Keep draft tokens while they are the target's own most likely ones.

    target_tokens: the target's most likely token behind the root and behind each draft token: K + 1 of them.

    >>> verify_greedy([5, 7, 9], [5, 8])
    Verdict(accepted=1, next_token=7)
    """
    accepted = 0
    for target, draft in zip(target_tokens, draft_tokens, strict=False):
        if target != draft:
            break
        accepted += 1
    return Verdict(accepted, target_tokens[accepted])


def acceptance_probability(target_probs: Tensor, draft_probs: Tensor | None, draft_tokens: Tensor) -> Tensor:
    r"""Chance that the target keeps each draft token.

    .. math:: \\min(1, target(x) / draft(x))

    target_probs, draft_probs: [K, vocabulary]; draft_probs None: the draft was certain of its tokens (one-hot).
    draft_tokens: [K]

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
    r"""Distribution of the token that replaces a draft token which fell: [vocabulary].

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
    target_probs: Tensor, draft_probs: Tensor | None, draft_tokens: Sequence[int], uniforms: Tensor
) -> Verdict:
    """Keep draft tokens by chance, so that what is committed is distributed as the target alone would have it.

    target_probs: [K + 1, vocabulary] behind the root and behind each draft token.
    draft_probs: [K, vocabulary] that the draft tokens were drawn from; None: one-hot.
    uniforms: [K + 1] independent numbers in [0, 1): one per draft token, and one for the token behind.
    """
    count = len(draft_tokens)
    accepted = 0
    if count:
        drafts = torch.tensor(draft_tokens, device=target_probs.device)
        chances = acceptance_probability(target_probs[:count], draft_probs, drafts)
        kept = (uniforms[:count] < chances.to(uniforms)).to(torch.int64).cumprod(0)
        accepted = int(kept.sum())
    behind = target_probs[accepted]
    if accepted < count:
        fallen = None if draft_probs is None else draft_probs[accepted]
        behind = residual_probs(behind, fallen, draft_tokens[accepted])
    return Verdict(accepted, int(pick(behind.unsqueeze(0), uniforms[count : count + 1])[0]))
