from typing import Any

import numpy as np
import pytest

from simulator.outcome.report import Row
from simulator.planning.comparison import BY_CAPACITY, BY_LOAD, TOO_CLOSE, compare, paired_interval

SCALES = (0.9, 1.0, 1.05, 1.2)


def deployment(name: str, **fields: Any) -> Row:
    """A row of a deployment; costs follow from price, GPUs and capacity as in a report."""
    row: Row = {
        "deployment": name, "gpu": "h200-sxm", "num_gpus": 4, "usd_per_gpu_hour": 3.0, "gpus_for_offered": 4,
        "capacity_req_per_s": 10.0, "tokens_per_step": 1.0, "draft_tokens_mean": 0.0, "replication": "all",
        "bound_by": "weight_bandwidth", "bound_share": {"weight_bandwidth": 0.7}, "reason": None,
    }  # fmt: skip
    return priced(row | fields)


def priced(row: Row) -> Row:
    hourly = None if row["gpus_for_offered"] is None else row["gpus_for_offered"] * row["usd_per_gpu_hour"]
    output = (row["capacity_req_per_s"] or 0) * 100
    at_capacity = row["num_gpus"] * row["usd_per_gpu_hour"] / 3600 / output * 1e6 if output else None
    return row | {BY_LOAD: hourly, BY_CAPACITY: at_capacity}


def replicated(rows: list[Row], noise: float = 0.0) -> list[Row]:
    """Replications in which every deployment saw the same luck, and a little of its own."""
    rng = np.random.default_rng(2)
    found = []
    for row in rows:
        for i, scale in enumerate(SCALES):
            luck = scale * float(np.exp(noise * rng.standard_normal()))
            costs = {name: row[name] and row[name] * luck for name in (BY_LOAD, BY_CAPACITY)}
            found.append(row | {"replication": i} | costs)
    return found


def comparison(*rows: Row, noise: float = 0.0) -> dict[str, Any]:
    return compare(rows, replicated(list(rows), noise))


def test_the_winner_is_cheapest_at_the_offered_load():
    found = comparison(deployment("a", gpus_for_offered=8), deployment("b"), deployment("c", gpus_for_offered=6))

    assert (found["winner"], found["runner_up"], found["basis"]) == ("b", "c", BY_LOAD)
    assert found["ratio"] == pytest.approx(1.5)


def test_without_a_fleet_the_cost_at_capacity_decides():
    a, b = deployment("a", gpus_for_offered=None), deployment("b", gpus_for_offered=None, capacity_req_per_s=20.0)

    found = comparison(a, b)

    assert (found["winner"], found["basis"], found["ratio"]) == ("b", BY_CAPACITY, pytest.approx(2.0))


def test_it_is_said_when_the_two_bases_disagree():
    a, b = deployment("a"), deployment("b", gpus_for_offered=8, capacity_req_per_s=30.0)

    found = comparison(a, b)

    assert (found["by_load"]["winner"], found["by_capacity"]["winner"]) == ("a", "b")
    assert found["disagree"].startswith("a is cheapest at the offered load ($12.00/h), b at capacity")


def test_nothing_is_said_when_they_agree():
    assert comparison(deployment("a"), deployment("b", gpus_for_offered=8, capacity_req_per_s=9.0))["disagree"] is None


def test_an_interval_that_holds_one_is_too_close_to_call():
    a, b = deployment("a", gpus_for_offered=None), deployment("b", gpus_for_offered=None, capacity_req_per_s=10.3)

    found = comparison(a, b, noise=0.1)

    assert (found["winner"], found["leader"], found["close_call"]) == (TOO_CLOSE, "b", True)
    assert found["interval"][0] < 1 < found["interval"][1]


def test_equal_costs_are_too_close_to_call_and_nothing_need_change_for_a_tie():
    found = comparison(deployment("a"), deployment("b"))

    assert (found["winner"], found["flip"]["kind"]) == (TOO_CLOSE, "tie")


def test_luck_that_both_share_does_not_widen_the_interval():
    a, b = deployment("a", gpus_for_offered=None), deployment("b", gpus_for_offered=None, capacity_req_per_s=10.3)

    found = comparison(a, b)

    assert found["interval"] == pytest.approx([1.03, 1.03])
    assert found["winner"] == "b"


def test_the_interval_is_that_of_t_on_log_ratios():
    rows = [
        {"deployment": name, "replication": i, "x": value}
        for name, values in (("a", (2.0, 4.0, 2.0)), ("b", (1.0, 1.0, 1.0)))
        for i, value in enumerate(values)
    ]

    low, high = paired_interval(rows, "a", "b", "x") or (0, 0)

    logs = np.log([2.0, 4.0, 2.0])
    half = 4.302652729911275 * logs.std(ddof=1) / np.sqrt(3)
    assert (low, high) == pytest.approx((np.exp(logs.mean() - half), np.exp(logs.mean() + half)))


def test_one_replication_gives_no_interval_and_a_winner_all_the_same():
    rows = [deployment("a"), deployment("b", gpus_for_offered=8)]

    found = compare(rows, [row | {"replication": 0} for row in rows])

    assert (found["winner"], found["interval"]) == ("a", None)


def test_between_gpu_types_the_tie_is_where_repricing_makes_costs_equal():
    h200 = deployment("h200", gpus_for_offered=8)
    b200 = deployment("b200", gpu="b200-sxm", usd_per_gpu_hour=5.0)
    tie = comparison(h200, b200)["flip"]["tie"]

    again = comparison(h200, priced(b200 | {"usd_per_gpu_hour": tie * h200["usd_per_gpu_hour"]}))

    assert again["by_load"]["ratio"] == pytest.approx(1.0)


def test_so_it_is_at_capacity():
    h200 = deployment("h200", gpus_for_offered=None)
    b200 = deployment("b200", gpus_for_offered=None, gpu="b200-sxm", usd_per_gpu_hour=5.0, capacity_req_per_s=21.0)
    tie = comparison(h200, b200)["flip"]["tie"]

    again = comparison(h200, priced(b200 | {"usd_per_gpu_hour": tie * h200["usd_per_gpu_hour"]}))

    assert again["by_capacity"]["ratio"] == pytest.approx(1.0)


def spec(**fields: Any) -> Row:
    return deployment("spec", tokens_per_step=3.0, draft_tokens_mean=4.0, gpus_for_offered=None, **fields)


def test_on_one_type_the_tie_is_where_the_capacity_gain_is_used_up():
    plain = deployment("plain", gpus_for_offered=None)

    flip = comparison(plain, spec(capacity_req_per_s=15.0))["flip"]

    assert (flip["kind"], flip["deployment"], flip["tie"]) == ("tokens_per_step", "spec", pytest.approx(2.0))
    assert "first-order" in flip["sentence"]


def test_a_losing_draft_must_commit_more():
    flip = comparison(deployment("plain", gpus_for_offered=None), spec(capacity_req_per_s=8.0))["flip"]

    assert (flip["deployment"], flip["tie"]) == ("spec", pytest.approx(3.75))


def test_a_tie_beyond_what_a_step_can_commit_is_no_tie():
    flip = comparison(deployment("plain", gpus_for_offered=None), spec(capacity_req_per_s=2.0))["flip"]

    assert flip["tie"] is None
    assert flip["sentence"].startswith("even if every draft token were accepted plain would be cheaper")


def test_a_tree_can_commit_no_more_than_it_is_deep():
    tree = deployment("tree", tokens_per_step=3.0, draft_tokens_mean=14.0, draft_depth=3, gpus_for_offered=None,
                      capacity_req_per_s=7.0)  # fmt: skip

    assert comparison(deployment("plain", gpus_for_offered=None), tree)["flip"]["tie"] is None


def test_a_winner_that_needs_no_acceptance_says_so():
    flip = comparison(deployment("plain", gpus_for_offered=None), spec(capacity_req_per_s=40.0))["flip"]

    assert flip["tie"] is None
    assert flip["sentence"].startswith("even at one token per step spec would be cheaper")


def test_two_plain_deployments_on_one_type_have_nothing_to_turn():
    flip = comparison(deployment("tp2"), deployment("tp4", gpus_for_offered=8))["flip"]

    assert flip["kind"] == "none"


def test_a_deployment_that_cannot_is_named_with_its_reason():
    unfit = deployment("big", gpus_for_offered=None, capacity_req_per_s=None, reason="lacks 3 GiB")

    found = comparison(deployment("a"), unfit)

    assert (found["winner"], found["runner_up"], found["flip"]) == ("a", None, None)
    assert found["unable"] == {"big": "lacks 3 GiB"}


def test_nobody_able_is_an_answer():
    found = comparison(deployment("a", gpus_for_offered=None, capacity_req_per_s=None))

    assert (found["winner"], found["ratio"]) == (None, None)
    assert found["why"] == "no deployment holds the load at any size, or has a capacity"


def test_the_reason_is_one_line_with_what_binds_each():
    why = comparison(deployment("a", gpus_for_offered=8, bound_by="draft", bound_share={}), deployment("b"))["why"]

    assert "b holds the offered load on 4 h200-sxm for $12.00/h, a on 8 h200-sxm for $24.00/h" in why
    assert "a by drafting" in why
    assert "\n" not in why


def test_why_names_the_drafts_of_a_winner_and_what_they_take():
    drafting = {"tokens_per_step": 3.0, "drafts": ["code", "prose"], "speculation": "code + prose, routed, chain of 4"}
    winner = deployment("b", step_time_share={"draft": 0.25}, **drafting)

    why = comparison(deployment("a", gpus_for_offered=8), winner)["why"]

    assert why.endswith(
        "b commits 3.00 tokens per step (code + prose, routed, chain of 4) and drafts for 25 % of its step time"
    )


def test_why_is_silent_on_the_drafts_of_a_loser():
    loser = deployment(
        "a", gpus_for_offered=8, drafts=["code"], tokens_per_step=3.0, step_time_share={}, speculation="x"
    )

    assert "drafts for" not in comparison(loser, deployment("b"))["why"]
