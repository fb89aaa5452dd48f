r"""What the target accepts when several draft tokens compete for one place: exact laws, and the law of a union.

Distributions are over a vocabulary, as arrays that sum to 1. Every rule here keeps the target's distribution exactly.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simulator.physics.bisection import bisected

Floats = NDArray[np.float64]


def recursive_rejection(target: Floats, drafts: Sequence[Floats]) -> tuple[float, ...]:
    r"""Chance that the token of draft 1, 2, … is accepted, given that those before were rejected [0 to 1].

    .. math:: r_0 = p, \quad \beta_i = \sum_x \min(r_{i-1}(x), q_i(x)), \quad r_i \propto (r_{i-1} - q_i)_+

    target: p. [0 to 1]
    drafts: q_1, q_2, …, one independent token each, in the order in which they are tried; a look-up or a greedy draft
    is a one. [0 to 1]

    >>> p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])
    >>> [round(chance, 3) for chance in recursive_rejection(p, [q, q])]
    [0.6, 0.4]
    >>> accepted_by_any(recursive_rejection(p, [np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0])]))
    0.8

    One draft: Leviathan, Kalman, Matias, ICML 2023, theorem 3.5, arXiv:2211.17192. Several: Miao et al., SpecInfer,
    ASPLOS 2024, multi-step speculative sampling, arXiv:2305.09781.
    """
    left, chances = target, []
    for draft in drafts:
        chances.append(float(np.minimum(left, draft).sum()))
        left = residual(left, draft)
    return tuple(chances)


def residual(target: Floats, draft: Floats) -> Floats:
    """What the target's distribution has left after a token of the draft was rejected; all of it if nothing can be.

    >>> residual(np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])).round(2).tolist()
    [0.75, 0.25, 0.0]
    """
    left = np.maximum(target - draft, 0.0)
    total = float(left.sum())
    return left / total if total > 0 else target


def accepted_by_any(chances: Sequence[float]) -> float:
    """Chance that one of the tokens is accepted, from each one's given that those before were rejected [0 to 1].

    >>> accepted_by_any([0.5, 0.5])
    0.75
    """
    return 1.0 - float(np.prod([1.0 - chance for chance in chances]))


def without_replacement(target: Floats, draft: Floats, draft_tokens: int) -> float:
    """Chance that one of k tokens is accepted which one draft draws without repeating itself [0 to 1].

    target, draft: p and q. [0 to 1]
    draft_tokens: k; once nothing is left to draw, the rest is not drawn. [tokens]

    >>> round(without_replacement(np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.1, 0.8]), draft_tokens=2), 3)
    0.9

    Jeon et al., Recursive Speculative Decoding, arXiv:2402.14160; Chen et al., Sequoia, algorithm 2 (which goes on to
    draw evenly from tokens that the draft rules out). By enumeration of V^(k−1) orders: for small vocabularies.
    """
    here = float(np.minimum(target, draft).sum())
    if draft_tokens == 1 or here >= 1.0:
        return here
    rejected = draft - np.minimum(target, draft)
    after, later = residual(target, draft), 0.0
    for token in np.flatnonzero(rejected > 0):
        rest = np.where(np.arange(draft.size) == token, 0.0, draft)
        if rest.sum() > 0:
            later += float(rejected[token]) * without_replacement(after, rest / rest.sum(), draft_tokens - 1)
    return here + later


def k_sequential(target: Floats, draft: Floats, draft_tokens: int) -> float:
    r"""Chance that one of k independent tokens of one draft is accepted by sequential selection [0 to 1].

    .. math:: 1 - (1 - \beta_\rho)^k, \quad \beta_\rho = \sum_x \min(q, p / \rho), \quad
        1 - (1 - \beta_\rho)^k = \rho\, \beta_\rho

    target, draft: p and q. [0 to 1]
    draft_tokens: k. [tokens]

    >>> p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])
    >>> round(k_sequential(p, q, 1), 3), round(k_sequential(p, q, 2), 3)
    (0.6, 0.785)

    Sun et al., SpecTr, NeurIPS 2023, algorithm 2, arXiv:2310.15141: at least 1 − 1/e of the optimum.
    """
    rho = selection_ratio(target, draft, draft_tokens)
    return 1.0 - (1.0 - float(np.minimum(draft, target / rho).sum())) ** draft_tokens


def selection_ratio(target: Floats, draft: Floats, draft_tokens: int) -> float:
    """ρ of `k_sequential`, between 1 and k: a token x is accepted with the chance min(1, p(x) / (ρ q(x))) [ratio].

    By bisection: 1 − (1 − β)^k falls below ρ β as ρ grows.

    >>> selection_ratio(np.array([0.5, 0.5]), np.array([0.5, 0.5]), draft_tokens=1)
    1.0
    """

    def too_low(rho: float) -> bool:
        each = float(np.minimum(draft, target / rho).sum())
        return 1.0 - (1.0 - each) ** draft_tokens > rho * each

    return bisected(1.0, float(draft_tokens), too_low)[1]


def optimal_acceptance(target: Floats, draft: Floats, draft_tokens: int) -> float:
    r"""Most that any lossless rule accepts of k independent tokens of one draft [0 to 1].

    .. math:: \alpha^* = \min_H \; p(H) + 1 - q(H)^k

    target, draft: p and q. [0 to 1]
    draft_tokens: k. [tokens]

    >>> p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])
    >>> round(optimal_acceptance(p, q, 2), 3)
    0.84

    Hu et al., ICLR 2025, arXiv:2502.18779 (max-flow, min-cut). p(H) − q(H)^k is concave in (p(H), q(H)), so its minimum
    lies at a set of the largest q ÷ p.
    """
    order = np.argsort(target / np.maximum(draft, np.finfo(float).tiny))
    p, q = (np.concatenate(([0.0], np.cumsum(law[order]))) for law in (target, draft))
    return float((p + 1.0 - q**draft_tokens).min())


def union_survival(survivals: Floats, correlation: float, order: Sequence[int] | None = None) -> Floats:
    r"""Survival of a union of drafts whose chains are verified in one tree [0 to 1].

    .. math:: S = 1 - (1 - S_1) \prod_{j \ge 2} (1 - (1 - c)\, S_j)

    survivals: [drafts, …, positions], survival of each draft on its own, by group of requests. [0 to 1]
    correlation: c, how alike the drafts' rejections are: what a later draft loses of its acceptance where those before
    it were rejected. 1: only the first counts; 0: independent, an optimistic case. [0 to 1]
    order: in which the drafts are tried, first the one that loses nothing; None: the most tokens per step first, in the
    mean of all groups of requests.

    >>> union_survival(np.array([[0.5, 0.2], [0.8, 0.6]]), correlation=0.5).round(3).tolist()
    [0.85, 0.64]

    The recursive rejection of `recursive_rejection` with a stated correlation in place of the distributions, which a
    planner does not have; the correlation's form is this project's assumption.
    """
    best = np.argsort(-survivals.sum(axis=tuple(range(1, survivals.ndim))), kind="stable").tolist()
    first, *later = best if order is None else order
    missed = 1.0 - survivals[first]
    for draft in later:
        missed = missed * (1.0 - (1.0 - correlation) * survivals[draft])
    return np.asarray(1.0 - missed, dtype=np.float64)
