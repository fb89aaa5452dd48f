import pytest

from scenarios.load import load_scenario
from simulator.planning.estimate import estimate
from simulator.planning.load_curve import load_curve


@pytest.fixture(scope="module")
def chat():
    return load_scenario("h200_vs_b200_chat").points[0].scenario


@pytest.fixture(scope="module")
def curve(chat):
    return load_curve(chat, "b200-spec")


def test_a_curve_holds_the_slo_up_to_the_capacity_of_the_estimate_and_no_further(chat, curve):
    held = [point.req_per_s for point in curve.points if point.holds]

    assert curve.capacity_req_per_s == estimate(chat, "b200-spec")["capacity_req_per_s"]
    assert max(held) == pytest.approx(curve.capacity_req_per_s, rel=0.02)


def test_latency_grows_with_the_load_and_a_token_gets_cheaper(curve):
    tpot = [point.latencies["tpot_s"]["p95"] for point in curve.points]
    cost = [point.usd_per_million_output_tokens for point in curve.points]

    assert tpot[0] < tpot[len(tpot) // 2] < tpot[-1]
    assert cost == sorted(cost, reverse=True)


def test_goodput_never_exceeds_the_load_and_falls_beyond_the_capacity(curve):
    good = [point.good_req_per_s for point in curve.points]

    assert all(g <= point.req_per_s for g, point in zip(good, curve.points, strict=True))
    assert good[-1] < max(good) / 2


def test_the_distribution_at_the_offered_load_is_the_estimates(chat, curve):
    median_s = curve.quantiles["ttft_s"][next(i for i, share in enumerate(curve.shares) if share >= 0.5)]

    assert curve.offered_req_per_s == 21.0
    assert median_s == pytest.approx(estimate(chat, "b200-spec")["ttft_s"]["p50"], rel=0.1)


def test_without_a_target_no_request_is_good_and_the_capacity_is_saturation():
    scenario = load_scenario("offline_batch").points[0].scenario
    name = next(iter(scenario.deployments))
    curve = load_curve(scenario.model_copy(update={"slo": None}), name)

    assert {point.good_req_per_s for point in curve.points} == {None}
    assert all(point.holds for point in curve.points)
