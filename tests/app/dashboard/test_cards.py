"""The answer in HTML."""

import re
from dataclasses import replace

import pytest

from app.dashboard import badges, cards
from app.dashboard.document import edited
from app.dashboard.estimates import estimated
from app.dashboard.sides import ranked, ratio, sides, tie_of
from app.figures.price_ratio import price_ratio, price_ratio_alt
from scenarios.load import load_scenario


@pytest.fixture(scope="module")
def chat():
    return load_scenario("h200_vs_b200_chat")


@pytest.fixture(scope="module")
def answer(chat):
    return cards.with_totals(estimated(chat.points[0].scenario))


def test_cards_set_the_cheapest_of_each_gpu_side_by_side(answer):
    assert [row["deployment"] for row in sides(answer)] == ["h200-spec", "b200-spec"]


def test_of_three_gpu_types_the_two_that_rank_first_stand_side_by_side(answer):
    gpus = {"b200-spec": "b200-sxm", "h200-spec": "h200-sxm", "b200-plain": "h100-sxm", "h200-plain": "b200-sxm"}
    three = replace(answer, rows=[row | {"gpu": gpus[row["deployment"]]} for row in answer.rows])

    assert [row["deployment"] for row in sides(three)] == ["h200-spec", "b200-spec"]


def test_with_one_gpu_type_the_two_cheapest_stand_side_by_side(answer):
    only = replace(answer, rows=[row | {"gpu": "h200-sxm"} for row in answer.rows])

    assert {row["deployment"] for row in sides(only)} == {row["deployment"] for row in ranked(only)[:2]}
    assert len(sides(only)) == 2


def test_the_cost_of_all_tokens_is_a_share_of_that_of_outputs(answer):
    row = answer.rows[0]

    expected = row[cards.OUTPUT] * row["output_tokens_per_s"] / row["total_tokens_per_s"]

    assert row[cards.TOTAL] == pytest.approx(expected)
    assert row["interval"][cards.TOTAL][0] < expected < row["interval"][cards.TOTAL][1]


def test_a_ratio_holds_the_errors_of_both():
    over = {"x": 2.0, "interval": {"x": [1.0, 4.0]}}
    under = {"x": 1.0, "interval": {}}

    assert ratio(over, under, "x") == pytest.approx((2.0, 1.0, 4.0))
    assert ratio({"x": None}, under, "x") is None


def test_the_tie_of_prices_is_where_both_cost_the_same(answer):
    tie = tie_of(answer)

    share = tie.at / tie.now

    assert tie.winner.deployment == "b200-spec"
    assert tie.winner.cost * share == pytest.approx(tie.other.cost)


def test_the_tie_of_prices_has_the_interval_of_the_costs(answer):
    tie = tie_of(answer)

    low, high = answer.comparison["interval"]

    assert tie.interval == pytest.approx((low * tie.now, high * tie.now))
    assert tie.interval[0] < tie.at < tie.interval[1]


@pytest.mark.parametrize(
    ("cost", "interval", "said"),
    [
        (0.5, [0.4, 0.6], "b200-spec 50 % less (95 % interval 40 % to 60 %)"),
        (1.5, [1.4, 1.7], "b200-spec 50 % more (95 % interval 40 % to 70 %)"),
        (1.5, [0.9, 2.5], "b200-spec 50 % more, within the error: −10 % to +150 %"),
        (1.0, None, "b200-spec is level with h200-spec"),
    ],
)
def test_a_card_says_how_the_second_compares_with_the_first(answer, cost, interval, said):
    first, second = ({**row, "interval": {}, cards.OUTPUT: 1.0} for row in sides(answer))
    compared = second | {cards.OUTPUT: cost, "interval": {cards.OUTPUT: interval}}

    assert said in cards.cards(replace(answer, rows=[first, compared]))


def test_the_price_line_is_drawn_and_told(answer):
    tie = tie_of(answer)

    drawn = price_ratio(tie)

    line = next(trace for trace in drawn.data if trace.name == "b200-spec")
    assert line.y[1] / line.x[1] == pytest.approx(tie.winner.cost / tie.now)
    assert "tie at 2.00 times" in price_ratio_alt(tie)
    assert [(shade.x0, shade.x1) for shade in drawn.layout.shapes] == [tie.interval]


def test_every_number_says_how_it_was_found(answer):
    simulated = replace(answer, method="simulated")

    assert cards.cards(answer).count(">estimated<") == len(cards.CARDS)
    assert cards.cards(simulated).count(">simulated (5 seeds)<") == len(cards.CARDS)


def test_prices_and_profiles_are_badges(answer):
    found = badges.origins(answer.provenance)

    assert "$3.50/GPU-hour · on demand" in found
    assert re.search(r"h200-sxm-vllm · held-out TPOT error \d", found)


def test_a_profile_is_as_wrong_as_it_was_on_its_worst_group():
    held_out = [{"tpot": {"median_ape": error}} for error in (0.03, 0.11, 0.05)]
    profile = {"profile": "x", "held_out": held_out, "error": None, "date": "2026-01-01"}

    assert "held-out TPOT error 11 %" in badges.origins({"calibration": {"a": profile}})


def test_a_texts_markup_stays_text(answer):
    wicked = "<img src=x onerror=alert(1)>"
    rows = [
        row | {"deployment": wicked if row["deployment"] == "b200-spec" else row["deployment"]} for row in answer.rows
    ]
    comparison = answer.comparison | {"why": wicked, "by_load": {}, "by_capacity": {}}

    found = cards.winner(replace(answer, rows=rows, comparison=comparison)) + cards.cards(
        replace(answer, rows=rows, comparison=comparison)
    )

    assert "<img" not in found
    assert "&lt;img" in found


def test_a_deployment_without_a_number_says_why(chat):
    small = edited(chat, {f"deployments.{name}.target.tensor_parallel": 1 for name in ("h200-plain", "b200-plain")})
    weights = edited(small, {f"deployments.{name}.target.weights": "bf16" for name in ("h200-plain", "b200-plain")})

    found = cards.with_totals(estimated(weights.points[0].scenario))

    assert not found.rows[0]["fits"]
    assert "–" in cards.cards(replace(found, rows=found.rows[:1]))
    assert "h200-plain has no such number: it does not fit" in cards.cards(replace(found, rows=found.rows[:2]))
    assert f"<dd>h200-plain: {found.rows[0]['reason']}" in cards.winner(found)


def test_one_deployment_alone_has_nothing_to_be_compared_with(answer):
    alone = replace(answer, rows=answer.rows[:1])

    assert "Nothing to compare it with" in cards.cards(alone)
    assert tie_of(alone) is None
