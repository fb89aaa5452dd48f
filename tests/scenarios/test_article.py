"""The systems of the article: each says what is public, what is the article's word and what is assumed, and runs."""

import json
from pathlib import Path

import pytest

from app.estimates import estimated
from scenarios.files import builtin_names, find_scenarios
from scenarios.load import load_scenario
from simulator.planning.claims.article import SYSTEMS
from tests.app import toys

FOLDER = Path(__file__).parents[2] / "scenarios" / "article"
NAMES = builtin_names("article")
UNFIT = {
    "four-drafts-400b": {"one-b200"},
    "v4-as-described": {"two-b200-with-draft", "four-b200-plain"},
}
"""Scenario → deployments that the article has fit, and that do not."""


def text_of(name):
    return (FOLDER.parent / f"{name}.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_a_system_says_what_is_public_what_the_article_says_and_what_is_assumed(name):
    said = [line.partition(":")[0] for line in text_of(name).splitlines() if line.startswith("# ")]

    kinds = [word for word in said if word in ("# Question", "# Public", "# The article's word", "# Assumed")]
    assert kinds == ["# Question", "# Public", "# The article's word", "# Assumed"]


@pytest.mark.parametrize("name", NAMES)
def test_no_line_of_a_system_is_too_long(name):
    assert max(map(len, text_of(name).splitlines())) <= 120


@pytest.mark.parametrize("name", NAMES)
def test_a_system_is_estimated_or_ends_with_the_bytes_that_lack(name):
    rows = estimated(load_scenario(name))["rows"]

    unfit = {row["deployment"]: row["reason"] for row in rows if not row["fits"]}
    assert set(unfit) == UNFIT.get(load_scenario(name).name, set())
    assert all("GiB on each GPU" in reason for reason in unfit.values())
    assert all(row["capacity_req_per_s"] for row in rows if row["fits"])


def test_the_folder_is_found_from_anywhere_by_name_and_by_its_path_in_a_clone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert find_scenarios("article") == find_scenarios("./scenarios/article/") == NAMES
    assert load_scenario("scenarios/article/under_7b.yaml").name == load_scenario("article/under_7b").name == "under-7b"


def test_every_claim_of_a_system_names_its_scenario():
    assert {f"article/{name}" for name in SYSTEMS.values()} <= set(NAMES)


@pytest.mark.slow
def test_all_systems_run(tmp_path):
    result = toys.call("run", "article", "--out", tmp_path, "--json", "--quiet", "--set", "replications=1")

    assert result.exit_code == 0
    runs = json.loads(result.stdout)["runs"]
    assert [run["exit_code"] for run in runs] == [0] * len(NAMES)
