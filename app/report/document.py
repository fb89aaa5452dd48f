"""A whole HTML page around its sections: one file, no script, nothing fetched."""

from collections.abc import Iterable
from importlib import resources

from app.report.markup import Child, Markup, tag

NOTHING_FETCHED = "default-src 'none'; style-src 'unsafe-inline'"


def html_document(title: str, sections: Iterable[Child]) -> str:
    """The page; title: what a browser's tab says, before the name of the project."""
    style = resources.files("app.report").joinpath("style.css").read_text(encoding="utf-8")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=NOTHING_FETCHED),
        tag("title", f"{title} · specfleet"),
        tag("style", Markup(style)),
    )
    body = tag("body", tag("main", *sections))
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"
