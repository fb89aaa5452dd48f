"""What a person does with the dashboard, in a real browser."""

import csv
import http.client
import json
import subprocess
import sys

import pytest

from app.dashboard.document import edited, mapping_of
from app.dashboard.share import decode, encode
from scenarios.load import load_scenario
from tests.browser.serving import choose, number, settled, type_in

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
expect = playwright.expect

pytestmark = pytest.mark.slow

PAGES = (
    "",
    "load",
    "speculation",
    "memory",
    "plan",
    "sensitivity",
    "article",
    "evidence",
    "runs",
    "scenario",
    "glossary",
)
SMALL = {"workload.horizon": {"requests": 200}, "replications": 1}


def link(**changes):
    return encode(mapping_of(edited(load_scenario("h200_vs_b200_chat"), changes)))


def cards(page):
    return page.locator(".sf-cards").first.inner_text()


def test_a_moved_control_changes_the_numbers_and_a_copied_link_opens_the_same(open_page):
    page = open_page()
    before = cards(page)

    type_in(page, "Requests per second", "33")
    after = cards(page)
    page.get_by_role("button", name="Share").click()
    copied = page.locator("code", has_text="?s=").inner_text()
    again = open_page(s=copied.partition("?s=")[2])

    assert before != after
    assert cards(again) == after
    assert number(again, "Requests per second").input_value() == "33"
    assert decode(copied.partition("?s=")[2])["workload"]["arrivals"]["rate_per_s"] == 33


def test_a_head_from_the_list_of_drafts_is_compared_at_once(open_page):
    page = open_page()
    before = page.url

    page.get_by_text("One deployment").click()
    choose(page, "Draft", "EAGLE-3 head")
    page.wait_for_function("before => location.href !== before", arg=before)
    settled(page)

    assert "eagle3 head, K=3" in page.locator(".sf-table").first.inner_text()


def test_the_back_button_takes_a_change_back(open_page):
    page = open_page()
    first = cards(page)
    type_in(page, "Requests per second", "29")

    page.go_back()
    page.wait_for_function("first => document.querySelector('.sf-cards').innerText === first", arg=first)

    expect(number(page, "Requests per second")).to_have_value("21")


def test_a_downloaded_file_gives_the_same_figures_on_the_command_line(open_page, tmp_path):
    page = open_page("scenario", s=link(**SMALL))
    page.get_by_role("button", name="Simulate").click()
    page.wait_for_selector(".sf-simulated")
    settled(page)

    file, figures = (download(page, name, tmp_path) for name in ("Scenario (YAML)", "Figures (CSV)"))
    command = [sys.executable, "-m", "app", "run", str(file), "--json", "--out", str(tmp_path / "runs")]
    ran = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    shown = list(csv.DictReader(figures.read_text().splitlines()))

    assert [row["deployment"] for row in ran["rows"]] == [row["deployment"] for row in shown]
    for ours, theirs in zip(ran["rows"], shown, strict=True):
        for field in ("capacity_req_per_s", "usd_per_million_output_tokens_at_capacity", "mean_batch"):
            assert float(theirs[field]) == ours[field]
        assert float(theirs["ttft_s.p95"]) == ours["ttft_s"]["p95"]


def download(page, name, folder):
    with page.expect_download() as found:
        page.get_by_role("button", name=name).click()
    path = folder / found.value.suggested_filename
    found.value.save_as(path)
    return path


def test_a_bad_upload_is_told_and_changes_nothing(open_page, tmp_path):
    page = open_page("scenario")
    (tmp_path / "bad.yaml").write_text("schema_version: 1\nname: x\nreplicass: 3\n")

    page.locator("input[type=file]").set_input_files(tmp_path / "bad.yaml")
    page.wait_for_selector("text=Not taken")

    assert page.get_by_text("bad.yaml:3").first.is_visible()
    assert "h200-vs-b200-chat" in page.locator(".sf-head").inner_text()


def test_a_simulation_shows_how_far_it_is_and_can_be_cancelled(open_page):
    page = open_page(s=link(**{"workload.horizon.requests": 19_000}))

    page.get_by_role("button", name="Simulate").click()
    page.wait_for_selector("text=Simulating")
    page.get_by_role("button", name="Cancel").click()

    page.wait_for_selector("text=cancelled")
    expect(page.get_by_role("button", name="Simulate")).to_be_visible()


def test_two_browsers_do_not_meet(open_page):
    first, second = open_page(), open_page()

    type_in(first, "Requests per second", "17")
    type_in(second, "Requests per second", "31")

    assert number(first, "Requests per second").input_value() == "17"
    assert number(second, "Requests per second").input_value() == "31"


@pytest.mark.parametrize("page_name", PAGES)
def test_every_page_reads_on_a_dark_phone_by_name_and_offline(open_page, page_name, address):
    asked = []

    page = open_page(page_name, width=390, dark=True, asked=asked)

    assert page.locator("[data-testid=stException]").count() == 0
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390
    assert sum(rgb(page, "[data-testid=stApp]")) < 200
    assert page.evaluate(NAMELESS) == []
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []


NAMELESS = """() => [...document.querySelectorAll('input:not([type=file]), textarea, button, [role=slider]')]
    .filter(e => e.offsetParent && !e.getAttribute('aria-label') && !e.getAttribute('aria-labelledby')
            && !e.textContent.trim() && !(e.labels && e.labels.length) && !e.getAttribute('title'))
    .map(e => e.outerHTML.slice(0, 200))"""


def rgb(page, selector):
    colour = page.evaluate("selector => getComputedStyle(document.querySelector(selector)).backgroundColor", selector)
    return [int(part) for part in colour.removeprefix("rgb(").rstrip(")").split(",")]


def answered(address, path, method="GET", body=None):
    """Status and text that the server gives."""
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=30)
    connection.request(method, f"/{path}", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    found = answer.status, answer.read(20_000).decode("utf-8", "replace")
    connection.close()
    return found


def test_no_program_drives_a_session(address):
    status, text = answered(address, "_stcore/agent/interact", "POST", "{}")

    assert (status, "not_available" in text) == (403, True)


@pytest.mark.parametrize("path", ["app/static/../main.py", "media/../../etc/passwd", "..%2f..%2fetc/passwd"])
def test_no_file_of_the_server_is_served(address, path):
    _, text = answered(address, path)

    assert "root:" not in text
    assert "def main" not in text


@pytest.mark.parametrize(("width", "below"), [(820, True), (1366, False)])
def test_two_parts_of_a_page_stand_below_each_other_where_a_tablet_has_no_room_for_both(open_page, width, below):
    page = open_page(width=width)
    flips, to_know = (page.get_by_role("heading", name=name).bounding_box() for name in ("When does the", "To know"))

    assert (to_know["y"] > flips["y"] + 50) == below
    assert (to_know["x"] > flips["x"] + 50) != below
