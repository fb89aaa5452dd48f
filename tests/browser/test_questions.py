"""Common questions, asked as somebody would who has never seen the dashboard: two clicks, then read."""

import re

import pytest

from tests.browser.serving import TIMEOUT_MS, settled

expect = pytest.importorskip("playwright.sync_api", reason="needs playwright").expect

pytestmark = pytest.mark.slow

ANSWERS = (
    ("Which GPU for a 70B chat", "/plan", r"\d+ × (h200|b200)-sxm.* \$[\d.]+/h"),
    ("Does an EAGLE head pay", "/speculation", r"eagle3-chain-5: K = 5 pays .*with 64 sequences the fastest K is \d"),
    ("Why do 400B in FP4", "/memory", r"one-b200: one sequence of 8,192 tokens lacks [\d.]+ GiB on each GPU"),
    ("What K for which batch", "/speculation", r"fastest K\s*1 to \d+\s*\d"),
    ("A job of 5 million", "/plan", r"5,000,000 requests within 12.* on \d+ GPUs? of"),
    ("How many sequences of 128K", "/memory", r"Sequences of 128K tokens"),
    ("Draft GPUs of their own", "/?s=", r"draft-gpu-ahead"),
)
"""Question, page, and what is read there."""


def test_each_question_is_two_clicks_from_its_answer(open_page):
    page = open_page()
    for question, path, answer in ANSWERS:
        page.get_by_role("button", name="Questions").click()
        page.get_by_role("menuitem", name=question).click()
        page.wait_for_url(re.compile(re.escape(path)))
        expect(page.get_by_test_id("stMain")).to_contain_text(re.compile(answer), timeout=TIMEOUT_MS)
        settled(page)

    assert page.locator("[data-testid=stException]").count() == 0


def test_the_back_button_leaves_the_answer_of_a_question(open_page):
    page = open_page()
    page.get_by_role("button", name="Questions").click()
    page.get_by_role("menuitem", name="Why do 400B in FP4").click()
    page.wait_for_url(re.compile(r"/memory\?s="))
    expect(page.locator(".sf-head").first).to_contain_text("four-drafts-400b")

    for _ in range(2):
        settled(page).go_back()

    expect(page.locator(".sf-head").first).to_have_text(re.compile("^h200-vs-b200-chat"))
