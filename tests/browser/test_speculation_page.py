"""The sections of the page Speculation in a real browser: opened by their tabs, by a link, on a phone, by axe-core."""

import pytest

from app.dashboard.document import mapping_of
from app.dashboard.share import decode, encode
from scenarios.load import load_scenario
from tests.browser.serving import settled

pytest.importorskip("playwright.sync_api", reason="needs playwright")

pytestmark = pytest.mark.slow

SECTIONS = ("Ways to draft", "Placement", "K by batch", "When to speculate")


def link(**held):
    several = mapping_of(load_scenario("multi_draft_code_math_prose", ("sweep={}",)))
    return f"{encode(several)}&v={encode({'deployment': 'h200-routed', **held})}"


def ways(page):
    """The table of ways to draft."""
    return settled(page).locator(".sf-table").first.inner_text()


def test_a_section_opens_by_its_tab_its_control_moves_the_numbers_and_a_copied_link_opens_the_same(open_page):
    page = open_page("speculation", s=link())
    page.get_by_role("tab", name="Ways to draft").click()
    page.wait_for_selector("text=as it stands >> visible=true")
    before = ways(page)

    address = page.url
    slider = page.get_by_role("slider", name="Router accuracy")
    for _ in range(30):
        slider.press("ArrowLeft")
    page.wait_for_function("before => location.href !== before", arg=address)
    page.wait_for_function("before => document.querySelector('.sf-table').innerText !== before", arg=before)
    after = ways(page)
    held = page.url.partition("v=")[2].partition("&")[0]
    again = open_page("speculation", s=f"{link().partition('&')[0]}&v={held}")

    assert decode(held)["tab"] == "Ways to draft"
    assert decode(held)["accuracy"] < 0.95
    assert ways(again) == after != before


@pytest.mark.parametrize("section", SECTIONS)
def test_every_section_reads_on_a_dark_phone_and_has_no_serious_finding(open_page, section):
    axe = pytest.importorskip("tests.browser.test_accessibility", reason="needs axe-playwright-python")
    page = open_page("speculation", s=link(tab=section), width=390, dark=True)
    page.wait_for_selector(".js-plotly-plot")

    assert page.locator("[data-testid=stException]").count() == 0
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390
    assert axe.findings(page) == []
