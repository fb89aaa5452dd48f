"""Every page by axe-core, in both themes."""

import pytest

from tests.browser.serving import settled

pytest.importorskip("playwright.sync_api", reason="needs playwright")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python").Axe()

pytestmark = pytest.mark.slow

ANSWERS = {
    "": ".sf-cards",
    "load": ".js-plotly-plot",
    "speculation": ".js-plotly-plot",
    "memory": ".js-plotly-plot",
    "plan": ".sf-winner",
    "sensitivity": ".sf-claim",
    "article": ".sf-claims",
    "evidence": ".sf-table",
    "runs": ".sf-head",
    "scenario": "textarea",
}
"""Page → what stands on it when it has answered."""

SERIOUS = ("critical", "serious")
"""Impacts that no page may have; contrast below 4.5 is among them."""

DRAWN_DARK = "getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor === 'rgb(18, 22, 27)'"


def findings(page):
    """Rule and place of what axe-core finds serious."""
    found = axe.run(settled(page)).response["violations"]
    return [(one["id"], node["target"]) for one in found if one["impact"] in SERIOUS for node in one["nodes"]]


@pytest.mark.parametrize("name", ANSWERS)
def test_no_page_has_a_serious_finding_in_either_theme(open_page, name):
    page = open_page(name)
    page.wait_for_selector(ANSWERS[name])
    light = findings(page)

    page.emulate_media(color_scheme="dark")
    page.wait_for_function(DRAWN_DARK)

    assert (light, findings(page)) == ([], [])
