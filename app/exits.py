"""Exit codes, and how those of several scenarios become one."""

from collections.abc import Iterable

OK = 0
INTERNAL_ERROR = 1
BAD_INPUT = 2
NOTHING_HOLDS = 3
ASSERT_FAILED = 4
INTERRUPTED = 130

_WORST_FIRST = (INTERNAL_ERROR, BAD_INPUT, ASSERT_FAILED)


def worst(codes: Iterable[int]) -> int:
    """The worst of several scenarios' 1, 2 and 4; what does not fit is a result there.

    >>> worst([0, 4, 2]), worst([0, 3])
    (2, 0)
    """
    found = set(codes)
    return next((code for code in _WORST_FIRST if code in found), OK)
