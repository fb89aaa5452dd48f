"""Every figure of every page says how it was computed, and gives its numbers."""

import re
from pathlib import Path

import pytest

from app.dashboard.terms import tip
from tests.app.dashboard.looking import lacking

DASHBOARD = Path(__file__).parents[3] / "app" / "dashboard"


def test_no_figure_is_drawn_in_another_way():
    drawing = [path.name for path in DASHBOARD.rglob("*.py") if "plotly_chart(" in path.read_text(encoding="utf-8")]

    assert drawing == ["explained.py"]


@pytest.mark.parametrize("page", ["", "load", "speculation", "memory", "evidence"])
def test_every_figure_says_how_it_was_computed_and_gives_its_numbers(dashboard, page):
    dashboard.open(page)

    assert not dashboard.at.exception
    assert lacking(dashboard) == []


def test_so_does_what_a_reader_brought(dashboard):
    dashboard.open("evidence").press("bring_example")

    assert "Survival by draft position" in [
        element.key.removeprefix("chart ") for element in dashboard.at.get("plotly_chart")
    ]
    assert lacking(dashboard) == []


def test_what_is_said_of_a_figure_names_profile_seeds_and_price(dashboard):
    dashboard.open()

    said = next(
        body for body in re.findall(r'<dl class="sf-why">.*?</dl>', dashboard.html) if "<dt>Formula</dt>" in body
    )
    assert all(f"<dt>{label}</dt>" in said for label in ("Formula", "Method", "Profile", "Error", "Price"))


def test_the_title_of_a_figure_says_what_its_word_means(dashboard):
    dashboard.open("load")

    told = {text.value.split("**")[1]: text.proto.help for text in dashboard.at.markdown if text.value.startswith("**")}
    assert told["Goodput against load"] == tip("goodput")
    assert told["TTFT"] == tip("ttft")
    assert told["Cost against load"] == ""
