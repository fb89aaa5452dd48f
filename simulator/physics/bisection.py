"""Where something that changes once along a range does so."""

from collections.abc import Callable

MOST_HALVINGS = 100


def bisected(low: float, high: float, below: Callable[[float], bool]) -> tuple[float, float]:
    """The two numbers, next to each other or nearly so, between which the sought one lies.

    low, high: range in which it is.
    below: whether a number is below the sought one.

    >>> low, high = bisected(0.0, 2.0, lambda root: root * root < 2.0)
    >>> round(low, 6), round(high, 6)
    (1.414214, 1.414214)
    """
    for _ in range(MOST_HALVINGS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if below(middle) else (low, middle)
    return low, high
