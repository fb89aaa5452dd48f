"""Controls of the page Speculation whose values stay, and stand in the link: only what was moved is held.

What is held may come from a link: a control takes a value that it offers, and no other.
"""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from math import isfinite
from typing import Any

import streamlit as st

from app.dashboard.widgets import show_value

HELD = "specfleet_speculation"
"""Key of the session: name of a control → its value."""

POINT, OF = "point", "of"
"""Under which name the reader's own point is held, and in it the mark of the deployment and draft that it is of."""

MOST_TEXT = 100
"""Characters of a text, entries of a list, and values, that a link may hold."""


def mapping() -> dict[str, Any]:
    """What was moved; empty where nothing was."""
    found: dict[str, Any] = st.session_state.get(HELD, {})
    return found


def take(values: Mapping[str, Any]) -> None:
    """Put the controls where a link says; those that it does not name stand as at first."""
    held, point = _plain(values), values.get(POINT)
    held.pop(POINT, None)
    st.session_state[HELD] = held | {POINT: _plain(point)} if isinstance(point, dict) else held


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """What of it a control may have, and no more than there are controls."""
    known = {name: value for name, value in values.items() if len(name) <= MOST_TEXT and is_plain(value)}
    return dict(list(known.items())[:MOST_TEXT])


def put(name: str, value: Any, of: str = "") -> None:
    """Hold the value of a control.

    of: what the reader's own point is of, for controls of it; a point of something else is forgotten.
    """
    held = mapping()
    if not of:
        st.session_state[HELD] = held | {name: value}
        return
    point = held.get(POINT, {})
    same = point if point.get(OF) == mark(of) else {OF: mark(of)}
    st.session_state[HELD] = held | {POINT: same | {name: value}}


def mark(of: str) -> str:
    """What a point is of, short.

    >>> mark("a") == mark("a") != mark("b")
    True
    """
    return blake2b(of.encode(), digest_size=6).hexdigest()


def is_plain(value: Any) -> bool:
    """Whether a control may have such a value: a short text, a number, or a list of short texts.

    >>> [is_plain(value) for value in ("a", 1.5, ["a"], {}, [1], float("nan"), "x" * 101)]
    [True, True, True, False, False, False, False]
    """
    if isinstance(value, list):
        return len(value) <= MOST_TEXT and all(isinstance(one, str) and len(one) <= MOST_TEXT for one in value)
    if isinstance(value, str):
        return len(value) <= MOST_TEXT
    return isinstance(value, int | float) and isfinite(value)


def slider(
    label: str, name: str, first: float, ends: tuple[float, float], step: float, *, of: str = "", **options: Any
) -> Any:
    """A number on a scale, at first at `first`; all of one type."""
    held = _held(name, of)
    known = isinstance(held, int | float) and ends[0] <= held <= ends[1]
    value = type(first)(held) if known else first
    scale: dict[str, Any] = {"min_value": ends[0], "max_value": ends[1], "value": value, "step": step}
    return st.slider(label, **scale, **_keyed(name, of, value), **options)


def select_slider(label: str, name: str, known: Sequence[Any], first: Any, *, of: str = "", **options: Any) -> Any:
    """One of several in order."""
    value = _one_of(known, name, of, first)
    return st.select_slider(label, known, value, **_keyed(name, of, value), **options)


def segments(label: str, name: str, known: Sequence[Any], first: Any, *, of: str = "", **options: Any) -> Any:
    """One of few."""
    value = _one_of(known, name, of, first)
    return st.segmented_control(label, known, default=value, required=True, **_keyed(name, of, value), **options)


def choice(label: str, name: str, known: Sequence[Any], first: Any, *, of: str = "", **options: Any) -> Any:
    """One of many."""
    value = _one_of(known, name, of, first)
    return st.selectbox(label, known, list(known).index(value), **_keyed(name, of, value), **options)


def pills(label: str, name: str, known: Sequence[str], first: Sequence[str], **options: Any) -> list[str]:
    """Any of several, in their order."""
    held = _held(name, "")
    value = [one for one in known if one in (held if isinstance(held, list) else first)]
    keyed = _keyed(name, "", value)
    chosen = st.pills(label, known, selection_mode="multi", default=value, **keyed, **options)
    return [one for one in known if one in (chosen or ())]


def tabs(titles: Sequence[str]) -> Sequence[Any]:
    """Tabs of which only the open one is computed."""
    value = _one_of(titles, "tab", "", titles[0])
    return st.tabs(titles, default=value, **_keyed("tab", "", value))


def _held(name: str, of: str) -> Any:
    values = mapping()
    if of:
        point = values.get(POINT, {})
        values = point if point.get(OF) == mark(of) else {}
    return values.get(name)


def _one_of(known: Sequence[Any], name: str, of: str, first: Any) -> Any:
    held = _held(name, of)
    return held if held in known else first


def _keyed(name: str, of: str, value: Any) -> dict[str, Any]:
    """A control's key and what is done when it moves; it shows the value whatever the session has of it."""
    key = f"speculation_{mark(of)}_{name}" if of else f"speculation_{name}"
    show_value(key, value)
    return {"key": key, "on_change": _moved, "args": (key, name, of)}


def _moved(key: str, name: str, of: str) -> None:
    put(name, st.session_state[key], of)
