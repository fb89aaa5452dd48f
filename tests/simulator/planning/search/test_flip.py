from dataclasses import replace

import pytest

from simulator.outcome.slo import Verdict
from simulator.planning.search.flip import best, binds, flips, runner_up
from simulator.planning.search.points import Point
from simulator.planning.search.trials import Outcome, Tried
from tests.simulator.outcome import specs
from tests.simulator.planning.search import small

CANDIDATES = {"h200": {}, "drafts": {"speculation": specs.DRAFTS}, "b200": small.B200}
FIELD = small.field(small.scenario(CANDIDATES))
ROW = {
    "e2e_s": {"p95": 1.0}, "tokens_per_step": 2.4, "draft_tokens_mean": 2.0, "draft_depth": 2, "gpu": "h200-sxm",
    "bound_by": "weight_bandwidth", "output_tokens_per_request": 100.0,
}  # fmt: skip


def point(name: str, usd_per_hour: float, replicas: int = 4, **changes: object) -> Point:
    gpu = "b200-sxm" if name == "b200" else "h200-sxm"
    row = (
        ROW | {"gpu": gpu} if name == "drafts" else ROW | {"gpu": gpu, "draft_tokens_mean": 0.0, "tokens_per_step": 1.0}
    )
    base = Point(
        name, gpu, "simulated", 0, replicas=replicas, num_gpus=replicas, usd_per_hour=usd_per_hour,
        offered_req_per_s=60.0, capacity_req_per_s=80.0, row=row,
    )  # fmt: skip
    return replace(base, **changes)


def kinds(choice: Point, *others: Point) -> dict[str, dict[str, object]]:
    return {found["kind"]: found for found in flips(FIELD, choice, (choice, *others))}


def test_another_gpu_type_ties_at_a_ratio_of_prices():
    found = kinds(point("h200", 12.0), point("b200", 18.0, replicas=3))["gpu_price_ratio"]

    assert found["now"] == pytest.approx(3.0 / 6.0)
    assert found["tie"] == pytest.approx(0.5 * 18.0 / 12.0)
    assert "b200-sxm" in found["sentence"]


def test_plain_decoding_ties_at_fewer_tokens_per_step():
    found = kinds(point("drafts", 12.0), point("h200", 15.0))["tokens_per_step"]

    assert found["tie"] == pytest.approx(2.4 * 12.0 / 15.0)
    assert found["against"] == "h200"


def test_speculation_ties_at_more_tokens_per_step():
    found = kinds(point("h200", 12.0), point("drafts", 13.0))["tokens_per_step"]

    assert found["tie"] == pytest.approx(2.4 * 13.0 / 12.0)


def test_equal_costs_are_told_as_such():
    assert kinds(point("h200", 12.0), point("drafts", 12.0))["tie"]["against"] == "drafts"


def test_one_more_replica_is_needed_where_the_capacity_less_its_headroom_ends():
    roomy = replace(FIELD, asked=replace(FIELD.asked, headroom=0.2))

    (found,) = flips(roomy, point("h200", 12.0), (point("h200", 12.0),))

    assert (found["kind"], found["now"], found["tie"]) == ("load", 60.0, pytest.approx(64.0))


@pytest.mark.parametrize(("replicas", "expected"), [(4, 60.0), (3, pytest.approx(80.0 * 2 / 3)), (1, None)])
def test_one_replica_less_would_do_below_its_part_of_the_capacity_and_never_at_the_load(replicas, expected):
    found = kinds(point("h200", 12.0, replicas))["load"]

    assert found["tie_of_one_less"] == expected
    assert ("one less would do" in found["sentence"]) == (expected is not None)


def test_what_is_cheaper_but_was_not_confirmed_flips_nothing():
    assert list(kinds(point("h200", 12.0), point("b200", 9.0))) == ["load"]


def test_the_runner_up_is_the_cheapest_that_holds():
    points = (point("h200", 12.0), point("drafts", 14.0), point("b200", 13.0, why_not="does not fit"))

    assert runner_up(FIELD, points[0], points, same_gpu=True) is points[1]
    assert runner_up(FIELD, points[0], points, same_gpu=False) is None


def test_of_equal_costs_fewer_gpus_come_first_and_then_the_faster():
    slow, fast = (point(name, 12.0, row=ROW | {"e2e_s": {"p95": e2e_s}}) for name, e2e_s in (("a", 2.0), ("b", 1.0)))
    few = replace(slow, name="c", num_gpus=2)

    assert best(FIELD, [slow, fast, few]) is few
    assert best(FIELD, [slow, fast]) is fast
    assert best(FIELD, [slow, replace(fast, method="estimated")]) is slow
    assert best(FIELD, []) is None


def tried(worst: str, pressure: float) -> Tried:
    outcome = Outcome(Verdict(False, pressure, worst == "backlog", 1.0, worst), {})
    return Tried(FIELD.scenario, 60.0, 60.0, (outcome,) * 4)


def test_a_limit_that_one_replica_less_misses_binds():
    found = binds(point("h200", 12.0, fewer=tried("tpot_s.p95", 1.3)))

    assert (found["kind"], found["name"], found["ratio"]) == ("slo", "tpot_s.p95", pytest.approx(1.3))


def test_the_load_binds_where_one_replica_less_saturates():
    assert binds(point("h200", 12.0, fewer=tried("backlog", 1.1)))["kind"] == "load"


def test_a_single_replica_is_the_least_there_is():
    assert binds(point("h200", 12.0, replicas=1))["kind"] == "one_replica"


def test_an_estimated_choice_says_that_it_is_estimated():
    assert "by the estimate" in binds(point("h200", 12.0))["sentence"]
