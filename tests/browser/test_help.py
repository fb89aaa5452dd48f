"""What somebody who has never seen the dashboard finds: the four numbers, every word, how a number came about."""

import csv

import pytest

from app.dashboard.cards import CARDS, with_totals
from app.dashboard.estimates import estimated
from app.dashboard.sides import tie_of
from scenarios.load import load_scenario
from tests.browser.serving import go, number, settled

pytest.importorskip("playwright.sync_api", reason="needs playwright")

pytestmark = pytest.mark.slow

TOUR = "[aria-label='What the four numbers say']"


def test_the_tour_is_shown_once_and_moves_no_number(open_page, address):
    page = open_page()
    told, before = page.locator(TOUR).inner_text(), page.locator(".sf-cards").inner_text()
    page.get_by_role("button", name="Got it").click()
    page.locator(TOUR).wait_for(state="detached")
    settled(page)
    again = go(page.context.new_page(), address)
    again.wait_for_selector(".sf-cards")
    shown_again = again.locator(TOUR).count()
    again.get_by_text("Help", exact=True).click()
    again.get_by_role("button", name="What the four numbers say").click()
    again.wait_for_selector(TOUR)

    assert all(card.title in told for card in CARDS)
    assert page.locator(".sf-cards").inner_text() == before
    assert shown_again == 0


def test_a_tooltip_leads_to_its_word_in_a_window_of_its_own(open_page):
    page = open_page()

    number(page, "TTFT p95").locator("xpath=ancestor::*[@data-testid='stNumberInput']").get_by_test_id(
        "stTooltipIcon"
    ).hover()
    with page.expect_popup() as opened:
        page.get_by_role("tooltip").get_by_role("link", name="Glossary").click()
    word = settled(opened.value).locator("h3").first

    assert word.inner_text() == "TTFT"


def test_a_figure_says_how_it_was_computed_and_its_csv_is_what_it_draws(open_page, tmp_path):
    page = open_page()
    page.get_by_role("button", name="How this was computed").first.click()
    page.wait_for_selector("text=held-out TPOT error")
    page.keyboard.press("Escape")

    with page.expect_download() as file:
        page.get_by_role("button", name="CSV").first.click()
    file.value.save_as(tmp_path / "tie.csv")

    rows = list(csv.DictReader((tmp_path / "tie.csv").read_text(encoding="utf-8").splitlines()))
    found = tie_of(with_totals(estimated(load_scenario("h200_vs_b200_chat").points[0].scenario)))
    tie = next(row for row in rows if row["note"].startswith("tie"))
    assert float(tie[f"price of {found.winner.gpu} ÷ {found.other.gpu}"]) == pytest.approx(found.at)
    assert file.value.suggested_filename == "cost-against-the-price-ratio.csv"
