"""Acceptance that is better or worse than given: the odds of every draft token × a factor."""

from collections.abc import Sequence
from itertools import accumulate

from simulator.catalog.presets import stated
from simulator.physics.acceptance import survival_from_conditional, tokens_per_step
from simulator.physics.survival import survival_for
from simulator.spec.acceptance import Acceptance


def survival_with_odds(
    survival: Sequence[float], factor: float, reach: Sequence[float] | None = None
) -> tuple[float, ...]:
    r"""Survival where the odds of each draft token, given that those before it were kept, are × a factor [0 to 1].

    .. math:: \beta_i' = \frac{f \beta_i}{1 - \beta_i + f \beta_i}, \quad S_i' = r_i \prod_{j \le i} \beta_j'

    survival: chance S that position 1, 2, … is accepted at all. [0 to 1]
    factor: f on the odds β / (1 − β). [ratio]
    reach: share r of steps that draft each position; None: all do. [0 to 1]

    >>> survival_with_odds((0.5, 0.25), factor=3.0)
    (0.75, 0.5625)

    Positions that are always or never kept stay so: a factor on odds never makes a chance of 1. A definition of this
    project's own, the shift of log-odds by ln f that `spread` uses between requests.
    """
    found, kept, before = [], 1.0, 1.0
    for share, most in zip(survival, reach or [1.0] * len(survival), strict=True):
        now = share / most if most > 0 else 0.0
        conditional = now / before if before > 0 else 0.0
        if conditional < 1.0:
            conditional = factor * conditional / (1.0 - conditional + factor * conditional)
        kept *= conditional
        found.append(min(kept, 1.0) * most)
        before = now
    return tuple(accumulate(found, min))


def with_odds(acceptance: Acceptance, factor: float, draft_tokens: int) -> Acceptance:
    """What a class accepts with the odds of every draft token × a factor, for K draft tokens.

    Given as tokens per step it stays so, and else it is written out as survival. What temperature, context and training
    bring on top stays as it is.
    """
    if factor == 1.0 or not draft_tokens:
        return acceptance
    written = stated(acceptance)
    if written.tokens_per_step is not None:
        return written.model_copy(update={"tokens_per_step": _tokens_with_odds(written, factor)})
    survival = survival_with_odds(survival_for(written, draft_tokens), factor, _reach(written, draft_tokens))
    return written.model_copy(update={"survival": survival, "histogram": None, "preset": None})


def _tokens_with_odds(acceptance: Acceptance, factor: float) -> float:
    """Tokens per step of the moved curve, at the draft tokens at which they are given; a decay allows so many at most.

    Where acceptance is the same at every position it stays so, and this is exact.
    """
    assert acceptance.at is not None
    curve = survival_for(acceptance, acceptance.at)
    moved = tokens_per_step(survival_with_odds(curve, factor, _reach(acceptance, acceptance.at)))
    decay = 1.0 if acceptance.decay is None else acceptance.decay
    return min(moved, tokens_per_step(survival_from_conditional([decay**i for i in range(acceptance.at)])))


def _reach(acceptance: Acceptance, positions: int) -> list[float]:
    return [acceptance.reach(position) for position in range(1, positions + 1)]
