"""The common questions, each a press away from its answer."""

import re
from pathlib import Path

import pytest

from app.dashboard.main import PAGES
from app.dashboard.questions import KEY, PRESETS
from scenarios.files import read_source
from simulator.physics.ledger import fits
from tests.app.dashboard.looking import metrics, table

DOCS = (Path(__file__).parents[3] / "docs" / "dashboard.md").read_text(encoding="utf-8")


def test_the_documentation_has_each_question_in_its_words():
    assert [preset.asks for preset in PRESETS if f"**{preset.asks}**" not in DOCS] == []


@pytest.fixture
def asked(dashboard):
    """Open the dashboard and choose a question."""

    def ask(words):
        number = next(number for number, preset in enumerate(PRESETS) if words in preset.asks)
        dashboard.open().at.menu_button(key=KEY).click_index(number).run()
        return dashboard

    return ask


def test_every_question_has_its_page_and_its_scenario():
    assert {preset.page for preset in PRESETS} <= {title for _, title, _ in PAGES}
    assert all(read_source(preset.scenario).text for preset in PRESETS)


def test_whether_a_head_pays_is_asked_at_that_many_sequences(asked):
    page = asked("EAGLE")

    said = next(text.value for text in page.at.markdown if "eagle3-chain-5" in text.value)
    assert page.scenario().workload.arrivals.concurrency == 64
    assert [spec.replicas for spec in page.scenario().deployments.values()] == [1, 1]
    assert "with 64 sequences the fastest K is 3" in said
    assert float(metrics(page)["Speed-up"].rstrip("×")) > 1.2


def test_why_the_large_model_does_not_fit_is_told_in_bytes(asked):
    page = asked("400B")

    rows = {line["per GPU"]: line["one-b200"] for line in table(page, "per GPU")}
    target_gb, usable_gb = (float(rows[name].removesuffix(" GB")) for name in ("target weights", "usable"))
    assert not fits(page.scenario().deployments["one-b200"])
    assert metrics(page)["one-b200"] == "none"
    assert target_gb > usable_gb
    said = next(error.value for error in page.at.error if error.value.startswith("one-b200"))
    lacks = re.search(r"lacks [\d.]+ GiB", said)
    assert lacks
    assert lacks[0] in DOCS


def test_which_k_for_which_batch_is_a_table(asked):
    rows = table(asked("What K"), "fastest K")

    assert rows[0]["sequences in flight"].startswith("1 to ")
    assert int(rows[0]["fastest K"]) > int(rows[-1]["fastest K"])


def test_a_plan_is_asked_at_its_load(asked, monkeypatch):
    monkeypatch.setattr("app.dashboard.pages.plan.ask", lambda text, simulate: None)

    page = asked("70B chat")

    assert page.at.session_state["specfleet_origin"] == "h200_vs_b200_chat"
    assert page.scenario().workload.arrivals.rate_per_s == 20
