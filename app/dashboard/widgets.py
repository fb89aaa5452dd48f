"""Widgets that show a value of the scenario and edit it: the scenario is set from them, and they from the scenario."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from app.dashboard import state

Changes = Mapping[str, Any]
"""Dotted path → value."""

Write = Callable[[Any], Changes]
"""What a widget's value changes in the scenario."""


def number(label: str, key: str, value: float | None, write: Write, **options: Any) -> None:
    """A number; an empty one changes nothing."""
    show_value(key, value)
    _reach(options, value)
    st.number_input(label, value=value, key=key, on_change=_changed, args=(key, write), **options)


def slider(label: str, key: str, value: float, write: Write, **options: Any) -> None:
    """A number on a scale."""
    show_value(key, value)
    _reach(options, value)
    st.slider(label, value=value, key=key, on_change=_changed, args=(key, write), **options)


def choice(label: str, key: str, value: Any, known: Sequence[Any], write: Write, **options: Any) -> None:
    """One of several; a value that is none of them stands first."""
    show_value(key, value)
    names = list(known) if value in known else [value, *known]
    st.selectbox(label, names, names.index(value), key=key, on_change=_changed, args=(key, write), **options)


def _reach(options: dict[str, Any], value: float | None) -> None:
    """Widen the range of a widget to what the scenario says."""
    if value is not None:
        options["min_value"] = min(options["min_value"], value)
        options["max_value"] = max(options["max_value"], value)


def show_value(key: str, value: Any) -> None:
    """Have a widget show what the scenario says, whatever was typed.

    The value goes to the widget as its default, too: a browser that is given two answers in a row sees the last only,
    and the session's part of the first would be lost.
    """
    if st.session_state.get(key) != value or key not in st.session_state:
        st.session_state[key] = value


def _changed(key: str, write: Write) -> None:
    value = st.session_state[key]
    if value is not None:
        state.apply(write(value))
