"""What is wrong with a file of the catalog, in one line: the place in it, the value, and what is needed."""

from typing import Any

import yaml
from pydantic import ValidationError

MOST_TOLD = 3
LONGEST_VALUE = 60
WORDS = {"extra_forbidden": "unknown key", "missing": "missing"}
"""Kind of complaint → the words that say it all."""


def why(error: Exception) -> str:
    """The first problems behind an error of reading or checking a file.

    >>> why(ValueError("month must be in 1..12"))
    'month must be in 1..12'
    """
    if isinstance(error, ValidationError):
        told = [_complaint(details) for details in error.errors(include_url=False)]
        more = len(told) - MOST_TOLD
        return "; ".join(told[:MOST_TOLD]) + (f"; and {more} more" if more > 0 else "")
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"line {error.problem_mark.line + 1}: {error.problem}"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return (str(error).splitlines() or [type(error).__name__])[0]


def _complaint(details: Any) -> str:
    place = ".".join(str(part) for part in details["loc"]) or "the file"
    if details["type"] in WORDS:
        return f"{place}: {WORDS[details['type']]}"
    shown = repr(details["input"])
    shown = shown if len(shown) <= LONGEST_VALUE else f"{shown[: LONGEST_VALUE - 1]}…"
    return f"{place}: {shown}: {details['msg'].removeprefix('Value error, ')}"
