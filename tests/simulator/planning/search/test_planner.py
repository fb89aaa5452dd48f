import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from simulator.outcome.slo import verdict
from simulator.planning.search import PlanResult, plan, plan_json, ranking
from simulator.run import simulate_once
from simulator.spec.plan import Plan
from tests.simulator.outcome import specs
from tests.simulator.planning.search import small

CANDIDATES = {
    "h200": {},
    "h200-drafts": {"speculation": specs.MODELLED_DRAFTS},
    "b200": small.B200,
    "b200-dear": small.B200 | {"price": 9.0},
    "too-large": {"target": {"model": "llama-3.3-70b", "weights": "bf16"}},
}
ESTIMATES = Plan().model_copy(update={"confirm": 0})
KEYS = [
    "scenario", "choice", "runner_up", "runner_ups", "pareto", "latency", "points", "counts", "flip", "binds",
    "confidence", "nearest", "relax", "draft_schedule", "provenance", "seconds",
]  # fmt: skip


@pytest.fixture(scope="module")
def result() -> PlanResult:
    return plan(small.scenario(CANDIDATES), small.question())


def point(result: PlanResult, name: str):
    return next(point for point in result.points if point.name == name)


def without_seconds(result: PlanResult) -> str:
    return json.dumps(plan_json(result) | {"seconds": 0}, allow_nan=False)


def test_a_plan_is_plain_json_with_all_its_parts(result):
    found = plan_json(result)

    json.dumps(found, allow_nan=False)
    assert list(found) == KEYS
    assert [one["name"] for one in found["points"]] == list(CANDIDATES)


def test_the_choice_was_simulated_and_holds_most_surely(result):
    assert result.choice is not None
    assert result.choice.method == "simulated"
    assert result.choice.tried.replications_left == 0
    assert result.choice.tried.interval[0] > 0.5
    assert result.confidence["holds_share"] > 0.5


def test_the_choice_has_had_all_the_replications_that_there_may_be():
    tried = plan(small.scenario(requests=150, replications=3), small.question(confirm=1)).choice.tried

    assert (len(tried.outcomes), tried.replications_left) == (6, 0)


def test_what_a_bound_left_out_is_asked_where_nothing_cheaper_holds_in_simulation(monkeypatch):
    def overloaded(scenario, deployment, replication, *, rate_per_s):
        loaded = rate_per_s * (50 if deployment == "plain" else 1)
        return simulate_once(scenario, deployment, replication, rate_per_s=loaded)

    monkeypatch.setattr(ranking, "ROUND", 1)
    scenario = small.scenario({"plain": {}, "dear": small.B200 | {"price": 50.0}}, requests=150)

    found = plan(scenario, small.question(budget={"gpus": 3}), simulate=overloaded)

    assert point(plan(scenario, ESTIMATES), "dear").method == "bound"
    assert (found.choice.name, found.choice.method) == ("dear", "simulated")


def test_the_choice_is_the_cheapest_that_was_simulated(result):
    costs = [of.cost for of in result.points if of.method == "simulated" and of.holds]

    assert result.choice.cost == min(costs)
    assert len(costs) >= 2


def test_the_choice_holds_with_seeds_that_the_search_never_saw(result):
    choice, fresh = result.choice, small.scenario(CANDIDATES, seed=4711)
    runs = [simulate_once(fresh, choice.name, r, replicas=choice.replicas) for r in range(6)]

    held = sum(verdict(run, fresh.slo, open_loop=True).holds for run in runs)

    assert held / 6 >= result.confidence["interval"][0]


def test_the_pareto_set_holds_the_choice_and_nothing_that_fails(result):
    names = set(result.pareto)

    assert result.choice.name in names
    assert all(point(result, name).holds for name in names)


def test_twins_differ_in_money_alone(result):
    one, other = point(result, "b200"), point(result, "b200-dear")

    assert (one.replicas, one.row) == (other.replicas, other.row)
    assert other.cost == pytest.approx(1.5 * one.cost)


def test_counts_add_up(result):
    counts = result.counts

    assert counts["candidates"] == len(CANDIDATES)
    assert counts["bounded"] + counts["estimated"] + counts["simulated"] == len(CANDIDATES)
    assert counts["bounded"] == 1


def test_what_does_not_fit_says_so(result):
    assert point(result, "too-large").why_not.startswith("does not fit: ")


def test_utilisation_is_offered_by_capacity_and_below_one(result):
    for one in plan_json(result)["points"]:
        if one["why_not"] is None:
            assert one["utilisation"] == pytest.approx(one["offered_req_per_s"] / one["capacity_req_per_s"])
            assert one["utilisation"] <= 1.0


def test_costs_follow_from_replicas_prices_and_tokens(result):
    chosen = next(one for one in plan_json(result)["points"] if one["name"] == result.choice.name)

    per_token = chosen["usd_per_hour"] / 3600 / (60.0 * 100)
    assert chosen["usd_per_month"] == pytest.approx(chosen["usd_per_hour"] * 730.5)
    assert chosen["usd_per_million_output_tokens"] == pytest.approx(1e6 * per_token, rel=0.1)
    assert chosen["usd_per_million_output_tokens_at_capacity"] <= 1.1 * chosen["usd_per_million_output_tokens"]


def test_the_same_question_has_the_same_answer(result):
    assert without_seconds(plan(small.scenario(CANDIDATES), small.question())) == without_seconds(result)


def test_any_executor_gives_the_same_answer(result):
    with ThreadPoolExecutor(2) as pool:
        parallel = plan(small.scenario(CANDIDATES), small.question(), pool)

    assert without_seconds(parallel) == without_seconds(result)


def test_the_order_of_the_candidates_does_not_matter(result):
    backwards = dict(reversed(CANDIDATES.items()))

    other = plan(small.scenario(backwards), small.question())

    assert (other.choice.name, other.choice.cost) == (result.choice.name, result.choice.cost)


def test_progress_ends_where_all_is_done():
    seen: list[tuple[int, int]] = []

    plan(small.scenario(), small.question(confirm=1), None, lambda done, total: seen.append((done, total)))

    assert all(done <= total for done, total in seen)
    assert seen[-1][0] == seen[-1][1] > 0
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_without_simulation_the_estimate_answers():
    result = plan(small.scenario(CANDIDATES), ESTIMATES)

    assert result.choice.method == "estimated"
    assert result.counts["simulated"] == 0
    assert result.confidence is None


def test_spares_are_bought_on_top():
    spared = plan(small.scenario(), ESTIMATES.model_copy(update={"spare_replicas": 2})).choice
    plain = plan(small.scenario(), ESTIMATES).choice

    assert (spared.replicas, spared.cost) == (plain.replicas, plain.cost + 6.0)
    assert spared.capacity_req_per_s == plain.capacity_req_per_s


def test_headroom_keeps_capacity_free():
    choice = plan(small.scenario(), ESTIMATES.model_copy(update={"headroom": 0.4})).choice

    assert choice.offered_req_per_s / choice.capacity_req_per_s <= 0.6


def test_users_are_told_how_many_are_served():
    found = plan_json(plan(small.scenario(), small.question(users={"count": 100, "think_s": 1.0}, confirm=1)))
    chosen = next(one for one in found["points"] if one["name"] == found["choice"])

    assert chosen["users_served"] >= 99
    assert chosen["offered_req_per_s"] * (1.0 + chosen["e2e_s"]["mean"]) == pytest.approx(100, rel=0.1)


def test_users_that_are_served_leave_the_headroom_free():
    asked = small.question(users={"count": 100, "think_s": 1.0}, headroom=0.4).model_copy(update={"confirm": 0})
    found = plan_json(plan(small.scenario(), asked))
    chosen = next(one for one in found["points"] if one["name"] == found["choice"])

    brings = chosen["users_served"] / (1.0 + chosen["e2e_s"]["mean"])
    assert brings == pytest.approx(0.6 * chosen["capacity_req_per_s"])


def test_the_provenance_is_of_what_is_told(result):
    told = {result.choice.name, result.runner_up.name, *result.pareto}

    assert set(result.provenance["prices"]) == told


def test_the_choice_comes_with_its_draft_schedule(result):
    assert plan_json(result)["draft_schedule"]["deployment"] == result.choice.name


def test_a_trace_is_planned_at_its_own_rate(tmp_path):
    trace = tmp_path / "trace.jsonl"
    lines = ({"timestamp": 20 * i, "input_length": 300, "output_length": 20, "hash_ids": [i]} for i in range(300))
    trace.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    workload = {
        "arrivals": {"kind": "trace", "file": str(trace)}, "lengths": {"kind": "trace"}, "horizon": {"requests": 300},
    }  # fmt: skip

    choice = plan(small.scenario(workload=workload), small.question(confirm=1)).choice

    assert choice.offered_req_per_s == pytest.approx(50.0, rel=0.02)


def test_where_requests_come_in_clumps_only_what_was_simulated_is_shown():
    arrivals = {"kind": "gamma", "rate_per_s": 60.0, "cv": 4.0}
    workload = small.scenario().workload.model_dump(mode="json") | {"arrivals": arrivals}

    result = plan(small.scenario({"h200": {}, "b200": small.B200}, workload=workload), small.question(confirm=1))

    assert result.pareto == (result.choice.name,)
    assert result.runner_up is None
