"""What a value that is none was probably meant to be."""

import re
from datetime import date
from typing import Any

_YAML_1_1 = {"on", "off", "yes", "no", "y", "n"}
_NUMBER = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_THOUSANDS = {"k": 1_000, "m": 1_000_000}


def for_text(text: str) -> str:
    """The way out where a number, a flag or a day stands as a text; empty where none can be guessed.

    >>> for_text("8k"), for_text("3,50"), for_text("$3.50"), for_text("fast")
    ('; write 8000 (or 8192)', '; write 3.50: decimals have a point', '; write 3.50 without $', '')
    """
    text = text.strip()
    if text.lower() in _YAML_1_1:
        return "; here only true and false are truth values, on, off, yes and no are text"
    if re.fullmatch(_NUMBER, plain := text.replace("_", "")) or re.fullmatch(r"[0-9]{1,3}(,[0-9]{3})+", plain):
        return f"; write {plain.replace(',', '')} without quotes, underscores or commas"
    if re.fullmatch(r"[0-9]+,[0-9]+", text):
        return f"; write {text.replace(',', '.')}: decimals have a point"
    return _with_unit(text)


def _with_unit(text: str) -> str:
    found = re.fullmatch(rf"([$€]?)\s*({_NUMBER})\s*([A-Za-z%/$€µ-]*)", text)
    if found is None:
        return ""
    sign, number, unit = found.groups()
    if unit == "%":
        return f"; write {float(number) / 100:g}: a share lies between 0 and 1"
    if unit.lower() in _THOUSANDS and not sign:
        value = float(number) * _THOUSANDS[unit.lower()]
        binary = f" (or {int(float(number) * 1024)})" if unit.lower() == "k" and float(number).is_integer() else ""
        return f"; write {value:.15g}{binary}"
    if unit == "ms":
        return f"; write {float(number) / 1e3:g}: times are in seconds"
    return f"; write {number} without {sign or unit}" + ("" if sign else ": the unit stands in the key's name")


def for_number(value: Any, kind: str, limit: float | None) -> str:
    """The way out where a number is of the wrong kind, or above a limit.

    >>> for_number(1e6, "int_type", None), for_number(90, "less_than_equal", 1)
    ('; write 1000000', '; 90 % is written 0.9')
    """
    if isinstance(value, bool):
        return ""
    if kind == "int_type" and isinstance(value, float):
        return f"; write {int(value)}" if value.is_integer() and abs(value) < 1e15 else "; a whole number is needed"
    if kind == "less_than_equal" and limit == 1 and 1 < value <= 100:
        return f"; {value:g} % is written {value / 100:g}"
    return ""


def for_day(value: Any) -> str:
    """The way out where a day is needed."""
    return "" if isinstance(value, date) else "; a day is written as 2026-01-31"
