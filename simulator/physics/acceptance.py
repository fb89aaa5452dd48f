r"""What a chain draft gains: tokens per step and speed-up from acceptance, as pure formulas.

How a user's figures become acceptance by position and by request is in `survival`.
"""

from collections.abc import Sequence
from math import inf

from simulator.physics.bisection import bisected


def expected_tokens_per_step(conditional_acceptance: float, draft_tokens: int) -> float:
    r"""Mean tokens that one step of a chain draft commits, the target's own token included [tokens].

    .. math:: \Omega = (1 - \alpha^{\gamma + 1}) / (1 - \alpha)

    conditional_acceptance: chance α that the target keeps a draft token, given that it kept those before; the same at
    every position and independent of the others, which no measured draft satisfies. [0 to 1]
    draft_tokens: draft tokens γ proposed in one step. [tokens]

    >>> round(expected_tokens_per_step(0.8, draft_tokens=5), 5)
    3.68928
    >>> expected_tokens_per_step(1.0, draft_tokens=5)
    6.0

    Leviathan, Kalman, Matias, ICML 2023, eq. 1, arXiv:2211.17192.
    """
    return sum((conditional_acceptance**position for position in range(1, draft_tokens + 1)), 1.0)


def walltime_speedup(
    conditional_acceptance: float, draft_tokens: int, latency_ratio: float, verify_ratio: float = 1.0
) -> float:
    r"""Speed-up of decoding over plain steps [ratio].

    .. math:: S = \Omega / (\gamma c + v)

    conditional_acceptance: α of `expected_tokens_per_step`. [0 to 1]
    draft_tokens: γ. [tokens]
    latency_ratio: c, time of a draft pass ÷ time of a plain target step. [ratio]
    verify_ratio: v, time of a verifying target step ÷ time of a plain one; 1 in the paper. [ratio]

    >>> round(walltime_speedup(0.8, draft_tokens=4, latency_ratio=0.1), 2)
    2.4

    Leviathan, Kalman, Matias, ICML 2023, theorem 3.8, arXiv:2211.17192 (v = 1).
    """
    tokens = expected_tokens_per_step(conditional_acceptance, draft_tokens)
    return tokens / (draft_tokens * latency_ratio + verify_ratio)


def operations_ratio(draft_tokens: float, flops_ratio: float, tokens_per_step: float) -> float:
    r"""FLOPs of a committed token ÷ those of plain decoding, linear layers only [ratio].

    .. math:: (K \hat c + K + 1) / \Omega

    draft_tokens: mean K, all drafts of a union together. [tokens]
    flops_ratio: ĉ, draft FLOPs per token ÷ target FLOPs per token. [ratio]
    tokens_per_step: Ω. [tokens]

    >>> round(operations_ratio(4, 0.1, 3.71), 2)
    1.46

    Leviathan, Kalman, Matias, ICML 2023, theorem 3.11, arXiv:2211.17192, for any Ω.
    """
    return (draft_tokens * flops_ratio + draft_tokens + 1.0) / tokens_per_step


def operation_factor(conditional_acceptance: float, draft_tokens: int, flops_ratio: float) -> float:
    r"""Operations per committed token ÷ those of plain decoding: never below 1 [ratio].

    .. math:: (\gamma \hat c + \gamma + 1) / \Omega

    conditional_acceptance: α of `expected_tokens_per_step`. [0 to 1]
    draft_tokens: γ. [tokens]
    flops_ratio: ĉ, draft FLOPs per token ÷ target FLOPs per token. [ratio]

    >>> round(operation_factor(0.85, draft_tokens=4, flops_ratio=0.1), 2)
    1.46

    Leviathan, Kalman, Matias, ICML 2023, theorem 3.11, arXiv:2211.17192.
    """
    tokens_per_step = expected_tokens_per_step(conditional_acceptance, draft_tokens)
    return operations_ratio(draft_tokens, flops_ratio, tokens_per_step)


def break_even_acceptance(draft_tokens: int, latency_ratio: float, verify_ratio: float = 1.0) -> float:
    """Conditional acceptance at which speculation neither gains nor loses; inf when no acceptance is enough [0 to 1].

    draft_tokens: γ, at least 1. [tokens]
    latency_ratio: c of `walltime_speedup`. [ratio]
    verify_ratio: v of `walltime_speedup`. [ratio]

    >>> round(break_even_acceptance(4, latency_ratio=0.1), 2)
    0.29
    >>> break_even_acceptance(1, latency_ratio=0.1, verify_ratio=2.0)
    inf

    Solves walltime_speedup = 1 (Leviathan, Kalman, Matias, ICML 2023, corollary 3.9, for γ = 1 and v = 1: α = c).
    """
    tokens = draft_tokens * latency_ratio + verify_ratio
    return inf if tokens > draft_tokens + 1 else constant_acceptance(tokens, draft_tokens)


def constant_acceptance(tokens_per_step: float, draft_tokens: int) -> float:
    """Conditional acceptance, the same at every position, that commits so many tokens per step [0 to 1].

    tokens_per_step: from 1 to draft_tokens + 1, bonus token included. [tokens]
    draft_tokens: γ. [tokens]

    >>> round(constant_acceptance(3.535, draft_tokens=7), 2)
    0.74

    Inverse of `expected_tokens_per_step`, by bisection to the last bit.
    """
    if tokens_per_step >= draft_tokens + 1:
        return 1.0
    if tokens_per_step <= 1:
        return 0.0
    return bisected(0.0, 1.0, lambda alpha: expected_tokens_per_step(alpha, draft_tokens) < tokens_per_step)[1]


def tokens_per_step(survival: Sequence[float]) -> float:
    """Mean tokens that one step commits: the target's own, and every draft position that survives [tokens].

    survival: chance that position 1, 2, … is accepted at all. [0 to 1]

    >>> round(tokens_per_step([0.85, 0.73, 0.62, 0.53]), 2)
    3.73

    vLLM `v1/spec_decode/metrics.py` (1 + accepted / drafts).
    """
    return 1.0 + sum(survival)


def survival_from_conditional(conditional_acceptance: Sequence[float]) -> tuple[float, ...]:
    """Survival by position: S_i = β_1·…·β_i [0 to 1].

    conditional_acceptance: chance β_i that position i is kept, given that those before were. [0 to 1]

    >>> survival_from_conditional([0.5, 0.5, 0.0])
    (0.5, 0.25, 0.0)
    """
    survival, product = [], 1.0
    for acceptance in conditional_acceptance:
        product *= acceptance
        survival.append(product)
    return tuple(survival)


def conditional_from_survival(survival: Sequence[float]) -> tuple[float, ...]:
    """Conditional acceptance by position: β_i = S_i / S_(i−1), and 0 where nothing survives to be asked [0 to 1].

    survival: chance that position i is accepted at all; never rises. [0 to 1]

    >>> conditional_from_survival([0.8, 0.4, 0.0, 0.0])
    (0.8, 0.5, 0.0, 0.0)
    """
    before = (1.0, *survival)
    return tuple(now / last if last > 0 else 0.0 for now, last in zip(survival, before, strict=False))
