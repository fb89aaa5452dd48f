"""The step model on measured curves: exact at the knots, additive, flagged beyond them, and the catalog where none are."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.catalog.load import load_profile, names
from simulator.physics.profiled import all_reduce_curves, linear_table
from simulator.physics.profiled_attention import Wanted, nearest
from simulator.physics.profiled_linear import Product, rows_curve, shape_s
from simulator.physics.step import CAUSES, StepShape
from simulator.physics.step_model import build_step_model, step_model_with
from simulator.spec.deployment import Deployment
from simulator.spec.profile import Profile

TRTLLM = load_profile("h200-sxm", "trtllm")
FP8 = linear_table(TRTLLM, "fp8")


def deployment(model="llama-3.1-70b", weights="fp8", gpu="h200-sxm", policy="trtllm", **target):
    served = {"model": model, "weights": weights, "kv": "fp8"} | target
    return Deployment.model_validate(
        {"gpu": gpu, "replicas": 1, "price": 1.0, "target": served, "engine": {"policy": policy}}
    )


def decode(sequences, context=1024):
    return StepShape(sequences, sequences, float(sequences * context), 0, 0, 0.0, 0)


@pytest.mark.parametrize("name", names("profiles"))
def test_a_profile_survives_a_round_trip(name):
    profile = load_profile(*name.rsplit("-", 1))

    assert Profile.model_validate_json(profile.model_dump_json()) == profile
    assert profile.name == f"{profile.gpu}-{profile.engine}"


@pytest.mark.parametrize("name", names("profiles"))
def test_every_part_has_tables_samples_and_an_error(name):
    profile = load_profile(*name.rsplit("-", 1))

    assert all(getattr(profile, part) for part in profile.samples)
    assert set(profile.samples) == set(profile.fit_error)
    assert all(error.median_ape < 0.1 for error in profile.fit_error.values())


def test_there_is_a_profile_of_each_gpu_and_engine_that_users_compare():
    wanted = {
        f"{gpu}-sxm-{engine}" for gpu in ("h100", "h200", "b200", "b300") for engine in ("trtllm", "vllm", "sglang")
    }

    assert wanted <= set(names("profiles"))


def test_at_a_knot_a_layer_takes_what_was_measured():
    i, j, r = 7, 6, 0
    seconds = shape_s(FP8, FP8.outputs[i], FP8.inputs[j])

    assert seconds[r] == pytest.approx(FP8.us[i][j][r] * 1e-6)


@given(st.floats(64, 2e5), st.floats(64, 1e5), st.floats(1.0, 3.0))
def test_a_larger_matrix_never_takes_less_time(outputs, inputs, factor):
    small, large = shape_s(FP8, outputs, inputs), shape_s(FP8, outputs * factor, inputs * factor)

    assert all(a <= b * (1 + 1e-9) for a, b in zip(small, large, strict=True))


@given(st.integers(1, 40_000), st.integers(1, 5000), st.booleans())
def test_more_rows_never_take_less_time(rows, more, eager):
    curve = rows_curve([(FP8, Product(80, 14336.0, 8192.0, 14336 * 8192.0))], 4.8e12)

    assert curve.seconds(rows, eager) <= curve.seconds(rows + more, eager) * (1 + 1e-12)


def test_a_graph_removes_the_launch_gap_but_never_the_reading_of_the_weights():
    product = Product(1, 10240.0, 8192.0, 10240 * 8192.0)
    curve = rows_curve([(FP8, product)], 4.8e12)

    assert curve.seconds(1, eager=True) - curve.seconds(1, eager=False) == pytest.approx(FP8.launch_gap_us * 1e-6)
    assert rows_curve([(FP8, product)], 1e12).seconds(1, eager=False) == pytest.approx(product.bytes / 1e12)


def test_long_prefills_run_at_the_sustained_rate():
    product = Product(1, 57344.0, 8192.0, 57344 * 8192.0)
    seconds = rows_curve([(FP8, product)], 4.8e12).seconds(8192, eager=True)

    assert 2 * 57344 * 8192 * 8192 / seconds <= FP8.sustained_tflops * 1e12 * (1 + 1e-9)


def test_the_same_heads_are_taken_where_they_were_measured():
    exact = nearest(TRTLLM.decode_attention, Wanted("gqa", "fp8", 32, 8, 128, 0))

    assert (exact.heads, exact.kv_heads) == (32, 8)
    assert build_step_model(deployment(tensor_parallel=4)).calibration.derived == ()


def test_heads_that_nobody_measured_are_scaled_and_said():
    calibration = build_step_model(deployment("qwen2.5-0.5b", "bf16")).calibration

    assert "attention of 14 heads over 2 KV heads of 64: scaled from 16 over 2 of 64" in calibration.derived


def test_a_head_beyond_the_measured_sizes_is_said():
    assert build_step_model(deployment("llama-3.1-8b")).calibration.derived == (
        "bf16 head of 128,256 × 4,096: beyond the measured sizes",
    )


def test_a_sliding_window_is_a_kind_of_its_own():
    found = nearest(TRTLLM.decode_attention, Wanted("gqa", "fp8", 64, 8, 64, 128))

    assert (found.window, found.per_token_us[0]) == (128, 0.0)


def test_nothing_is_extrapolated_within_what_was_measured_and_each_excess_is_named():
    model = build_step_model(deployment(tensor_parallel=4))

    assert model.outside(decode(64)) == ()
    assert model.outside(decode(64, context=10**6)) == ("1,000,000 tokens of context: measured to 131,072",)
    assert len(model.outside(StepShape(0, 0, 0.0, 1, 100_000, 0.0, 0))) == 1


def test_a_weight_format_without_a_table_is_uncalibrated_and_the_rest_is_not():
    calibration = build_step_model(deployment(weights="awq_int4")).calibration

    assert calibration.uncalibrated == ("awq_int4 linear layers",)
    assert calibration.profile == TRTLLM


def test_a_gpu_without_a_profile_runs_on_the_catalog():
    assert build_step_model(deployment(gpu="gb200", policy="vllm")).calibration.profile is None


def test_experts_of_a_split_that_was_not_measured_are_scaled_and_said():
    model = build_step_model(
        deployment("gpt-oss-120b", "mxfp4", "b200-sxm", tensor_parallel=4)
    )  # TensorRT-LLM's MXFP4 kernels were measured without tensor parallelism.
    one = build_step_model(deployment("gpt-oss-120b", "mxfp4", "b200-sxm"))

    assert model.calibration.derived == ("experts split 4 × 1: scaled from 1 × 4",)
    assert model.cost(decode(64)).experts_s < one.cost(decode(64)).experts_s


def test_the_all_reduce_of_three_gpus_is_that_of_four():
    three, four = all_reduce_curves(TRTLLM, 3), all_reduce_curves(TRTLLM, 4)

    assert three == four
    assert all_reduce_curves(TRTLLM, 16) is None


def test_a_drafts_passes_use_the_same_profile():
    speculation = {
        "kind": "drafts",
        "drafts": {"d": {"model": "llama-3.2-1b", "weights": "awq_int4", "acceptance": {"all": {"survival": [0.8]}}}},
        "propose": {"shape": "chain", "draft_tokens": 1},
    }
    spec = Deployment.model_validate(deployment().model_dump(exclude_unset=True) | {"speculation": speculation})

    assert build_step_model(spec).calibration.uncalibrated == ("draft: awq_int4 linear layers",)


def test_causes_add_up_on_measured_curves():
    model = build_step_model(deployment("deepseek-v3", "fp8_block", tensor_parallel=8, expert_parallel=8))
    shape = StepShape(32, 32, 40_000.0, 1, 700, 245_000.0, 0)
    cost = model.cost(shape)

    assert sum(getattr(cost, cause) for cause in CAUSES) == pytest.approx(model.seconds(shape))


def test_the_calibrated_and_the_uncalibrated_model_are_apart_but_not_far():
    spec = deployment(tensor_parallel=4)
    measured, catalog = build_step_model(spec), step_model_with(None, spec)
    ratio = measured.seconds(decode(16)) / catalog.seconds(decode(16))

    assert ratio == pytest.approx(1.0, abs=0.35)
    assert ratio != pytest.approx(1.0, rel=1e-3)


def test_building_and_pricing_are_fast():
    spec = deployment("gpt-oss-120b", "mxfp4", "b200-sxm", "vllm", tensor_parallel=2)
    load_profile("b200-sxm", "vllm")
    start = time.perf_counter()
    model = build_step_model(spec)
    built = time.perf_counter()
    for rows in range(1, 401):
        model.seconds(decode(rows))
    priced = time.perf_counter()

    assert built - start < 0.2
    assert (priced - built) / 400 < 0.001
