"""What drafts add, save and cost, and when they have paid back."""

import pytest

from app.estimates import estimated
from scenarios.load import load_scenario
from simulator.errors import ScenarioError
from simulator.physics.acceptance import operations_ratio
from simulator.planning.economics import economics, months_to_pay_back
from simulator.planning.estimate import estimate
from simulator.planning.when import surface

TRAINING = (
    "deployments.h200-spec.economics="
    "{engineering_weeks: 3, usd_per_week: 5000, training_gpu_hours: 2000, usd_per_gpu_hour: 3}"
)


def found(*sets):
    loaded = load_scenario("h200_vs_b200_chat", sets)
    return {one["deployment"]: one for one in estimated(loaded)["economics"]}


def test_every_deployment_that_speculates_says_what_it_adds_and_saves():
    of = found()

    assert set(of) == {"h200-spec", "b200-spec"}
    assert of["h200-spec"]["against"] == "h200-plain"
    assert of["h200-spec"]["one_time_usd"] is None
    assert of["h200-spec"]["draft_kv_ratio"] == pytest.approx(0.2), "a tenth, all of it on one of two GPUs"
    assert of["h200-spec"]["draft_weights_share_of_hbm"] == pytest.approx(1.5e9 / 150e9, rel=0.2)


def test_the_one_time_cost_is_earned_back_by_the_gpus_that_are_saved():
    of = found(TRAINING)["h200-spec"]
    rows = [
        estimate(load_scenario("h200_vs_b200_chat").points[0].scenario, name) for name in ("h200-plain", "h200-spec")
    ]
    saving = rows[0]["usd_per_hour_for_offered"] - rows[1]["usd_per_hour_for_offered"]

    assert of["one_time_usd"] == 3 * 5000 + 2000 * 3
    assert of["saving_usd_per_hour"] == saving > 0
    assert of["months_to_pay_back"] == pytest.approx(21_000 / saving / 730.5)


def test_a_larger_load_pays_back_sooner():
    months = [
        found(TRAINING, f"workload.arrivals.rate_per_s={rate}")["h200-spec"]["months_to_pay_back"] for rate in (21, 84)
    ]

    assert months[1] < months[0]


def test_where_no_gpu_is_saved_nothing_is_paid_back():
    of = found(TRAINING, "workload.arrivals.rate_per_s=1")["h200-spec"]

    assert of["saving_usd_per_hour"] == 0
    assert of["months_to_pay_back"] is None


def test_without_a_plain_deployment_there_is_nothing_to_save_against():
    loaded = load_scenario("h200_vs_b200_chat", [TRAINING])
    scenario = loaded.points[0].scenario

    rows = [estimate(scenario, "h200-spec")]

    assert economics(scenario, rows)[0]["against"] is None


def test_months_follow_from_cost_and_saving():
    assert months_to_pay_back(7305.0, 5.0) == pytest.approx(2.0)
    assert months_to_pay_back(7305.0, -5.0) is None


def test_operations_never_fall():
    assert operations_ratio(4, 0.1, 5.0) > 1


@pytest.mark.parametrize(
    ("cost", "part"),
    [
        ("{engineering_weeks: 3}", "engineering_weeks and usd_per_week belong together"),
        ("{training_gpu_hours: 3}", "training_gpu_hours and usd_per_gpu_hour belong together"),
        ("{}", "holds no cost"),
    ],
)
def test_half_a_cost_is_refused(cost, part):
    with pytest.raises(ScenarioError, match=part):
        load_scenario("h200_vs_b200_chat", [f"deployments.h200-spec.economics={cost}"])


def test_a_cost_of_drafts_that_are_not_there_is_refused():
    with pytest.raises(ScenarioError, match="cost of drafts, and this deployment has none"):
        load_scenario("h200_vs_b200_chat", [TRAINING.replace("h200-spec", "h200-plain")])


def test_a_deployment_that_says_what_its_draft_cost_is_looked_at_without_it_too():
    scenario = load_scenario("h200_vs_b200_chat", [TRAINING]).points[0].scenario

    assert surface(scenario, "h200-spec").break_even[-1, 0] < 1
