"""The dashboard: its pages, the controls beside them and the bar on top, drawn anew for every move of a browser."""

from pathlib import Path

import streamlit as st

from app.dashboard import controls, links, refine, state, tour
from app.dashboard.pages import (
    article,
    compare,
    evidence,
    glossary,
    load,
    memory,
    plan,
    runs,
    scenario,
    sensitivity,
    speculation,
)
from app.report.markup import tag

STYLE = Path(__file__).with_name("style.css")

ICON = Path(__file__).with_name("icon.png")

# In the order of the sidebar; the first is opened first.
PAGES = (
    (compare.page, "Compare", ":material/balance:"),
    (load.page, "Load", ":material/show_chart:"),
    (speculation.page, "Speculation", ":material/bolt:"),
    (memory.page, "Memory", ":material/memory:"),
    (plan.page, "Plan", ":material/shopping_cart:"),
    (sensitivity.page, "Sensitivity", ":material/tornado:"),
    (article.page, "Article", ":material/article:"),
    (evidence.page, "Evidence", ":material/fact_check:"),
    (runs.page, "Runs", ":material/folder_open:"),
    (scenario.page, "Scenario", ":material/edit_note:"),
    (glossary.page, "Glossary", ":material/menu_book:"),
)


def main() -> None:
    """Draw the chosen page."""
    st.set_page_config(page_title="specfleet", page_icon=ICON, layout="wide")
    pages = [
        st.Page(page, title=title, icon=icon, url_path=title.lower(), default=page is PAGES[0][0])
        for page, title, icon in PAGES
    ]
    chosen = st.navigation(pages, position="sidebar")
    st.html(STYLE)
    tour.begin()
    links.follow()
    with st.sidebar:
        controls.sidebar()
        tour.help_place(pages)
    query = links.write()
    _head(chosen.title)
    refine.bar(query, pages)
    refine.problem()
    refine.guarded(chosen.run)


def _head(page: str) -> None:
    """Name and question of the scenario; the page's title for those who have it read out."""
    shown = state.current()
    described = tag("p", shown.description) if shown.description else None
    st.html(tag("div", tag("h1", shown.name), described, tag("h2", page, class_="sf-hidden"), class_="sf-head"))
