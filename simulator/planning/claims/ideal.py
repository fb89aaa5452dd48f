"""Ideal speed-ups at batch 1, where a draft pass takes a share of a step: what a claim needs, and what it can reach."""

from simulator.physics.acceptance import expected_tokens_per_step, walltime_speedup
from simulator.physics.bisection import bisected

MOST_DRAFT_TOKENS = 16
"""Largest γ that is looked at; beyond it nothing more is gained below α = 0.95."""


def best_speedup(conditional_acceptance: float, latency_ratio: float, verify_ratio: float = 1.0) -> float:
    r"""Largest speed-up over γ [ratio].

    .. math:: \max_\gamma \Omega / (\gamma c + v)

    conditional_acceptance: α. [0 to 1]
    latency_ratio: c. [ratio]
    verify_ratio: v. [ratio]

    >>> round(best_speedup(0.8, 0.05), 2), round(best_speedup(0.85, 0.3), 2)
    (3.09, 1.69)

    Leviathan, Kalman, Matias, ICML 2023, theorem 3.8, arXiv:2211.17192.
    """
    return max(
        walltime_speedup(conditional_acceptance, tokens, latency_ratio, verify_ratio)
        for tokens in range(1, MOST_DRAFT_TOKENS + 1)
    )


def latency_ratio_for(speedup: float, conditional_acceptance: float) -> float:
    r"""Largest latency ratio c at which some γ reaches a speed-up; below 0: none does [ratio].

    .. math:: \max_\gamma (\Omega / S - 1) / \gamma

    speedup: S. [ratio]
    conditional_acceptance: α. [0 to 1]

    >>> round(latency_ratio_for(2.8, 0.86), 3)
    0.113
    """
    return max(
        (expected_tokens_per_step(conditional_acceptance, tokens) / speedup - 1.0) / tokens
        for tokens in range(1, MOST_DRAFT_TOKENS + 1)
    )


def acceptance_for(speedup: float, latency_ratio: float) -> float:
    """Lowest α at which some γ reaches a speed-up, by bisection; 1 where none below does [0 to 1].

    >>> round(acceptance_for(3.09, 0.05), 2)
    0.8
    """
    return bisected(0.0, 1.0, lambda alpha: best_speedup(alpha, latency_ratio) < speedup)[1]


def mixture(total: float, active: float, experts: int, top_k: int) -> tuple[float, float]:
    """Parameters that every token uses, and those of one expert, from the total and the active ones [same unit].

    >>> [round(value, 2) for value in mixture(1000.0, 40.0, experts=256, top_k=8)]
    [9.03, 3.87]
    """
    expert = (total - active) / (experts - top_k)
    return active - top_k * expert, expert
