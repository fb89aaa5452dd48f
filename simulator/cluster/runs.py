"""Runs of decode steps with the same sequences: when each step ends, and what is held meanwhile."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.integer[Any]]

SHORT_RUN = 24
"""Runs below this many steps are summed in a loop, longer ones as arrays: the faster of the two, same sums."""


def run_times(
    affine: tuple[float, float], start_s: float, context_tokens: int, grown_tokens: Ints
) -> tuple[Sequence[float], Sequence[float]]:
    """Ends of the steps of a run, and the context tokens at each.

    affine: seconds of a step = first + second × context tokens.
    grown_tokens: [steps − 1] tokens that the context gains with each step but the last.

    >>> run_times((1.0, 0.5), 10.0, 2, np.array([4]))
    ([12.0, 16.0], [2, 6])
    """
    constant, slope = affine
    if grown_tokens.size + 1 < SHORT_RUN:
        contexts = list(accumulate(grown_tokens.tolist(), initial=context_tokens))
        ends = list(accumulate([constant + slope * context for context in contexts], initial=start_s))
        return ends[1:], contexts
    held: Any = np.empty(grown_tokens.size + 1)
    held[0] = context_tokens
    held[1:] = grown_tokens
    np.cumsum(held, out=held)
    times = constant + slope * held
    times[0] += start_s
    return np.cumsum(times, out=times), held


def held_over(held: int, grown: Ints) -> tuple[int, float]:
    """What is held at the last step of a run, and the sum over its steps.

    >>> held_over(3, np.array([1, 0]))
    (4, 11.0)
    """
    if grown.size + 1 < SHORT_RUN:
        values = list(accumulate(grown.tolist(), initial=held))
        return values[-1], float(sum(values))
    sums = held + np.cumsum(grown)
    return int(sums[-1]), float(held + sums.sum())
