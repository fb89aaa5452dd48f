"""A trace of one's own, brought to the page Load in a real browser."""

import pytest

from tests.browser.serving import TIMEOUT_MS, settled
from tests.browser.test_accessibility import DRAWN_DARK, findings

expect = pytest.importorskip("playwright.sync_api", reason="needs playwright").expect

pytestmark = pytest.mark.slow

AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n" + "".join(
    f"2023-11-16 18:{second // 60:02d}:{second % 60:02d}.0,{400 + second},{50 + second % 60}\n" for second in range(300)
)


def bring(page, name, text):
    page.get_by_role("tab", name="What arrives").click()
    settled(page)
    page.locator("input[type=file]").set_input_files({"name": name, "mimeType": "text/csv", "buffer": text.encode()})


def test_an_uploaded_trace_is_replayed_simulated_and_in_no_link(open_page):
    page = open_page("load")
    bring(page, "mine.csv", AZURE)

    page.get_by_role("button", name="Replay it").click()
    expect(page.get_by_role("button", name="Back to drawn requests")).to_be_visible(timeout=TIMEOUT_MS)
    settled(page)
    page.get_by_role("button", name="Share").click()
    expect(page.get_by_text("No link holds the uploaded trace mine.csv")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Simulate").click()
    page.wait_for_selector(".sf-simulated", timeout=2 * TIMEOUT_MS)
    settled(page)

    assert "?s=" not in page.url
    assert page.locator("[data-testid=stException]").count() == 0


def test_a_file_that_is_no_trace_is_refused_in_a_sentence(open_page):
    page = open_page("load")
    bring(page, "mine.csv", AZURE + "2023-11-16 18:30:00.0,many,1\n")

    expect(page.get_by_text("mine.csv:302: ContextTokens is 'many': a whole number is needed")).to_be_visible()
    assert page.locator("[data-testid=stException]").count() == 0


def test_a_fitted_workload_is_in_the_link(open_page):
    page = open_page("load")
    bring(page, "mine.csv", AZURE)
    before = page.url

    page.get_by_role("button", name="Fit a workload to it").click()
    page.wait_for_function("before => location.href !== before", arg=before)
    settled(page)

    assert "?s=" in page.url


def test_what_arrives_has_no_serious_finding_in_either_theme(open_page):
    page = open_page("load")
    page.get_by_role("tab", name="What arrives").click()
    page.wait_for_selector("text=Lengths of prompts and outputs")
    light = findings(page)

    page.emulate_media(color_scheme="dark")
    page.wait_for_function(DRAWN_DARK)

    assert (light, findings(page)) == ([], [])
