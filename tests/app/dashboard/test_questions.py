"""The common questions, each a press away from its answer."""

import re
from pathlib import Path

import pytest

from app.dashboard.document import edited
from app.dashboard.main import PAGES
from app.dashboard.questions import KEY, PRESETS
from app.dashboard.share import decode
from scenarios.files import read_source
from scenarios.load import load_scenario
from simulator.physics.ledger import fits, memory_ledger
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
    assert len({preset.asks for preset in PRESETS}) == len(PRESETS) >= 8
    assert all(read_source(preset.scenario).text for preset in PRESETS)


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.asks)
def test_every_change_that_a_question_makes_is_a_valid_one(preset):
    loaded = edited(load_scenario(preset.scenario), preset.changes)

    assert set(preset.deployments) <= set(loaded.points[0].scenario.deployments)


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


def test_a_job_is_asked_with_its_deadline(asked, monkeypatch):
    monkeypatch.setattr("app.dashboard.pages.plan.ask", lambda text, simulate: None)

    page = asked("A job of 5 million")

    job = page.at.session_state["specfleet_question"].plan.fleet.job
    assert (job.requests, job.within_hours) == (5_000_000, 12)
    assert decode(page.at.query_params["p"])["plan"]["fleet"]["job"] == {"requests": 5_000_000, "within_hours": 12}


def test_a_long_context_is_counted_where_it_is_asked_for(asked):
    page = asked("128K")

    held = {row.deployment: row.max_sequences_at[131_072] for row in ledgers(page.scenario())}
    assert {name: int(number) for name, number in metrics(page).items() if name in held} == held
    assert min(held.values()) > 0


def test_where_a_draft_stops_paying_is_said_of_its_place(asked):
    page = asked("stop paying")

    assert re.search(r"K = \d pays up to \d+ sequences", "".join(text.value for text in page.at.markdown))


@pytest.mark.parametrize(
    ("words", "names"),
    [("mixture of experts", ("subset", "mtp")), ("GPUs of their own", ("beside-the-target", "draft-gpu-ahead"))],
)
def test_ways_to_draft_are_compared_in_one_table(asked, words, names):
    page = asked(words)

    assert "sf-winner" in page.html
    assert all(f'<th scope="col">{name}' in page.html for name in names)
    assert not page.at.exception


def ledgers(scenario):
    return [row for name, spec in scenario.deployments.items() for row in memory_ledger(name, spec)]
