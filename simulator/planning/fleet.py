"""Fleet size: the fewest replicas that hold the offered load, found by a monotone search from a good guess."""

from collections.abc import Callable, Mapping
from math import ceil

MOST_TIMES = 16
"""Replicas beyond this many times the guess are not tried."""


def fewest(holds: Callable[[int], bool], start: int, known: Mapping[int, bool] | None = None) -> int | None:
    """Fewest replicas that hold; None when even MOST_TIMES the start does not.

    holds: whether that many replicas hold the load; if some hold, more do.
    start: where to look first.
    known: answers that are there already.

    >>> fewest(lambda replicas: replicas >= 5, start=4)
    5
    >>> fewest(lambda replicas: False, start=4) is None
    True
    """
    answers = dict(known or {})

    def ask(replicas: int) -> bool:
        if replicas not in answers:
            answers[replicas] = holds(replicas)
        return answers[replicas]

    first = max(start, 1)
    fails, works = _bracket(ask, first)
    if works is None:
        return None
    while works - fails > 1:
        middle = (fails + works) // 2
        fails, works = (fails, middle) if ask(middle) else (middle, works)
    return works


def _bracket(ask: Callable[[int], bool], first: int) -> tuple[int, int | None]:
    """A number that fails (0 if need be) and one that works (None if there is none), by steps that double."""
    step = 1
    if ask(first):
        works = first
        while works > 1:
            lower = max(works - step, 1)
            if not ask(lower):
                return lower, works
            works, step = lower, step * 2
        return 0, works
    fails = first
    while fails < first * MOST_TIMES:
        higher = min(fails + step, first * MOST_TIMES)
        if ask(higher):
            return fails, higher
        fails, step = higher, step * 2
    return fails, None


def guessed_replicas(offered: float, capacity: float, replicas: int) -> int:
    """Replicas for an offered load if each carries an equal share of what a cluster of some carries.

    offered: load, in the unit of the capacity. [requests/s or clients]
    capacity: highest load that the cluster holds. [same]
    replicas: replicas of that cluster.

    >>> guessed_replicas(30.0, 20.0, replicas=4)
    6
    """
    return max(ceil(offered / (capacity / replicas) - 1e-9), 1)
