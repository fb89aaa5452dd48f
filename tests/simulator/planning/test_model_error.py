"""The error of the step model, carried into a deployment's figures."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.planning.comparison import BY_CAPACITY, compare, confidence, with_model_error
from simulator.planning.estimate import estimate
from simulator.planning.model_error import ModelError, StepError, factor_of, model_error, step_error, widened
from simulator.planning.study import study
from tests.simulator.outcome import specs


def big(model):
    return {"model": model, "weights": "fp8", "kv": "fp8", "tensor_parallel": 2}


KNOWN = StepError(1.1, 1.2, "some rows", True)


def scenario(**changes):
    base = {"gpu": "h200-sxm", "engine": {"policy": "vllm"}}
    return specs.scenario({"one": base | changes})


def error(kind="a", **factors):
    return ModelError(KNOWN, {BY_CAPACITY: (0.8, 1.25), **factors}, True, kind)


def row(**changes):
    return {"replication": "all", "holds_slo": True, "ttft_s": {"p95": 1.0}, "x": 10.0, "interval": {}} | changes


def test_the_factor_holds_95_percent_of_normal_errors_with_that_mean():
    draws = np.abs(np.random.default_rng(3).normal(0.0, 0.08, 400_000))

    inside = np.mean(draws < np.log(factor_of(float(draws.mean()))))

    assert inside == pytest.approx(0.95, abs=0.002)


def test_a_model_with_the_layers_of_a_measured_one_has_its_error():
    own, other = (step_error(scenario(target=big(m)).deployments["one"]) for m in ("llama-3.1-70b", "llama-3.3-70b"))

    assert own == other
    assert own.exact
    assert "h200-sxm llama-3.1-70b" in own.basis


def test_a_model_that_was_never_measured_has_the_error_of_models_left_out_of_a_fit():
    found = step_error(scenario(target=specs.PLAIN["target"] | {"model": "qwen3-8b"}).deployments["one"])

    assert not found.exact
    assert "constants fitted without it" in found.basis


def test_a_batch_queued_at_once_is_no_closed_loop_and_has_the_error_of_what_was_left_out():
    deployment = scenario(target=big("llama-3.1-70b")).deployments["one"]

    assert not step_error(deployment, queued_at_once=True).exact
    assert step_error(deployment, queued_at_once=True).step > step_error(deployment).step


def test_without_a_profile_no_error_is_known():
    assert model_error(scenario(gpu="gb200"), "one") is None


def test_slower_steps_raise_latencies_and_costs_and_lower_capacity():
    found = model_error(scenario(), "one").factors

    assert found["tpot_s.mean"][1] > 1.05
    assert found["capacity_req_per_s"][0] < 0.95
    assert found["usd_per_million_output_tokens_at_capacity"][1] == pytest.approx(1 / found["capacity_req_per_s"][0])


def test_below_saturation_throughput_is_what_is_offered_whatever_the_error():
    assert model_error(scenario(), "one").factors["req_per_s"] == pytest.approx((1.0, 1.0))


def test_a_ttft_is_no_better_known_than_ttfts_were_predicted():
    found = model_error(scenario(), "one")

    assert found.factors["ttft_s.p50"][1] >= found.known.ttft


def test_an_estimate_has_intervals_of_the_model_alone():
    spec = scenario()
    plain = estimate(spec, "one")

    found = widened(plain, model_error(spec, "one"))

    low, high = found["interval"]["tpot_s.p50"]
    assert low < plain["tpot_s"]["p50"] < high
    assert found["interval_of_replications"] == {}


def test_a_study_holds_the_error_in_its_intervals_and_keeps_the_replications_apart():
    (found,) = study(scenario()).report.rows

    wide, narrow = found["interval"]["tpot_s.mean"], found["interval_of_replications"]["tpot_s.mean"]
    assert wide[0] < narrow[0] < found["tpot_s"]["mean"] < narrow[1] < wide[1]


def test_one_replication_has_no_interval_for_its_luck_is_not_known():
    assert widened(row(), error(x=(0.5, 2.0)))["interval"] == {}


@given(st.floats(0.0, 5.0), st.floats(0.0, 5.0), st.floats(0.5, 1.0), st.floats(1.0, 2.0))
def test_two_errors_are_wider_than_each_and_narrower_than_their_sum(below, above, least, most):
    found = widened(row(interval={"x": [10.0 - below, 10.0 + above]}), error(x=(least, most)))

    low, high = found["interval"]["x"]
    down, up = 10.0 * (1.0 - least), 10.0 * (most - 1.0)
    assert 10.0 - below - down - 1e-9 <= low <= min(10.0 - below, 10.0 * least) + 1e-9
    assert max(10.0 + above, 10.0 * most) - 1e-9 <= high <= 10.0 + above + up + 1e-9


def test_a_load_that_slower_steps_would_not_hold_has_latencies_without_an_upper_end():
    fragile = error(**{"ttft_s.p95": (0.8, 3.0), "x": (0.9, 1.1)})
    fragile = ModelError(fragile.known, fragile.factors, False, "a")

    found = widened(row(interval={"ttft_s.p95": [0.9, 1.1], "x": [9.0, 11.0]}), fragile)

    assert set(found["interval"]) == {"x"}
    assert found["holds_if_slower"] is False


def test_errors_of_two_kinds_widen_a_ratio_and_those_of_one_kind_cancel():
    same = with_model_error(1.5, (1.4, 1.6), (error("a"), error("a")))
    apart = with_model_error(1.5, (1.4, 1.6), (error("a"), error("b")))

    assert same == pytest.approx((1.4, 1.6))
    assert apart[0] < 1.4
    assert apart[1] > 1.6


def test_a_ratio_of_estimates_has_an_interval_of_the_model_alone():
    low, high = with_model_error(1.5, (1.5, 1.5), (error("a"), error("b")))

    assert low == pytest.approx(1.5 * np.exp(-np.hypot(np.log(0.8), np.log(1.25))))
    assert high == pytest.approx(1.5**2 / low)


def test_estimates_of_one_kind_have_no_interval_for_nothing_is_known_of_their_difference():
    rows = [estimate(scenario(), "one") | {"deployment": name, "usd_per_hour_for_offered": None} for name in ("a", "b")]
    rows[1][BY_CAPACITY] *= 1.2

    found = compare(rows, (), {"a": error("x"), "b": error("x")})

    assert (found["winner"], found["interval"], found["confidence"]) == ("a", None, None)


def test_a_winner_within_the_error_of_the_model_is_too_close_to_call_and_has_a_chance():
    names = ("a", "b")
    rows = [estimate(scenario(), "one") | {"deployment": name} for name in names]
    rows[1][BY_CAPACITY] *= 1.2
    for one in rows:
        one["usd_per_hour_for_offered"] = None

    found = compare(rows, (), {name: error(name) for name in names})

    assert found["winner"] == "too close to call"
    assert found["confidence"] == pytest.approx(confidence(1.2, tuple(found["interval"])))
    assert 0.5 < found["confidence"] < 0.975
