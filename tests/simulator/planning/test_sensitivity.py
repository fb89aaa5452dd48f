"""How far the answer moves with its inputs."""

import json
from concurrent.futures import ThreadPoolExecutor
from math import log
from statistics import NormalDist

import pytest

from simulator.errors import ScenarioError
from simulator.outcome.interval import NORMAL_QUANTILE
from simulator.planning.burst_costs import burst_bar, clumped, why_no_bursts
from simulator.planning.comparison import BY_CAPACITY, BY_LOAD
from simulator.planning.sensitivity import sensitivity
from simulator.planning.uncertain import inputs_of
from tests.simulator.outcome import specs

DEAR = {"price": 9.0}


def scenario(deployments=None, arrivals=None, **changes):
    load = specs.workload(arrivals or {"kind": "poisson", "rate_per_s": 200.0})
    workload = load | {"lengths": {"kind": "fixed", "prompt_tokens": 400, "output_tokens": 60}}
    fields = {"workload": workload, "slo": {"ttft_s": {"p95": 0.5}}} | changes
    return specs.scenario(deployments or {"plain": {}, "drafts": {"speculation": specs.DRAFTS}}, **fields)


@pytest.fixture(scope="module")
def found():
    return sensitivity(scenario(), draws=6)


def test_every_input_is_at_both_ends(found):
    names = {bar.name for bar in found.bars}

    assert names == {
        "rate", "output_tokens", "prompt_tokens", "acceptance.small", "step_time.h200-sxm", "bandwidth.h200-sxm",
        "price.h200-sxm",
    }  # fmt: skip
    assert all(set(end.costs) == set(found.costs) for bar in found.bars for end in bar.ends)


def test_the_widest_bar_comes_first(found):
    swings = [bar.swing(found.winner, found.basis) for bar in found.bars]

    assert swings == sorted(swings, reverse=True)
    assert swings[0] > 0


def test_only_deployments_with_the_draft_move_with_its_acceptance(found):
    bar = next(bar for bar in found.bars if bar.name == "acceptance.small")

    assert bar.swing("plain", BY_CAPACITY) == 0.0
    assert bar.swing("drafts", BY_CAPACITY) > 0.03


def test_a_price_that_all_pay_never_turns_the_winner(found):
    bar = next(bar for bar in found.bars if bar.name == "price.h200-sxm")

    assert bar.winners == (found.winner, found.winner)
    assert bar.swing(found.winner, BY_LOAD) == pytest.approx(1.2 - 1 / 1.2)


def test_the_cheapest_comes_first_and_the_next_is_the_runner_up(found):
    costs = [one.usd_per_hour for one in found.costs.values()]

    assert costs == sorted(costs)
    assert [found.winner, found.runner_up] == list(found.costs)


def test_the_same_seed_gives_the_same_answer_wherever_it_is_computed(found):
    with ThreadPoolExecutor(2) as pool:
        elsewhere = sensitivity(scenario(), pool, draws=6)

    assert elsewhere.as_json() == found.as_json()


def test_the_answer_is_plain_json(found):
    assert json.loads(json.dumps(found.as_json())) == found.as_json()


def test_a_winner_far_ahead_stays_the_winner():
    pair = {"cheap": {}, "dear": DEAR}

    stays = sensitivity(scenario(pair), draws=6).stability

    assert (stays.chance, stays.winners, stays.turned_by) == (1.0, {"cheap": 6}, [])


def test_progress_counts_the_draws():
    calls = []

    sensitivity(scenario({"one": {}}), progress=lambda *done: calls.append(done), draws=3)

    assert calls == [(1, 3), (2, 3), (3, 3)]


def test_without_draws_there_are_bars_alone():
    found = sensitivity(scenario({"one": {}}), draws=0)

    assert found.stability is None
    assert found.bars


def test_a_batch_is_judged_by_its_cost_at_capacity():
    found = sensitivity(scenario(arrivals={"kind": "queued_at_once"}), draws=0)

    assert found.basis == BY_CAPACITY
    assert found.winner in found.costs


def test_where_nothing_holds_nothing_is_varied():
    found = sensitivity(scenario(slo={"ttft_s": {"p95": 0.0001}}), draws=5)

    assert (found.winner, found.bars, found.stability) == (None, [], None)
    assert found.notes == ["no deployment holds the load as the scenario says"]


def test_where_nothing_fits_there_is_no_answer():
    huge = specs.PLAIN["target"] | {"model": "llama-3.1-405b"}

    with pytest.raises(ScenarioError, match="no deployment fits"):
        sensitivity(scenario({"huge": {"target": huge}}))


def test_a_wide_interval_of_ones_own_can_turn_the_winner():
    pair = {"a": {"gpu": "b200-sxm", "price": 3.0}, "b": {"price": 2.9}}

    narrow = sensitivity(scenario(pair), draws=0, within={"price.b200-sxm": (1.0, 1.0)})
    wide = sensitivity(scenario(pair), draws=0, within={"price.b200-sxm": (0.1, 10.0)})

    price = [next(bar for bar in of.bars if bar.name == "price.b200-sxm") for of in (narrow, wide)]
    assert price[0].winners == (narrow.winner, narrow.winner)
    assert len(set(price[1].winners)) == 2


def test_more_even_arrivals_and_clumps_have_the_same_rate():
    even, clumps = (clumped(scenario(), factor).workload.arrivals for factor in (0.5, 2.0))

    assert (even.cv, clumps.cv, even.rate_per_s) == (0.5, 2.0, 200.0)


def test_clumps_need_no_fewer_replicas():
    bar = burst_bar(scenario({"plain": {}}), {"plain": 2}, "plain")

    even, base, clumps = (of["plain"].replicas for of in (bar.ends[0].costs, bar.base, bar.ends[1].costs))
    assert even <= base <= clumps
    assert (bar.method, bar.drawn) == ("simulated", False)


def test_bursts_are_asked_for_and_told():
    loop = scenario({"plain": {}}, arrivals={"kind": "closed_loop", "concurrency": 4})

    assert "burstiness is not varied" in " ".join(sensitivity(loop, draws=0, bursts=True).notes)
    assert "for a simulation" in " ".join(sensitivity(loop, draws=0).notes)
    assert why_no_bursts(scenario()) == ""


def test_the_chance_that_the_winner_stays_is_that_of_the_law():
    pair = scenario({"a": {}, "b": {"gpu": "b200-sxm"}}, arrivals={"kind": "queued_at_once"})
    known = {one.name: (1.0, 1.0) for one in inputs_of(pair, ["a", "b"])}

    found = sensitivity(pair, draws=400, within=known | {"price.b200-sxm": (0.25, 4.0)})

    a, b = (found.costs[name].usd_per_million for name in "ab")
    turned = NormalDist().cdf(-NORMAL_QUANTILE * abs(log(a / b)) / log(4.0))
    assert found.stability.chance == pytest.approx(1.0 - turned, abs=1.5 / 400)
    assert found.stability.turned_by[0][0] == "price.b200-sxm"
