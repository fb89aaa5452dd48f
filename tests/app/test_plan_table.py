"""A plan on the screen."""

import pytest

from app.show_plan import show_plan
from app.tables.plan import shown_points, source_of
from scenarios.plan_file import described, load_plan
from tests.app import plan_toys
from tests.app.plan_toys import CHEAP, OTHER


def small(*sets):
    return load_plan("small.yaml", sets, text=plan_toys.SMALL)


def shown(found, *sets):
    from rich.console import Console

    loaded = small(*sets)
    console = Console(width=120, color_system=None, highlight=False, markup=False)
    with console.capture() as capture:
        show_plan(loaded, described(found, loaded), console)
    return " ".join(capture.get().split())


@pytest.fixture(scope="module")
def screen():
    return shown(plan_toys.answer())


def test_the_title_says_what_is_asked(screen):
    assert "small — a plan for 4 requests/s, TTFT p95 ≤ 1 s, 20 % headroom" in screen


def test_the_title_says_what_may_be_spent_and_who_brings_the_load():
    screen = shown(
        plan_toys.answer(points=[plan_toys.point(CHEAP, users_served=480.2), plan_toys.point(OTHER)]),
        "plan.users={count: 100, think_s: 20}",
        "plan.spare_replicas=1",
        "plan.budget={gpus: 8, usd_per_hour: 40}",
    )

    assert "100 users who think for 20 s" in screen
    assert "Users up to 480 at its capacity" in screen
    assert "1 spare replica, at most 8 GPUs, at most $40.00/h" in screen


def test_a_line_of_the_pareto_set_says_what_it_costs_and_how_fast_it_is(screen):
    assert f"{CHEAP} ★ 3×h200-sxm 2 + 1 $13.50 $46.90 400 ms 25 % 6 of 6 weight" in screen


def test_what_was_not_simulated_held_in_no_replication(screen):
    assert f"{OTHER} 3×b200-sxm 2 + 1 $20.25 $46.90 400 ms 25 % – weight" in screen


def test_the_choice_is_told_with_what_it_rests_on(screen):
    assert f"Choice {CHEAP}: 2 replicas and 1 spare on 3 × h200-sxm, $13.50/h, $9,855 a month" in screen
    assert "Confidence held in 6 of 6 replications" in screen
    assert "Bound by with one replica less ttft_s.p95 is at 1.20 of its limit" in screen
    assert f"Runner-up {OTHER}: " in screen
    assert "1.50 times the cost" in screen
    assert "Flips cheaper while the moon is full" in screen


def test_the_search_is_told(screen):
    assert "Searched 4 candidates: 2 ruled out by a bound, 1 estimated, 1 simulated; 1.50 s" in screen


def test_the_draft_tokens_to_run_are_told():
    schedule = {"why_not": None, "says": "K = 3 for 1 to 64 sequences"}

    assert "K to run K = 3 for 1 to 64 sequences" in shown(plan_toys.answer(draft_schedule=schedule))
    assert "K to run" not in shown(plan_toys.answer(draft_schedule={"why_not": "it has no drafts", "says": ""}))


def test_where_nothing_holds_what_to_relax_is_told():
    screen = shown(plan_toys.nothing())

    assert "Choice none: no candidate holds this load" in screen
    assert "Relax with slo.ttft_s.p95 2, it holds" in screen
    assert "Why not 4 candidates: does not fit: lacks 9.00 GiB" in screen


def test_what_a_choice_makes_impossible_is_told_with_an_example():
    name = "plain.h200-sxm.tp1"
    found = plan_toys.answer(choice=name, runner_up=None, pareto=[name], points=[plan_toys.point(name)])

    screen = shown(found, "plan.vary={gpu: [h200-sxm, b200-sxm], target.tensor_parallel: [1, 3]}")

    assert "Left out 2 candidates, such as plain.h200-sxm.tp3: 3 does not divide" in screen


def test_of_equal_costs_the_choice_stands_first():
    found = plan_toys.answer(choice=OTHER, points=[plan_toys.point(CHEAP), plan_toys.point(OTHER)])

    assert [point["name"] for point in shown_points(found)] == [OTHER, CHEAP]


def test_the_sources_are_those_of_the_choice_and_the_runner_up():
    others = {name: {"usd_per_gpu_hour": 1.0} for name in (CHEAP, OTHER, "plain.h200-sxm.seqs8")}
    assumed = [f"{CHEAP}: mine", "plain.h200-sxm.seqs8: another's", "engines/vllm, overhead: shared"]
    provenance = {"prices": others, "calibration": {}, "assumptions": assumed}

    source = source_of(plan_toys.answer(provenance=provenance))

    assert list(source["prices"]) == [CHEAP, OTHER]
    assert source["assumptions"] == [f"{CHEAP}: mine", "engines/vllm, overhead: shared"]
