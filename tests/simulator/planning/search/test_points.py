from dataclasses import replace

import pytest

from simulator.outcome.slo import Verdict
from simulator.planning.search.appraisal import Appraisal, Estimated
from simulator.planning.search.field import MOST_REPLICAS
from simulator.planning.search.points import missed, over_budget, points_of
from simulator.planning.search.rivals import Confirmed
from simulator.planning.search.trials import Outcome, Tried
from simulator.spec.plan import Budget
from tests.simulator.planning.search import small

SCENARIO = small.scenario({"one": {}, "two": {"engine": {"policy": "vllm", "max_num_seqs": 8}}})
ROW = {"utilisation": 0.9, "capacity_req_per_s": 66.0, "output_tokens_per_request": 100.0}


def size(held: int, of: int = 4, worst: str = "tpot_s.p95") -> Tried:
    outcomes = (Outcome(Verdict(n < held, 0.9 if n < held else 1.3, False, 60.0, worst), {}) for n in range(of))
    return Tried(SCENARIO, 60.0, 60.0, tuple(outcomes))


def estimated(replicas: int) -> Appraisal:
    return Appraisal(estimated=Estimated(replicas, replicas, 60.0, ROW), asked=True)


def points(done: dict[str, Confirmed], **said):
    found = {"one": estimated(3), "two": estimated(3)}
    return {point.name: point for point in points_of(small.field(SCENARIO, **said), found, done)}


def test_a_simulated_point_has_the_replicas_that_hold_in_simulation():
    found = points({"one": Confirmed(4, {3: size(0), 4: size(4)}, ROW)})["one"]

    assert (found.method, found.replicas, found.cost, found.holds) == ("simulated", 4, 12.0, True)
    assert found.fewer.held == 0


def test_a_capacity_is_kept_between_what_held_and_what_failed():
    pessimistic = points({"one": Confirmed(2, {1: size(0), 2: size(4)}, ROW)})["one"]
    optimistic = points({"one": Confirmed(5, {4: size(0), 5: size(4)}, ROW)})["one"]

    assert pessimistic.capacity_req_per_s == pytest.approx(60.0)
    assert optimistic.capacity_req_per_s == pytest.approx(60.0 * 5 / 4)


def test_an_estimate_whose_kin_failed_with_as_many_replicas_is_no_answer():
    found = points({"one": Confirmed(4, {3: size(0), 4: size(4)}, ROW)})["two"]

    assert found.method == "estimated"
    assert found.why_not == "only estimated, and one does not hold in simulation with 3 replicas"


def test_an_estimate_beside_kin_that_holds_is_an_answer():
    assert points({"one": Confirmed(3, {2: size(0), 3: size(4)}, ROW)})["two"].holds


def test_where_nothing_was_simulated_estimates_are_answers():
    assert all(point.holds for point in points({}).values())


def test_what_fails_up_to_the_budget_says_so():
    found = points({"one": Confirmed(None, {3: size(0)}, None)}, budget={"gpus": 3})["one"]

    assert (
        found.why_not
        == "3 replicas that the budget allows do not hold in simulation: tpot_s.p95 is 1.3 times its limit"
    )


def test_users_that_no_size_serves_are_told():
    assert "users" in points({"one": Confirmed(None, {}, None)})["one"].why_not


def test_what_a_size_misses_is_said_by_how_clearly_it_fails():
    assert missed(size(0)) == "tpot_s.p95 is 1.3 times its limit"
    assert missed(size(0, worst="backlog")) == "it saturates"
    assert missed(size(6, of=10)) == "holds in 6 of 10 replications only, and misses tpot_s.p95 in the others"
    assert "and saturates in the others" in missed(size(6, of=10, worst="backlog"))


def test_a_short_run_that_saturates_says_how_short_it_is():
    rows = [Outcome(one.verdict, {"e2e_s": {"mean": 60.0}}) for one in size(0, worst="backlog").outcomes]

    assert "it saturates; a replication lasts " in missed(replace(size(0), outcomes=tuple(rows)))
    assert "lasts" not in missed(size(0))


def test_everything_beyond_the_budget_is_named():
    budget = Budget(gpus=2, usd_per_hour=5.0)

    assert over_budget(budget, 6.0, 3) == "$6.00/h, above the budget of $5.00/h and 3 GPUs, above the budget of 2"
    assert over_budget(budget, 5.0, 2) == ""
    assert over_budget(None, 1e9, 10**6) == ""


def test_dearer_twins_can_be_over_a_budget_that_the_cheapest_keeps():
    twins = small.scenario({"cheap": {}, "dear": {"price": 9.0}})
    field = small.field(twins, budget={"usd_per_hour": 20.0})

    found = {point.name: point for point in points_of(field, {"cheap": estimated(3)}, {})}

    assert found["cheap"].holds
    assert found["dear"].why_not == "needs $27.00/h, above the budget of $20.00/h"
    assert found["dear"].row == found["cheap"].row


def test_more_replicas_than_a_cluster_may_have_are_no_answer():
    field = small.field(SCENARIO)

    (found, _) = points_of(field, {"one": estimated(MOST_REPLICAS + 1), "two": estimated(3)}, {})

    assert found.why_not == "needs 10,001 replicas, above the 10,000 that a cluster may have"


def test_a_single_replica_that_does_not_hold_is_told_as_one():
    found = points({"one": Confirmed(None, {1: size(0)}, None)}, budget={"gpus": 1})["one"]

    assert found.why_not.startswith("1 replica that the budget allows does not hold in simulation: ")
