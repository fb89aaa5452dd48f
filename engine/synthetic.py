"""Acceptance forced from outside, so that timing can be measured apart from quality.

Everything is computed as ever; only the number of draft tokens that count as accepted is given. The output is not the
target's. vLLM (`synthetic_acceptance_length`), SGLang and TensorRT-LLM have the same switch.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

from engine.errors import DraftError

Uniform = Callable[[int, int], float]
"""(request number, round of that request, from 1) -> a number in [0, 1)."""

Forced = Callable[[int, int, int], int]
"""(request number, round of that request, draft tokens) -> draft tokens that count as accepted."""


def accepted_drafts(survival: Sequence[float], uniform: float, draft_tokens: int) -> int:
    """Inverse distribution of the accepted count: positions whose survival lies above the uniform.

    >>> [accepted_drafts([0.8, 0.5], u, 2) for u in (0.1, 0.6, 0.9)]
    [2, 1, 0]
    """
    return sum(uniform < s for s in survival[:draft_tokens])


def evenly_spread() -> Uniform:
    """A low-discrepancy stream (van der Corput, base 2) over all rounds of a run.

    After 2^m rounds, position i has been accepted exactly ceil(S_i × 2^m) times; after n, n × S_i times to within
    log2(n) + 1.
    """
    rounds = 0

    def uniform(_request: int, _round: int) -> float:
        nonlocal rounds
        index, rounds = rounds, rounds + 1
        value, scale = 0.0, 0.5
        while index:
            value += scale * (index & 1)
            index >>= 1
            scale *= 0.5
        return value

    return uniform


def forced_by_survival(survival: Sequence[float], uniform: Uniform | None = None) -> Forced:
    """Force a survival vector S_i: the chance that draft position i is accepted at all."""
    checked = checked_survival(survival)
    draw = uniform or evenly_spread()
    return lambda request, nth, draft_tokens: accepted_drafts(checked, draw(request, nth), draft_tokens)


def forced_by_length(tokens_per_step: float, draft_tokens: int, uniform: Uniform | None = None) -> Forced:
    """Force a mean of committed tokens per step: the two whole numbers next to it, in the right proportion.

    >>> forced = forced_by_length(2.5, 4)
    >>> [forced(0, nth, 4) for nth in range(4)]
    [2, 1, 2, 1]
    """
    if not 1.0 <= tokens_per_step <= draft_tokens + 1:
        raise DraftError(f"synthetic: {tokens_per_step} tokens per step are not between 1 and {draft_tokens + 1}")
    whole = int(tokens_per_step - 1.0)
    survival = [1.0] * whole + [tokens_per_step - 1.0 - whole]
    return forced_by_survival(survival[:draft_tokens], uniform)


def checked_survival(survival: Sequence[float]) -> tuple[float, ...]:
    """The vector, if its entries lie in 0 to 1 and never rise."""
    falls = all(a >= b for a, b in pairwise(survival))
    if not survival or not falls or not all(0.0 <= s <= 1.0 for s in survival):
        raise DraftError(f"synthetic: a survival vector lies between 0 and 1 and never rises; not {list(survival)}")
    return tuple(survival)
