"""`specfleet claims`: the table, the JSON and the page."""

import json
from pathlib import Path

import pytest

from app.tables.claims import claims_page
from simulator.planning.claims import article, memory
from tests.app import toys

PAGE = Path(__file__).parents[2] / "docs" / "claims.md"


@pytest.fixture
def two_claims(monkeypatch):
    """The command with two claims that need no step times."""
    monkeypatch.setattr(article, "CLAIMS", (memory.four_hundred_billion, memory.b200_memory))


def test_the_table_shows_claimed_predicted_and_verdict_in_order(two_claims):
    result = toys.call("claims")

    assert result.exit_code == 0
    assert result.stdout.index("288 GB of HBM3e") < result.stdout.index("One B200 hosts")
    assert "2 claims of the article; holds: 0 · holds if: 0 · does not hold: 1 · impossible: 1" in result.stdout


def test_json_is_pure_and_has_a_row_a_claim(two_claims):
    result = toys.call("claims", "--json")
    rows = json.loads(result.stdout)["rows"]

    assert result.stderr == ""
    assert [(row["number"], row["verdict"]) for row in rows] == [(3, "does not hold"), (4, "impossible")]
    assert rows[0]["figures"][1] == {"name": "B300", "low": 288.400343040, "high": 288.400343040, "unit": "GB"}


def test_the_page_is_written_where_it_is_asked_for(two_claims, tmp_path):
    page = tmp_path / "claims.md"
    toys.call("claims", "--write", page)

    assert "## Claim 4" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("place", [".", "nowhere/claims.md"])
def test_a_place_where_no_page_can_be_is_bad_input(place, two_claims):
    result = toys.call("claims", "--write", place)

    assert result.exit_code == 2
    assert "--write" in result.stderr


def test_no_line_of_the_page_is_too_long():
    assert max(map(len, PAGE.read_text(encoding="utf-8").splitlines())) <= 120


@pytest.mark.slow
def test_the_page_in_the_docs_is_what_comes_out_today():
    found = article.summary(article.check_claims())

    assert PAGE.read_text(encoding="utf-8") == claims_page(found), "if the change is meant: `make claims`"
