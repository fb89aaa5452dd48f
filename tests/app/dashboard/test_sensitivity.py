"""The page Sensitivity, and what it says of an answer."""

import pytest

from app.dashboard import varied
from app.dashboard.document import edited
from scenarios.load import load_scenario
from simulator.planning.sensitivity import sensitivity
from tests.app.dashboard.looking import labelled, lacking, table, waited

SAFE = 'aria-label="How safe the answer is"'


@pytest.fixture(scope="module")
def found():
    """The sensitivity of the built-in scenario with its two drafting deployments, from few draws."""
    scenario = edited(load_scenario("h200_vs_b200_chat"), {"workload.horizon.requests": 300}).points[0].scenario
    pair = {name: scenario.deployments[name] for name in ("h200-spec", "b200-spec")}
    return sensitivity(scenario.model_copy(update={"deployments": pair}), draws=20).as_json()


@pytest.fixture
def asked(monkeypatch, dashboard, found):
    from app.dashboard import answers

    class Answer:
        def as_json(self):
            return found

    calls = []
    monkeypatch.setattr(varied, "sensitivity", lambda scenario, *how, within: calls.append(within) or Answer())
    answers.all_jobs.clear()
    yield calls
    answers.all_jobs.clear()


@pytest.fixture
def page(dashboard, asked):
    return waited(dashboard.open("sensitivity"), SAFE)


def test_the_chance_that_the_winner_stays_stands_first(page, found):
    assert f"{found['winner']} stays the cheapest in " in page.html
    assert not page.at.exception


def test_every_input_stands_in_the_table_with_its_interval(page, found):
    rows = table(page, "turns to")

    assert [row["input"] for row in rows] == [bar["input"] for bar in found["bars"]]
    assert all(row["from – to"] for row in rows)


def test_every_interval_says_where_it_comes_from(found):
    said = varied.sources(found)

    assert {name for inputs, _ in said for name in inputs.split(", ")} == {bar["input"] for bar in found["bars"]}
    assert all(source for _, source in said)


def test_an_interval_of_ones_own_is_computed_with(page, asked):
    labelled(page, "rate, to").set_value(2.0).run()
    waited(page, SAFE)

    low, high = asked[-1]["rate"]
    assert (low, high) == (pytest.approx(0.8), 2.0)


def test_ones_own_intervals_can_be_forgotten(page, asked):
    labelled(page, "rate, to").set_value(2.0).run()
    page.press("sensitivity_reset")

    assert page.at.session_state["specfleet_within"] == {}


def drawn(**changes):
    made = {"draws": 200, "chance": 0.75, "interval": [0.69, 0.8], "winners": {"a": 150, "b": 40}, "none_holds": 10,
            "turned_by": [{"input": "rate", "distance": 0.4}]}  # fmt: skip
    return made | changes


def bar(*winners):
    costs = {
        "a": {
            "usd_per_hour_for_offered": 7.0,
            "usd_per_million_output_tokens_at_capacity": 1.0,
            "replicas_for_offered": 1,
        }
    }
    ends = [
        {"at": factor, "winner": winner, "costs": costs} for factor, winner in zip((0.8, 1.25), winners, strict=True)
    ]
    return {"input": "rate", "says": "requests per second", "basis": "assumption", "source": "a guess", "drawn": True,
            "method": "estimated", "base": costs, "ends": ends}  # fmt: skip


def answer(**changes):
    made = {
        "winner": "a",
        "basis": "usd_per_hour_for_offered",
        "scenario": "x",
        "bars": [bar("a", "b")],
        "stability": drawn(),
        "notes": [],
    }
    return made | changes


def test_what_takes_the_winners_place_is_told_with_its_share():
    said = varied.claim(answer())

    assert "a stays the cheapest in 75 % of 200 draws" in said
    assert "b wins in 20 %" in said
    assert "nobody wins in 5.0 %" in said
    assert "rate at ×1.25 (b)" in said
    assert "sf-open" in said


def test_a_winner_that_nothing_turns_is_safe():
    said = varied.claim(
        answer(bars=[bar("a", "a")], stability=drawn(chance=1.0, winners={"a": 200}, none_holds=0, turned_by=[]))
    )

    assert "no input turns it at an end of its interval" in said
    assert 'class="sf-winner sf-win"' in said


def test_without_a_winner_there_is_nothing_to_lose():
    said = varied.claim(answer(winner=None, stability=None, bars=[], notes=["no deployment holds the load as it is"]))

    assert "no winner to lose" in said
    assert "sf-none" in said


def test_a_price_list_in_place_of_a_factor_is_named_and_not_edited():
    lists = bar("a", "a")
    lists["ends"] = [{**end, "at": name} for end, name in zip(lists["ends"], ("cheap-list", "dear-list"), strict=True)]

    assert varied.bar_rows(answer(bars=[lists]))[0]["from – to"] == "by list"
    assert varied.intervals(answer(bars=[lists, bar("a", "a")])) == {"rate": (0.8, 1.25)}


def test_the_figure_says_how_it_was_computed_and_gives_its_numbers(page, found):
    assert lacking(page) == []
    assert f"a Latin hypercube from seed {page.scenario().seed}" in page.html


def test_the_csv_has_both_ends_of_every_input_unrounded(found):
    rows = varied.end_rows(found)

    low, high = rows[:2]
    assert [row["input"] for row in rows[::2]] == [bar["input"] for bar in found["bars"]]
    assert [low["at"], high["at"]] == [end["at"] for end in found["bars"][0]["ends"]]
    assert low["cheapest"] == found["bars"][0]["ends"][0]["winner"]
    assert any(found["winner"] in name for name in low)
