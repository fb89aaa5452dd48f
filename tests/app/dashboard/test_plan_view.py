"""A plan's answer in words and tables."""

import pytest

from app.dashboard import plan_view
from tests.app.dashboard.toy_plans import answer, planned, point


@pytest.fixture(scope="module")
def plan():
    return planned()


def with_answer(plan, points, **changes):
    return type(plan)(plan.loaded, answer(points, **changes), simulated=False)


def test_the_choice_is_told_with_all_that_it_buys(plan):
    said = plan_view.answer(plan)

    assert "<strong>h200-plain.tp2</strong>: 3 replicas and 1 spare on 8 × h200-sxm, $28.00/h, $20,440 a month" in said
    assert 'class="sf-winner sf-win"' in said


def test_beside_it_stand_its_runner_up_what_flips_it_and_how_it_was_found(plan):
    said = plan_view.answer(plan)

    assert "1.18 times the cost" in said
    assert "cheaper while the moon is full" in said
    assert "56 candidates: 4 impossible, 30 ruled out by a bound" in said
    assert ">estimated<" in said


def test_where_nothing_holds_the_nearest_and_the_way_out_are_told(plan):
    unfit = point("h200-plain.tp2", why_not="misses TPOT p95")
    found = with_answer(plan, [unfit], relax=[{"sentence": "TPOT p95 to 31 ms"}])

    said = plan_view.answer(found)

    assert "no candidate holds this load" in said
    assert "sf-none" in said
    assert "misses TPOT p95" in said
    assert "TPOT p95 to 31 ms" in said


def test_a_hostile_name_stays_text(plan):
    found = with_answer(plan, [point("<b>x</b>")])

    assert "<b>x" not in plan_view.answer(found)


def test_the_table_lists_the_cheapest_first_and_marks_the_choice(plan):
    rows = plan_view.pareto_rows(plan)

    assert [row["$/h"] for row in rows] == ["$28.00", "$33.00"]
    assert rows[0]["cluster"].endswith(" ★")
    assert rows[0]["replicas"] == "3 + 1"
    assert {"TTFT p95 ≤ 1 s", "TPOT p95 ≤ 30 ms"} <= set(rows[0])


def test_a_simulated_candidate_says_how_often_it_held(plan):
    found = with_answer(plan, [point("a", method="simulated", replications=5, holds_share=0.8)])

    assert plan_view.pareto_rows(found)[0]["held in simulation"] == "4 of 5"


def test_where_nothing_was_simulated_there_is_no_column_for_it(plan):
    found = with_answer(plan, [point("a", method="estimated")])

    assert "held in simulation" not in plan_view.pareto_rows(found)[0]


def test_what_is_no_answer_is_counted_with_its_reason(plan):
    said, rows = plan_view.why_not(with_answer(plan, [point("a"), point("b", why_not="does not fit", method="bound")]))

    assert said == "4 impossible, 1 that miss a target, the budget or the load"
    assert {"candidate": "x.tp1 and 3 more", "why not": "too wide"} in rows
    assert {"candidate": "b", "why not": "does not fit"} in rows


def test_a_schedule_is_a_table_of_sequences_by_context():
    found = {
        "sequences": [1, 64], "contexts": [
            {"context_tokens": 1024.0, "own": True, "best_draft_tokens": [4, 0], "gain": [1.9, 1.0]},
            {"context_tokens": 8192.0, "own": False, "best_draft_tokens": [5, None], "gain": [2.0, None]},
        ],
    }  # fmt: skip

    assert plan_view.schedule_rows(found) == [
        {"sequences": "1", "1,024 tokens*": "4 (1.90×)", "8,192 tokens": "5 (2.00×)"},
        {"sequences": "64", "1,024 tokens*": "0", "8,192 tokens": "–"},
    ]


def test_the_facts_of_a_candidate_hold_its_latencies_beside_their_targets(plan):
    said = dict(plan_view.facts(point("a"), plan_view.limits(plan)))

    assert said["Holds"] == "TTFT p95 400 ms ≤ 1 s; TPOT p95 20.0 ms ≤ 30 ms; the load is 84 % of its 25.0 requests/s"
    assert said["Choices"] == "tensor_parallel 2"


def test_the_csv_has_every_candidate_unrounded_with_why_it_is_none(plan):
    found = with_answer(plan, [point("a"), point("b", why_not="misses TPOT p95", usd_per_hour=1 / 3)])

    first, second = plan_view.point_rows(found)
    assert (first["candidate"], first["not beaten"], first["tpot_s.p95"]) == ("a", True, 0.02)
    assert (second["why_not"], second["usd_per_hour"]) == ("misses TPOT p95", 1 / 3)


def test_how_candidates_were_found_tells_simulated_from_estimated(plan):
    estimated, simulated = (dict(plan_view.how(type(plan)(plan.loaded, plan.found, done))) for done in (False, True))

    assert estimated["Method"].startswith("estimated")
    assert f"seed {plan.loaded.scenario.seed}" in simulated["Method"]
