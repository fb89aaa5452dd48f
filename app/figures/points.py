"""The points of a figure as rows, unrounded, for a CSV: what was drawn is what is taken away."""

import re
from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from typing import Any

import numpy as np
import plotly.graph_objects as go

_TAG = re.compile(r"<[^>]*>")

Row = dict[str, Any]


def points(drawn: go.Figure) -> list[Row]:
    """A row for each point of lines, marks, bars and cells: its series, its place by the axes' titles, its note.

    The ends of an interval stand beside it as `low` and `high`; a cell's value is `value`, as it is coloured.
    """
    across, up = _axis(drawn.layout.xaxis, "x"), _axis(drawn.layout.yaxis, "y")
    return [row for trace in drawn.data for row in _rows(trace, across, up if up != across else f"{up} (vertical)")]


def no_points(drawn: go.Figure) -> bool:
    """Whether nothing stands in a figure but its axes."""
    return not any(trace.x is not None and len(trace.x) for trace in drawn.data)


def _axis(axis: Any, other: str) -> str:
    return _plain(axis.title.text) or other


def _plain(text: Any) -> str:
    """A text of a figure without its tags.

    >>> _plain("a &lt; b<br>c")
    'a < b c'
    """
    return unescape(_TAG.sub(" ", str(text or ""))).strip()


def _rows(trace: Any, across: str, up: str) -> Iterator[Row]:
    for place, (x, y, value) in enumerate(_places(trace)):
        row: Row = {"series": _plain(trace.name), across: x, up: y}
        if value is not None:
            row["value"] = value
        yield row | _ends(trace, place, x, y) | _note(trace, place)


def _places(trace: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Where each point stands, and what it holds beyond that."""
    if getattr(trace, "z", None) is not None:
        yield from _cells(trace)
        return
    xs, ys = _values(trace.x), _values(trace.y)
    base = _values(getattr(trace, "base", None))
    for place, (x, y) in enumerate(zip(xs, ys, strict=False)):
        yield (x + base[place] if base else x), y, None


def _cells(trace: Any) -> Iterator[tuple[Any, Any, Any]]:
    for y, line in zip(_values(trace.y), trace.z, strict=True):
        for x, value in zip(_values(trace.x), _values(line), strict=True):
            yield x, y, value


def _ends(trace: Any, place: int, x: Any, y: Any) -> Row:
    """The interval of a point, across or up; nothing where it has none."""
    for name, at in (("error_y", y), ("error_x", x)):
        bar = getattr(trace, name, None)
        above = _values(getattr(bar, "array", None))
        if above:
            below = _values(getattr(bar, "arrayminus", None)) or above
            return {"low": at - below[place], "high": at + above[place]}
    return {}


def _note(trace: Any, place: int) -> Row:
    """What is said at a point, where it is said of each point alone."""
    for said in (trace.customdata, trace.text):
        if said is None or isinstance(said, str) or place >= len(said):
            continue
        one = said[place]
        text = one if isinstance(one, str) else str(one[-1]) if len(one) and isinstance(one[-1], str) else ""
        if text:
            return {"note": _plain(text)}
    return {}


def _values(found: Any) -> list[Any]:
    """Numbers or names of an axis as plain values; empty where there are none."""
    if found is None:
        return []
    values = found.tolist() if isinstance(found, np.ndarray) else list(found)
    return [_plain(value) if isinstance(value, str) else value for value in values]


def names(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Columns of rows that may lack some, in the order in which they come; a note stands last."""
    found = dict.fromkeys(name for row in rows for name in row)
    return [name for name in found if name != "note"] + [name for name in found if name == "note"]
