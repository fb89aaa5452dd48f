"""`estimate --sensitivity`: what moves the answer, and how likely the winner stays the winner."""

import json

import pytest

from app.tables.sensitivity import at, drawn_field, lines, sensitivity_table, stability_block, text_bar, turned
from tests.app import toys

HOUR, MILLION = "usd_per_hour_for_offered", "usd_per_million_output_tokens_at_capacity"


def costs(**usd):
    return {
        name: {HOUR: hour, MILLION: None if hour is None else hour / 10, "replicas_for_offered": 1}
        for name, hour in usd.items()
    }


def bar(name="rate", low=None, high=None, winners=("plain", "plain"), **changes):
    ends = [
        {"at": factor, "winner": winner, "costs": of}
        for factor, winner, of in zip(
            (0.8, 1.25), winners, (low or costs(plain=7.0), high or costs(plain=14.0)), strict=True
        )
    ]
    made = {"input": name, "says": f"a {name}", "basis": "assumption", "source": "a guess", "method": "estimated",
            "drawn": True, "base": costs(plain=7.0, spec=14.0), "ends": ends}  # fmt: skip
    return made | changes


DRAWN = {
    "draws": 200, "chance": 0.75, "interval": [0.69, 0.8], "winners": {"plain": 150, "spec": 40}, "none_holds": 10,
    "turned_by": [{"input": "rate", "distance": 0.8}, {"input": "price", "distance": 0.2}],
}  # fmt: skip


def found(*bars, **changes):
    made = {
        "scenario": "chat", "method": "steady state", "basis": HOUR, "costs": costs(plain=7.0, spec=14.0),
        "winner": "plain", "runner_up": "spec", "bars": list(bars) or [bar()], "stability": DRAWN, "notes": ["a note"],
    }  # fmt: skip
    return made | changes


def test_a_row_says_what_the_input_does_to_the_cost():
    [row] = list(lines(found()))

    assert row[:3] == ["rate", "×0.80 – ×1.25", "assumption"]
    assert row[3:5] == ["$7.00 → $14.00", "$0.700 → $1.40"]


def test_an_input_that_moves_nothing_has_one_cost_and_a_mark():
    idle = bar("idle", high=costs(plain=7.0))

    rows = list(lines(found(bar(), idle)))

    assert rows[1][3] == "$7.00"
    assert rows[1][5] == "┃"


def test_an_end_that_does_not_hold_is_said_and_drawn_to_the_edge():
    row = next(lines(found(bar(high=costs(plain=None), winners=("plain", None)))))

    assert row[3] == "$7.00 → does not hold"
    assert row[6] == "nobody holds"
    assert row[5].endswith("█")


def test_who_takes_the_winners_place_is_named_once():
    assert turned(bar(winners=("spec", "spec")), "plain") == ["spec"]
    assert turned(bar(), "plain") == []


def test_bars_are_of_the_cost_that_moves():
    still = bar(high=costs(plain=7.0))

    assert drawn_field(found()) == HOUR
    assert drawn_field(found(still)) == MILLION


def test_bars_share_one_scale():
    assert text_bar(1.0, 1.0, 2.0, least=1.0, most=5.0, width=9) == "┃██"
    assert text_bar(None, 3.0, 4.0, least=1.0, most=5.0, width=9) == "    ┃████"
    assert text_bar(None, None, None, least=1.0, most=5.0) == ""


def test_price_lists_are_named_below_the_table():
    lists = bar("price", basis="price lists", source="2 lists")
    for end, name in zip(lists["ends"], ("cheap", "dear"), strict=True):
        end["at"] = name

    assert next(lines(found(lists)))[1:3] == ["by list", "price lists"]
    assert "price: 2 lists: cheap to dear" in toys.rendered(stability_block(found(lists)))
    assert at("cheap") == "cheap"


def test_sentences_say_how_safe_the_winner_is_and_what_turns_it():
    text = toys.rendered(stability_block(found(bar(winners=("plain", "spec")))))

    assert "plain stays the cheapest in 75 % of 200 draws of all inputs together (95 % interval 69 %–80 %)" in text
    assert "spec wins in 20 %; nobody wins in 5.0 %" in " ".join(text.split())
    assert "rate (0.80), price (0.20)" in text
    assert "the winner changes with rate at ×1.25 (spec)" in text
    assert "rate: assumed, a guess" in text
    assert "a note" in text


def test_a_winner_that_no_input_turns_is_said_to_stay():
    text = toys.rendered(stability_block(found(stability=None)))

    assert "no input turns it at an end of its interval: plain stays the cheapest" in text


def test_the_table_names_the_winner():
    text = toys.rendered(sensitivity_table(found()))

    assert "chat — what moves the cost of plain" in text


@pytest.fixture
def small(tmp_path):
    file = tmp_path / "small.yaml"
    file.write_text(toys.SMALL, encoding="utf-8")
    return file


def test_the_command_shows_a_tornado(small):
    result = toys.call("estimate", small, "--sensitivity", "--draws", "0")

    assert result.exit_code == 0
    for text in ("what moves the cost of plain", "step_time.h200-sxm", "price.h200-sxm", "--bursts simulates"):
        assert text in result.stdout


def test_the_command_draws_and_gives_json(small):
    result = toys.call("estimate", small, "--sensitivity", "--draws", "4", "--jobs", "1", "--json")

    answer = json.loads(result.stdout)
    assert answer["winner"] == "plain"
    assert answer["stability"]["draws"] == 4


def test_an_interval_of_ones_own_is_taken(small):
    result = toys.call("estimate", small, "--sensitivity", "--draws", "0", "--within", "rate=0.5..2", "--json")

    [rate] = [bar for bar in json.loads(result.stdout)["bars"] if bar["input"] == "rate"]
    assert ([end["at"] for end in rate["ends"]], rate["basis"]) == (pytest.approx([0.5, 2.0]), "stated")


@pytest.mark.parametrize(
    ("within", "said"),
    [
        ("rate=2", "INPUT=LOW..HIGH is needed"),
        ("rats=0.5..2", "no input 'rats' to vary"),
        ("rate=2..3", "is no interval"),
    ],
)
def test_a_wrong_interval_is_told_with_the_way_out(small, within, said):
    result = toys.call("estimate", small, "--within", within)

    assert result.exit_code == 2
    assert said in result.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--draws", "50"), "add --sensitivity"),
        (("--surface", "--draws", "50"), "add --sensitivity"),
        (("--surface", "--bursts"), "ask for one of the two"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(small, options, said):
    result = toys.call("estimate", small, *options)

    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())


def test_where_nothing_holds_there_is_no_tornado(small):
    result = toys.call("estimate", small, "--sensitivity", "--set", "slo.ttft_s.p95=0.00001")

    assert result.exit_code == 3
    assert "no deployment holds the load" in result.stdout
