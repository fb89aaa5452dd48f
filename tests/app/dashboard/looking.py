"""Changing a scenario, and reading a page: controls by their label, figures by their key, tables by their column."""

import html
import json
import re
import time
from typing import Any

from app.dashboard.document import edited
from scenarios.load import LoadedScenario

CELL = re.compile(r"<t[hd][^>]*>(?:<a [^>]*>)?(.*?)(?:</a>)?</t[hd]>")
"""A cell's text; a head may be a link to what it means."""


def changed(dashboard: Any, path: str, value: Any) -> LoadedScenario:
    """The scenario that a browser looks at, with another value at a place."""
    return edited(dashboard.at.session_state["specfleet_loaded"], {path: value})


def labelled(dashboard: Any, label: str) -> Any:
    """A control by its label, or by how its label begins."""
    found = [e for e in dashboard.at._tree if str(getattr(e, "label", None) or "").startswith(label)]
    return next(element for element in found if hasattr(element, "set_value") or hasattr(element, "click"))


def figure(dashboard: Any, number: int = 0) -> dict[str, Any]:
    """A figure of the page, as it is sent to the browser."""
    return json.loads(dashboard.at.get("plotly_chart")[number].proto.spec)


def figures(dashboard: Any) -> list[str]:
    """All figures of the page as texts: equal when nothing has changed."""
    return [element.proto.spec for element in dashboard.at.get("plotly_chart")]


def metrics(dashboard: Any) -> dict[str, str]:
    """Label → number of the page's cards."""
    return {element.label: element.value for element in dashboard.at.metric}


def table(dashboard: Any, column: str) -> list[dict[str, str]]:
    """The table of the page that has a column."""
    for text in re.findall(r"<table.*?</table>", dashboard.html, re.DOTALL):
        head, *rows = ([html.unescape(cell) for cell in CELL.findall(line)] for line in text.split("<tr>")[1:])
        if column in head:
            return [dict(zip(head, row, strict=True)) for row in rows]
    raise AssertionError(f"no table has a column {column!r}")


def waited(dashboard: Any, text: str, most_s: float = 60.0) -> Any:
    """The page once it says something that is computed beside it."""
    deadline_s = time.monotonic() + most_s
    while text not in dashboard.html and time.monotonic() < deadline_s:
        time.sleep(0.05)
        dashboard.at.run()
    assert text in dashboard.html, f"never said {text!r}: {dashboard.html[-2000:]}"
    return dashboard


def link_to(dashboard: Any, label: str) -> str:
    """Where a link leads."""
    return next(element.proto.url for element in dashboard.at.get("link_button") if element.proto.label == label)


def beside(dashboard: Any, part: str) -> list[str]:
    """Titles that have this below them, `how` they were computed or their `csv`, in the order of the page."""
    kind = {"how": "popover", "csv": "download_button"}[part]
    keys = [str(element.key or "") for element in dashboard.at.get(kind)]
    return [key.removeprefix(f"{part} ") for key in keys if key.startswith(f"{part} ")]


def lacking(dashboard: Any) -> list[str]:
    """Figures of the page that lack one of the two; there is at least one figure."""
    keys = [str(element.key).removeprefix("chart ") for element in dashboard.at.get("plotly_chart")]
    assert keys
    return [f"{key}: {part}" for part in ("how", "csv") for key in keys if key not in beside(dashboard, part)]
