"""Plain YAML scalars by the rules of YAML 1.2's core schema, plus dates; `on`, `yes` and `1:30` stay text."""

import math
import re
from datetime import date

Scalar = bool | int | float | str | date | None

MAX_DIGITS = 30

_CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_WHOLE = re.compile(r"[-+]?[0-9]+")
_OTHER_BASE = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_DECIMAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def resolve_scalar(text: str) -> Scalar:
    """The value of an unquoted scalar; ValueError says what a scenario file does not take.

    >>> resolve_scalar("1e-3"), resolve_scalar("010"), resolve_scalar("off"), resolve_scalar("1:30")
    (0.001, 10, 'off', '1:30')
    """
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _NOT_FINITE.fullmatch(text):
        raise ValueError("a scenario takes finite numbers only")
    if _WHOLE.fullmatch(text) or _OTHER_BASE.fullmatch(text):
        return _whole(text)
    if _DECIMAL.fullmatch(text):
        return _decimal(text)
    return _date(text) if _DATE.fullmatch(text) else text


def _whole(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"a number of {len(text)} characters; put quotes around a text")
    return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))


def _decimal(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("the number is too large")
    return value


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"no such day ({error}); put quotes around a text") from None
