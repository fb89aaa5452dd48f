"""The step model: affine in the context, monotone in everything, the same number by cause and in one sum."""

from dataclasses import asdict

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from simulator.physics.step import CAUSES, StepShape
from simulator.physics.step_model import build_step_model, step_model_with
from simulator.spec.deployment import Deployment

DRAFT = {
    "kind": "drafts",
    "drafts": {"d": {"model": "llama-3.2-1b", "acceptance": {"all": {"survival": [0.8, 0.6]}}}},
    "propose": {"shape": "chain", "draft_tokens": 2},
}
TARGET = {"model": "llama-3.3-70b", "weights": "fp8", "kv": "fp8", "tensor_parallel": 2}
V3 = {"model": "deepseek-v3", "weights": "fp8_block", "tensor_parallel": 8}
SPREAD_V3 = V3 | {"tensor_parallel": 2, "data_parallel": 4, "expert_parallel": 8}


def deployment(target=TARGET, gpu="h200-sxm", speculation=None, **engine):
    return Deployment.model_validate(
        {
            "gpu": gpu,
            "replicas": 1,
            "price": 3.0,
            "target": target,
            "engine": {"policy": "vllm"} | engine,
            "speculation": speculation or {"kind": "none"},
        }
    )


def step_model(target=TARGET, gpu="h200-sxm", speculation=None, **engine):
    return build_step_model(deployment(target, gpu, speculation, **engine))


def uncalibrated(target=TARGET, gpu="h200-sxm", **engine):
    return step_model_with(None, deployment(target, gpu, **engine))


def decode(sequences, k=0, context=1024):
    return StepShape(sequences, sequences * (k + 1), float(sequences * context), 0, 0, 0.0, k)


def prefill(tokens, prompts=1, attended=0.0):
    return StepShape(0, 0, 0.0, prompts, tokens, attended, 0)


MIXED = StepShape(32, 96, 32 * 2000.0, 2, 700, 700 * 300.0, 2)
MODELS = {
    "dense": step_model(),
    "dense with a draft": step_model(speculation=DRAFT),
    "abstract": step_model(
        speculation=DRAFT
        | {
            "drafts": {
                "d": {
                    "abstract": {
                        "flops_ratio": 0.1, "latency_ratio": 0.2, "weights_gb": 1.0, "kv_bytes_per_token": 1000,
                    },
                    "acceptance": {"all": {"survival": [0.8, 0.6]}},
                }
            }
        }
    ),
    "small graphs on B200": step_model(gpu="b200-sxm", cuda_graph_max_tokens=16),
    "MLA and experts": step_model(V3),
    "data-parallel attention": step_model(SPREAD_V3, policy="trtllm"),
    "sliding windows": step_model({"model": "gpt-oss-120b", "weights": "mxfp4"}, "b200-sxm"),
    "two nodes": step_model(TARGET | {"tensor_parallel": 16}),
    "catalog only": uncalibrated(V3),
    "linear attention": step_model({"model": "qwen3-next-80b-a3b", "weights": "bf16", "tensor_parallel": 4}),
}  # fmt: skip
models = st.sampled_from(sorted(MODELS)).map(MODELS.__getitem__)
shapes = st.builds(
    StepShape,
    sequences=st.integers(0, 600),
    verify_tokens=st.integers(0, 3000),
    context_tokens=st.floats(0, 1e7),
    prefill_sequences=st.integers(0, 40),
    prefill_tokens=st.integers(0, 9000),
    prefill_context_tokens=st.floats(0, 1e9),
    draft_tokens=st.integers(0, 8),
)
TPOT_MS = {(2, 4): 13.9, (4, 4): 9.85, (8, 4): 7.93}
"""vLLM 0.10.2, Llama-3.1-70B FP8 on H200, 1k/1k, closed loop of 4 (shared/measured/serving.csv): prefills included."""


@given(models, shapes)
def test_the_sum_of_the_causes_is_the_fast_figure(model, shape):
    assert model.seconds(shape) == pytest.approx(model.cost(shape).total_s, rel=1e-12, abs=1e-18)


@given(models, shapes)
def test_no_cause_is_negative(model, shape):
    assert all(getattr(model.cost(shape), cause) >= 0.0 for cause in CAUSES)


@given(models, shapes, st.sampled_from([f for f in StepShape._fields if f != "sequences"]), st.integers(1, 2000))
def test_more_of_anything_never_takes_less_time(model, shape, field, more):
    """But the same tokens in more prompts, which data-parallel ranks share."""
    assume(field != "prefill_sequences" or model is not MODELS["data-parallel attention"])
    grown = shape._replace(**{field: getattr(shape, field) + more})

    assert model.seconds(grown) >= model.seconds(shape) * (1 - 1e-12)


@given(models, shapes, st.integers(1, 200))
def test_more_sequences_with_their_context_never_take_less_time(model, shape, more):
    context = shape.context_tokens / shape.sequences if shape.sequences else 1000.0
    grown = shape._replace(sequences=shape.sequences + more, context_tokens=(shape.sequences + more) * context)
    before = shape if shape.sequences else shape._replace(context_tokens=0.0)

    assert model.seconds(grown) >= model.seconds(before) * (1 - 1e-9)


@given(models, shapes, st.sampled_from(["context_tokens", "prefill_context_tokens"]), st.floats(1, 1e8))
def test_the_time_is_affine_in_both_contexts(model, shape, field, step):
    at = [model.seconds(shape._replace(**{field: x})) for x in (0.0, step, 2 * step)]

    assert at[2] - at[1] == pytest.approx(at[1] - at[0], rel=1e-6, abs=1e-12)


@given(models, st.integers(1, 600), st.integers(0, 8), st.floats(1, 1e7))
def test_a_decode_step_is_a_constant_and_a_slope(model, sequences, k, context):
    constant, slope = model.decode_affine(sequences, k)
    shape = StepShape(sequences, sequences * (k + 1), context, 0, 0, 0.0, k)

    assert constant + slope * context == pytest.approx(model.seconds(shape), rel=1e-12)


def test_the_affine_law_is_of_the_deployments_own_draft_tokens():
    model = MODELS["dense with a draft"]

    assert model.decode_affine(8) == model.decode_affine(8, 2)
    assert MODELS["dense"].decode_affine(8) == MODELS["dense"].decode_affine(8, 0)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_nothing_to_compute_takes_no_time(name):
    assert MODELS[name].seconds(StepShape(0, 0, 0.0, 0, 0, 0.0, 0)) == 0.0


@pytest.mark.parametrize(("key", "measured_ms"), TPOT_MS.items())
def test_a_step_of_llama_70b_lies_near_what_was_measured(key, measured_ms):
    tensor_parallel, batch = key
    seconds = step_model(TARGET | {"tensor_parallel": tensor_parallel}).seconds(decode(batch, context=1300))

    assert seconds * 1e3 == pytest.approx(measured_ms, rel=0.15)


def test_b200_decodes_llama_70b_little_faster_than_h200_and_prefills_twice_as_fast():
    one_gpu = TARGET | {"tensor_parallel": 1}
    hopper, blackwell = (step_model(one_gpu, gpu) for gpu in ("h200-sxm", "b200-sxm"))

    assert hopper.seconds(decode(16)) / blackwell.seconds(decode(16)) == pytest.approx(1.36, abs=0.1)
    assert hopper.seconds(prefill(4096)) / blackwell.seconds(prefill(4096)) == pytest.approx(1.96, rel=0.1)


def test_at_8192_rows_b200_loses_some_of_that_as_its_own_products_do():
    """The GEMM tables: 8192 × 8192 weights at 8,192 rows run 1.66 times as fast on B200, at 4,096 rows 1.98 times."""
    one_gpu = TARGET | {"tensor_parallel": 1}
    hopper, blackwell = (step_model(one_gpu, gpu) for gpu in ("h200-sxm", "b200-sxm"))

    assert hopper.seconds(prefill(8192)) / blackwell.seconds(prefill(8192)) == pytest.approx(1.74, rel=0.05)


def test_verification_is_nearly_free_up_to_64_rows_and_costs_from_256():
    model = step_model()
    plain = model.cost(decode(16)).linear_s

    assert model.cost(decode(16, k=3)).linear_s < 1.15 * plain
    assert model.cost(decode(64, k=3)).linear_s > 1.4 * plain


def test_verification_of_a_long_context_costs_more_attention_with_mla_than_with_gqa():
    target = V3 | {"tensor_parallel": 1, "data_parallel": 8, "expert_parallel": 8}
    mla, gqa = step_model(target, policy="trtllm"), step_model()
    growth = [
        model.cost(decode(128, 3, 32768)).attention_s / model.cost(decode(128, 0, 32768)).attention_s
        for model in (mla, gqa)
    ]

    assert growth[0] > 2.5
    assert growth[1] == pytest.approx(1.0)


def test_verification_touches_more_experts():
    model = MODELS["MLA and experts"]

    assert model.cost(decode(4, k=3)).experts_s > 1.7 * model.cost(decode(4)).experts_s


CHANGES = {
    "weights": ({"target": TARGET | {"weights": "bf16"}}, "linear_s"),
    "int4 weights": ({"target": TARGET | {"weights": "awq_int4"}}, "linear_s"),
    "unquantised attention": ({"target": TARGET | {"unquantised": ["attention"]}}, "linear_s"),
    "kv": ({"target": TARGET | {"kv": "bf16"}}, "attention_s"),
    "tensor parallelism": ({"target": TARGET | {"tensor_parallel": 4}}, "collectives_s"),
    "data parallelism": ({"target": TARGET | {"data_parallel": 2}}, "attention_s"),
    "gpu": ({"gpu": "b200-sxm"}, "linear_s"),
    "policy": ({"policy": "trtllm"}, "overhead_s"),
    "graphs": ({"cuda_graph_max_tokens": 16}, "collectives_s"),
    "model": ({"target": TARGET | {"model": "qwen2.5-72b"}}, "sampling_s"),
}


@pytest.mark.parametrize("name", sorted(CHANGES))
def test_every_choice_moves_the_cost(name):
    choice, cause = CHANGES[name]
    shape = decode(64, context=2000)
    before, after = step_model().cost(shape), step_model(**choice).cost(shape)

    assert getattr(after, cause) != pytest.approx(getattr(before, cause), rel=1e-3)


def test_expert_parallelism_moves_the_experts():
    slices, whole = (step_model(V3 | {"expert_parallel": ep}).cost(decode(64)).experts_s for ep in (1, 8))

    assert slices != pytest.approx(whole, rel=1e-3)


def test_the_bf16_ends_of_a_checkpoint_cost_time_in_dense_and_in_moe_models():
    for target in (TARGET, V3):
        plain, ends = (
            step_model(target | {"unquantised": parts}).seconds(decode(16)) for parts in ([], ["first_and_last_mlp"])
        )

        assert ends > plain


def test_a_step_above_the_captured_sizes_waits_for_launches():
    small = TARGET | {"model": "llama-3.2-1b", "tensor_parallel": 1}
    graph, eager = (step_model(small, cuda_graph_max_tokens=n).cost(decode(32)).overhead_s for n in (32, 31))

    assert eager > 1.5 * graph


def test_launches_hide_behind_long_kernels():
    graph, eager = (step_model(cuda_graph_max_tokens=n).cost(prefill(8192)).overhead_s for n in (8192, 0))

    assert eager == graph


BOUNDS = [
    ("dense", decode(1), "weight_bandwidth"),
    ("dense", decode(512, k=3), "compute"),
    ("dense", decode(64, context=60_000), "kv_bandwidth"),
    ("dense", prefill(8192), "prefill_compute"),
    ("dense", prefill(512, attended=512 * 1e6), "prefill_compute"),
    ("two nodes", decode(64), "collectives"),
    ("dense with a draft", StepShape(1, 9, 1024.0, 0, 0, 0.0, 30), "draft"),
    ("sliding windows", StepShape(0, 0, 0.0, 0, 0, 0.0, 0), "weight_bandwidth"),
]


@pytest.mark.parametrize(("name", "shape", "bound"), BOUNDS)
def test_a_step_names_what_binds_it(name, shape, bound):
    model = MODELS[name]

    assert model.bound_by(model.cost(shape), shape) == bound


def test_a_tiny_model_is_bound_by_its_host():
    model = uncalibrated({"model": "qwen2.5-0.5b", "weights": "bf16"})

    assert model.bound_by(model.cost(decode(1)), decode(1)) == "host"


def test_mla_verification_over_a_long_context_is_bound_by_compute():
    model = step_model(V3 | {"tensor_parallel": 1, "data_parallel": 8, "expert_parallel": 8})

    assert model.bound_by(model.cost(decode(64, 3, 60_000)), decode(64, 3, 60_000)) == "compute"


def test_a_mixed_step_is_finite_in_every_model():
    assert all(0.0 < model.seconds(MIXED) < 10.0 for model in MODELS.values())


def test_the_causes_are_those_of_the_seam():
    assert tuple(asdict(MODELS["dense"].cost(MIXED))) == CAUSES
