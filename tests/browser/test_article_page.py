"""The page Article in a real browser: every claim as the library has it, and its systems a click away."""

import csv

import pytest

from simulator.planning.claims.article import check_claims
from tests.browser.serving import settled

pytest.importorskip("playwright.sync_api", reason="needs playwright")

pytestmark = pytest.mark.slow

CLAIMS = ".sf-claims >> nth=0"


def test_all_claims_are_those_of_the_library_are_filtered_and_lead_to_their_system(open_page, tmp_path):
    page = open_page("article")
    page.wait_for_selector(CLAIMS)
    settled(page)
    claims = check_claims()
    shown = page.locator(CLAIMS).inner_text()
    with page.expect_download() as file:
        page.get_by_role("button", name="Claims (CSV)").click()
    file.value.save_as(tmp_path / "claims.csv")
    page.get_by_role("button", name="impossible").click()
    page.wait_for_function("document.querySelectorAll('.sf-claims summary').length === 3")
    page.locator("summary", has_text="of claim 4").click()
    page.get_by_role("link", name="Open four_drafts_400b in Compare").first.click()
    page.wait_for_selector(".sf-cards")

    assert all(claim.claim in shown and claim.figures[0].text in shown for claim in claims)
    rows = list(csv.DictReader((tmp_path / "claims.csv").read_text().splitlines()))
    assert [float(row["high"]) for row in rows] == [figure.high for claim in claims for figure in claim.figures]
    assert "four-drafts-400b" in settled(page).locator(".sf-head").inner_text()
