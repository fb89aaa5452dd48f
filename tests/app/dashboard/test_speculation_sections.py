"""Placement, K by batch and when to speculate: what the sections show is what the library finds."""

import numpy as np
import pytest

from app.dashboard.estimates import estimated
from app.dashboard.speculation import placing, scheduling
from app.dashboard.speculation.found import PLAIN, each, flight_of, schedule_of, surface_of, with_speculation
from app.dashboard.speculation.paying import Point, point_of, rows_of, sentence
from app.dashboard.speculation.placing import AHEAD, APART, BESIDE, Pool, placements, why_not_apart
from app.dashboard.speculation.point import at_point, point, point_draft
from app.dashboard.speculation.rows import COST, csv_rows, interval_of, measures, table_of, unfit
from app.dashboard.speculation_inputs import Ratios, View, own_choice, tried
from scenarios.load import load_scenario
from simulator.errors import ScenarioError
from simulator.planning.draft_schedule import draft_schedule
from simulator.planning.estimate import estimate
from simulator.planning.when import ACCEPTANCES, surface

SPECULATION = "deployments.b200-spec.speculation"
POOL = Pool(gpus=1, shared_by=1, link="nvlink", bonus_guess=0.7, outcomes=5)


def scenario_of(file="h200_vs_b200_chat", *sets):
    return load_scenario(file, sets).points[0].scenario


@pytest.fixture(scope="module")
def chat():
    return scenario_of()


def view(scenario, name="b200-spec", draft=None, sequences=16.0, **moved):
    return View(name, draft, own_choice(scenario, name, draft)._replace(**moved), sequences, None)


@pytest.fixture(scope="module")
def placed(chat):
    return estimated(placements(chat, view(chat), POOL))


def row(found, name):
    return next(row for row in found.rows if row["deployment"] == name)


def test_the_point_as_it_stands_is_the_deployments_own_draft(chat):
    drafting = at_point(chat, view(chat)).deployments["b200-spec"].speculation

    assert drafting == chat.deployments["b200-spec"].speculation


def test_a_moved_point_has_an_acceptance_for_every_k(chat):
    accepted = point(chat, view(chat, first=0.9))["drafts"]["general"]["acceptance"]

    assert len(accepted["all"]["survival"]) == 8


def test_a_draft_for_some_classes_only_is_refused_alone(chat):
    workload = chat.workload.model_copy(update={"classes": {"code": 0.5, "poetry": 0.5}})
    other = chat.model_copy(update={"workload": workload})

    with pytest.raises(ScenarioError, match="no acceptance for poetry"):
        point(other, view(other))


def test_a_speculation_that_is_none_is_refused_in_words(chat):
    with pytest.raises(ScenarioError, match="exactly one draft"):
        with_speculation(chat, "b200-spec", point(chat, view(chat)) | {"drafts": {}})


@pytest.mark.parametrize(
    ("name", "placement"),
    [
        (BESIDE, "{kind: colocated}"),
        (APART, "{kind: dedicated, gpus: 1, link: nvlink}"),
        (AHEAD, "{kind: dedicated, gpus: 1, link: nvlink, overlap: {kind: draft_ahead, bonus_guess: 0.7, outcomes: 5}}"),
    ],
)  # fmt: skip
def test_a_placement_has_the_figures_of_a_file_that_says_it(placed, name, placement):
    by_file = estimate(scenario_of("h200_vs_b200_chat", f"{SPECULATION}.placement={placement}"), "b200-spec")

    for field in ("capacity_req_per_s", COST, "num_gpus", "tokens_per_step"):
        assert row(placed, name)[field] == pytest.approx(by_file[field])
    assert row(placed, name)["tpot_s"]["p95"] == pytest.approx(by_file["tpot_s"]["p95"])


def test_all_placements_stand_beside_no_draft(placed):
    assert [one["deployment"] for one in placed.rows] == [PLAIN, BESIDE, APART, AHEAD]


def test_drafts_made_ahead_are_waited_for_less_and_cost_their_gpus(placed):
    ahead, apart, beside = (row(placed, name) for name in (AHEAD, APART, BESIDE))

    assert ahead["tpot_s"]["p95"] < apart["tpot_s"]["p95"]
    assert ahead["num_gpus"] == apart["num_gpus"] == 1.5 * beside["num_gpus"]


def test_a_guess_that_is_never_right_makes_drafts_ahead_no_faster(chat, placed):
    never = estimated(placements(chat, view(chat), POOL._replace(bonus_guess=0.0)))

    assert row(never, AHEAD)["tpot_s"]["p95"] > row(placed, AHEAD)["tpot_s"]["p95"]


def test_measures_hold_value_and_interval_of_every_placement(placed):
    cost, capacity, tpot = measures(placed)

    assert cost.values[APART] == row(placed, APART)[COST]
    assert cost.intervals[APART] == interval_of(row(placed, APART), COST)
    assert capacity.values[PLAIN] == row(placed, PLAIN)["capacity_req_per_s"]
    assert (tpot.title, tpot.values[AHEAD]) == ("TPOT p95 at the load", row(placed, AHEAD)["tpot_s"]["p95"])


def test_the_csv_of_placements_is_unrounded_and_has_both_ends(placed):
    found = {one["deployment"]: one for one in csv_rows(placed)}

    assert found[APART][COST] == row(placed, APART)[COST]
    assert found[APART][f"{COST}.low"] < found[APART][COST] < found[APART][f"{COST}.high"]


def test_a_placement_that_does_not_fit_is_told_with_its_reason():
    small = scenario_of("h200_vs_b200_chat", "deployments.b200-spec.engine.hbm_budget_gb=44.0")
    found = estimated(placements(small, view(small), POOL))

    assert BESIDE in dict(unfit(found))
    assert table_of(found, "placement")[1]["$/M at capacity"] == "–"


@pytest.mark.parametrize(("file", "name"), [("eagle_heads", "eagle3-chain-5"), ("eagle_heads", "copied-5")])
def test_what_cannot_leave_its_target_says_why(file, name):
    scenario = scenario_of(file)

    assert why_not_apart(point_draft(scenario, view(scenario, name))) != ""


def test_a_draft_model_and_one_by_ratios_can_have_gpus_of_their_own(chat):
    by_ratios = view(chat, ratios=Ratios(0.1, 0.1))

    assert why_not_apart(point_draft(chat, view(chat))) == ""
    assert why_not_apart(point_draft(chat, by_ratios)) == ""
    assert len(placing.speculations(chat, by_ratios, POOL)) == 3


def test_the_schedule_is_the_librarys(chat):
    found = schedule_of(at_point(chat, view(chat)), "b200-spec")

    assert found == draft_schedule(chat, "b200-spec")


def test_a_schedule_has_a_csv_row_for_each_batch_and_context(chat):
    found = draft_schedule(chat, "b200-spec").as_json()
    rows = scheduling.schedule_rows(found)

    assert len(rows) == len(found["sequences"]) * len(found["contexts"])
    assert rows[0]["gain"] == found["contexts"][0]["gain"][0]


@pytest.fixture(scope="module")
def policies(chat):
    schedule = draft_schedule(chat, "b200-spec")
    return each(chat, "b200-spec", scheduling.speculations(chat, view(chat), schedule))


def test_policies_are_no_draft_a_fixed_k_the_schedule_and_goodput(chat, policies):
    found = {name: spec.speculation for name, spec in policies.deployments.items()}
    schedule = draft_schedule(chat, "b200-spec")

    assert found[PLAIN].kind == "none"
    assert [found[name].policy.kind for name in ("fixed", "by-batch", "goodput")] == ["fixed", "by_batch", "goodput"]
    assert found["by-batch"].policy.schedule == schedule.here.bands
    assert found["goodput"].propose.draft_tokens == schedule.most_draft_tokens


def test_a_policy_is_drawn_with_the_librarys_figures_and_goodput_is_never_the_slowest(policies):
    lines = {line.name: line for line in scheduling.lines_of(policies)}
    goodput, plain = (flight_of(policies, name).output_tokens_per_s for name in ("goodput", PLAIN))

    assert lines["goodput"].speedup == (goodput / plain).tolist()
    assert all(
        best >= min(fixed, by_batch) - 0.01
        for best, fixed, by_batch in zip(
            lines["goodput"].speedup, lines["fixed"].speedup, lines["by-batch"].speedup, strict=True
        )
    )


def test_policies_have_a_csv_row_for_each_batch(policies):
    lines = scheduling.lines_of(policies)

    assert len(scheduling.csv_rows(lines)) == sum(len(line.sequences) for line in lines)


def test_the_surface_is_the_librarys_and_its_csv_holds_every_cell(chat):
    asked = tried(chat, "b200-spec", None)
    found, own = surface_of(asked, "b200-spec"), surface(asked, "b200-spec")
    rows = rows_of(found)

    assert np.array_equal(found.speedup, own.speedup, equal_nan=True)
    assert len(rows) == own.speedup.size
    assert rows[0]["speedup"] == own.speedup[0, 0, 0]


def test_the_readers_point_has_the_value_of_the_surface_where_it_lies_on_it(chat):
    asked = tried(chat, "b200-spec", None)
    found = surface(asked, "b200-spec")
    here = point_of(asked, view(chat, first=0.7, change=1.0))
    row, column = ACCEPTANCES.index(0.7), found.sequences.tolist().index(16)

    assert here.acceptance == pytest.approx(0.7)
    assert here.speedup == pytest.approx(found.speedup[-1, row, column])
    assert here.best == found.best_draft_tokens[-1, row, column]
    assert here.break_even == pytest.approx(found.break_even[-1, column])


def test_the_readers_point_is_said_in_a_sentence():
    said = sentence(Point(16.0, 0.7, 1.5, 4, 0.25))

    assert said == (
        "With 16 sequences in flight and an acceptance of 0.70 drafting is 1.50× plain decoding with the best K, 4; at "
        "this batch it pays from an acceptance of 0.25 on."
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"speedup": float("nan")}, "there is no place"),
        ({"speedup": 0.9, "break_even": float("nan")}, "it pays at no acceptance"),
    ],
)
def test_a_point_without_a_place_or_a_gain_says_so(changes, words):
    assert words in sentence(Point(16.0, 0.7, 1.5, 4, 0.25)._replace(**changes))


def test_a_schedule_says_what_to_do_for_as_many_as_may_run_where_few_have_a_place():
    small = scenario_of("h200_vs_b200_chat", "deployments.b200-spec.engine.hbm_budget_gb=48.0")
    schedule = schedule_of(at_point(small, view(small)), "b200-spec")
    policy = scheduling.whole(schedule)

    assert schedule.here.places < 256
    assert policy["schedule"][-1][1] == 256
    assert policy["schedule"][:-1] == [list(band) for band in schedule.here.bands[:-1]]


def test_a_policy_for_what_drafts_as_many_as_it_finds_is_refused_in_words():
    scenario = scenario_of("cpu_smollm2")
    of = view(scenario, "lookup")
    schedule = schedule_of(at_point(scenario, of), "lookup")

    with pytest.raises(ScenarioError, match="drafted says how many tokens"):
        each(scenario, "lookup", scheduling.speculations(scenario, of, schedule))
