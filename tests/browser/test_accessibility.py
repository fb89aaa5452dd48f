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
    "glossary": ".sf-meaning",
}
"""Page → what stands on it when it has answered."""

SERIOUS = ("critical", "serious")
"""Impacts that no page may have; contrast below 4.5 is among them."""

DRAWN_DARK = "getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor === 'rgb(18, 22, 27)'"


FAINT = """() => {
  const channels = colour => colour.match(/[\\d.]+/g).map(Number);
  const linear = part => part <= 10 ? part / 3295 : ((part / 255 + 0.055) / 1.055) ** 2.4;
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const below = channels(getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor);
  const contrast = text => {
    const style = getComputedStyle(text), [r, g, b, alpha = 1] = channels(style.fill);
    const opacity = alpha * style.fillOpacity * style.opacity;
    const seen = [r, g, b].map((part, i) => part * opacity + below[i] * (1 - opacity));
    const [low, high] = [luminance(seen), luminance(below)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  return [...document.querySelectorAll('.js-plotly-plot text')]
    .filter(text => text.textContent.trim() && !text.closest('.heatmap-label') && contrast(text) < 4.5)
    .map(text => text.textContent);
}"""
"""Texts beside the marks of figures, which axe-core does not look at, with a contrast below 4.5."""


def findings(page):
    """Rule and place of what axe-core finds serious."""
    found = axe.run(settled(page)).response["violations"]
    serious = [(one["id"], node["target"]) for one in found if one["impact"] in SERIOUS for node in one["nodes"]]
    return [*serious, *page.evaluate(FAINT)]


@pytest.mark.parametrize("name", ANSWERS)
def test_no_page_has_a_serious_finding_in_either_theme(open_page, name):
    page = open_page(name)
    page.wait_for_selector(ANSWERS[name])
    light = findings(page)

    page.emulate_media(color_scheme="dark")
    page.wait_for_function(DRAWN_DARK)

    assert (light, findings(page)) == ([], [])
