"""The verdicts on all claims, and that they follow from the figures."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from simulator.planning.claims import article, cluster, memory
from simulator.planning.claims.article import BY_HAND, TOPICS, check_claims, summary
from simulator.planning.claims.claim import VERDICTS

CHECK_LIST = Path(__file__).parents[5] / "shared" / "CLAIMS.md"
WORDS = {
    "COND": "holds if",
    "consistent at B 1": "holds if",
    "OK only under reading B": "holds if",
    "rule of thumb OK at c >= .3": "holds if",
    "see below": "holds if",
    "WRONG": "does not hold",
    "low by": "does not hold",
    "inconsistent": "does not hold",
    "wrong cause": "does not hold",
    "fictional": "does not hold",
    "IMPOSSIBLE": "impossible",
    "UNVERIFIABLE": "cannot be checked",
    "OK": "holds",
}
"""What the check-list says, the first that stands in a cell → verdict."""
VERDICTS_OF = {
    "holds": [24],
    "holds if": [1, 6, 12, 19, 20, 21, 22, 26, 27, 28],
    "does not hold": [2, 3, 5, 7, 9, 10, 13, 16, 17, 18, 23, 25, 29],
    "impossible": [4, 14, 15],
    "cannot be checked": [8, 11],
}


@pytest.fixture(scope="module")
def claims():
    return check_claims()


def test_there_is_a_row_for_each_claim_in_order(claims):
    assert [claim.number for claim in claims] == list(range(1, 30))


def test_the_verdicts_are_these(claims):
    found = {name: [claim.number for claim in claims if claim.verdict == name] for name in VERDICTS}

    assert found == VERDICTS_OF


def verdict_of(cell):
    """IMPOSSIBLE and UNVERIFIABLE outweigh what else a cell says."""
    first = ("IMPOSSIBLE", "UNVERIFIABLE", "COND", "WRONG", "inconsistent", "consistent at B 1", *WORDS)
    return next(WORDS[word] for word in first if word in cell)


@pytest.mark.skipif(not CHECK_LIST.exists(), reason="the check-list is not beside this clone")
def test_the_verdicts_agree_with_the_check_list(claims):
    rows = re.findall(r"^\|(\d+)\|(.*)\|\s*$", CHECK_LIST.read_text(encoding="utf-8"), re.MULTILINE)
    listed = {int(number): verdict_of(cells.rsplit("|", 1)[1]) for number, cells in rows}

    assert {claim.number: claim.verdict for claim in claims} == listed


def test_every_claim_predicts_a_figure_and_all_but_the_one_that_holds_say_when_it_would(claims):
    assert all(claim.figures and claim.claim and claim.claimed for claim in claims)
    assert [claim.number for claim in claims if not claim.condition] == [24]


def test_every_figure_is_a_finite_range(claims):
    figures = [figure for claim in claims for figure in claim.figures]

    assert all(0 < figure.low <= figure.high < float("inf") for figure in figures)


def test_what_differs_by_hand_is_told_of_claims_that_exist(claims):
    rows = summary(claims)["rows"]

    assert {row["number"] for row in rows if row["by_hand"]} == set(BY_HAND)


def test_a_row_has_the_fields_that_scripts_read(claims):
    row = summary(claims)["rows"][2]

    assert {"number", "claim", "claimed", "predicted", "condition", "verdict"} <= set(row)
    assert row["predicted"].startswith("B200, as the driver reports it: 192 GB")


def test_every_claim_has_a_topic(claims):
    counted = {topic: sum(claim.topic == topic for claim in claims) for topic in TOPICS}

    assert counted == {topic: len(checks) for topic, checks in TOPICS.items()}


def test_an_executor_gives_the_same_claims_and_tells_how_far_it_is(monkeypatch):
    monkeypatch.setattr(article, "CLAIMS", (memory.b200_memory, cluster.candidate_transfer))
    told = []
    with ThreadPoolExecutor(1) as executor:
        found = check_claims(executor, lambda *progress: told.append(progress))

    assert found == check_claims()
    assert told == [(1, 2), (2, 2)]


def test_the_profiles_behind_the_step_times_are_named(claims):
    assert [profile["name"] for profile in summary(claims)["profiles"]] == ["h200-sxm-vllm", "b200-sxm-vllm"]
