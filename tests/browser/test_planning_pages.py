"""Plan, Sensitivity and Runs in a real browser: what they show is what the library finds."""

import json
import re

import pytest

from app.dashboard import planned, varied
from app.dashboard.document import edited, mapping_of
from app.dashboard.plan_question import Question, plan_text
from app.dashboard.plan_question import mapping_of as question_mapping
from app.dashboard.share import encode
from app.format import usd
from scenarios.load import load_scenario
from simulator.planning.search import plan, plan_json
from simulator.planning.sensitivity import sensitivity
from simulator.spec.plan import Plan
from tests.app.toys import SMALL, call
from tests.browser.serving import choose, settled

expect = pytest.importorskip("playwright.sync_api", reason="needs playwright").expect

pytestmark = pytest.mark.slow

NARROW = Question(
    without=("h200-plain", "b200-plain"),
    plan=Plan(vary={"target.tensor_parallel": (2, 4), "speculation.propose.draft_tokens": (3, 4)}),
)


@pytest.fixture(scope="module")
def scenario():
    return edited(load_scenario("h200_vs_b200_chat"), {"workload.horizon.requests": 300, "replications": 2})


def answered(page):
    page.wait_for_selector(".sf-winner")
    return settled(page)


def test_a_plan_shows_the_planners_own_choice_and_opens_it_in_compare(open_page, scenario):
    page = answered(open_page("plan", s=f"{encode(mapping_of(scenario))}&p={encode(question_mapping(NARROW))}"))

    loaded = planned.load(plan_text(mapping_of(scenario), NARROW))
    found = plan_json(plan(loaded.scenario, loaded.plan.model_copy(update={"confirm": 0})))
    choice = next(point for point in found["points"] if point["name"] == found["choice"])
    said = page.locator(".sf-winner").inner_text()
    with page.expect_popup() as opened:
        page.get_by_role("link", name="Open in Compare").click()
    opened.value.wait_for_selector(".sf-cards")

    assert f"{choice['name']}: " in said
    assert f"{usd(choice['usd_per_hour'])}/h" in said
    assert choice["name"] in settled(opened.value).locator(".sf-table").first.inner_text()


def test_a_choice_is_confirmed_by_simulation_and_another_candidate_looked_at(open_page, scenario):
    page = answered(open_page("plan", s=f"{encode(mapping_of(scenario))}&p={encode(question_mapping(NARROW))}"))

    page.get_by_role("button", name="Confirm by simulation").click()
    page.wait_for_selector(".sf-winner >> text=confirmed by simulation")
    settled(page)
    chosen = candidate(page).input_value()
    page.locator(".js-plotly-plot .scatterlayer .points path").first.click(force=True)
    expect(candidate(page)).not_to_have_value(chosen)
    settled(page)

    assert re.search(r"\d+ of \d+", page.locator(".sf-table", has_text="load ÷ capacity").inner_text())
    assert page.get_by_text("--tensor-parallel-size").first.is_visible()


def candidate(page):
    """The candidate that is looked at."""
    return page.get_by_role("combobox", name="Candidate")


def test_how_safe_the_winner_is_says_the_library_too(open_page, scenario):
    page = answered(open_page("sensitivity", s=encode(mapping_of(scenario))))

    found = sensitivity(scenario.points[0].scenario).as_json()
    told = varied.claim(found)

    assert page.locator(".sf-claim").inner_text() in told
    assert len(found["bars"]) == page.locator(".sf-table tbody tr").count()


@pytest.fixture(scope="module")
def runs(server_folder):
    """Two runs of a small scenario in the server's runs folder, the second at twice the price."""
    file = server_folder / "small.yaml"
    file.write_text(SMALL)
    for price in ("3.5", "7"):
        ran = call(
            "run", file, "--out", server_folder / "runs", "--jobs", "1", "--set", f"deployments.plain.price={price}"
        )
        assert ran.exit_code == 0
    return sorted((server_folder / "runs").iterdir(), key=lambda run: (run / "manifest.json").stat().st_mtime)


def test_a_run_is_opened_and_compared_with_another(open_page, runs, tmp_path):
    cheap, dear = runs
    page = settled(open_page("runs"))

    with page.expect_download() as report:
        page.get_by_role("button", name="Report (HTML)").click()
    report.value.save_as(tmp_path / "report.html")
    choose(page, "Compare with", cheap.name)
    page.get_by_text(f"{dear.name} ÷ {cheap.name}").wait_for()
    settled(page)

    row = json.loads((dear / "summary.json").read_text())["rows"][0]
    assert row["usd_per_hour"] == 7
    assert (tmp_path / "report.html").read_bytes() == (dear / "report.html").read_bytes()
    assert "2.00×" in page.locator(".sf-table").last.inner_text() + page.locator(".sf-table").nth(1).inner_text()
