"""Results as plain JSON values: no numpy types, no tuples, None for what is not a finite number."""

from math import isfinite
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """A value made of plain JSON types.

    >>> plain({"a": (np.float64(1.5), float("nan"), np.True_)})
    {'a': [1.5, None, True]}
    """
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): plain(nested) for key, nested in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(nested) for nested in value]
    return value
