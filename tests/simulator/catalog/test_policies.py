"""Engines, weight formats, prices and acceptance curves."""

import pytest

from simulator.catalog import load
from simulator.errors import CatalogError
from simulator.physics.formats import compute_dtype, peak_flop_per_s

GIB = 2**30
GPUS = {name for name in load.names("gpus") if load.load_gpu(name).architecture != "cpu"}


@pytest.mark.parametrize(
    ("case", "vocabulary", "peak_gib"),
    [
        ("C01", 201_088, 7.38),
        ("C03", 128_256, 4.84),
        ("C04", 128_256, 4.76),
        ("C05", 151_936, 5.56),
        ("C06", 151_936, 5.64),
    ],
)
def test_vllm_reserves_the_measured_activation_peak(case: str, vocabulary: int, peak_gib: float) -> None:
    rule = load.load_engine("vllm").memory

    peak = rule.activation_bytes_per_vocab_entry * vocabulary / GIB

    assert peak == pytest.approx(peak_gib, abs=0.15), case


def test_sglang_leaves_what_its_own_rule_leaves() -> None:
    rule = load.load_engine("sglang").memory
    chunk, decode_batch, num_gpus = 8192, 256, 8

    reserved_mib = 512 + 1.5 * max(chunk, 2048) + 128 * num_gpus + 2 * decode_batch

    assert rule.memory_fraction == 1.0
    assert rule.fixed_gib + rule.non_torch_gib["several_gpus"] == pytest.approx(reserved_mib / 1024)


@pytest.mark.parametrize("name", load.names("engines"))
def test_an_engine_takes_its_linear_layers_from_one_that_was_measured(name: str) -> None:
    engine = load.load_engine(name)

    assert all(engine.linear_from in load.load_gpu(gpu).linear for gpu in GPUS)


@pytest.mark.parametrize(
    ("name", "bits"),
    [("bf16", 16.0), ("fp8", 8.0), ("awq_int4", 4.15625), ("mxfp4", 4.25), ("nvfp4", 4.5)],
)
def test_bits_include_scales(name: str, bits: float) -> None:
    assert load.load_quantisation(name).bits_per_weight == bits


@pytest.mark.parametrize("name", sorted({*load.names("quantisation")} - {"fp32"}))
@pytest.mark.parametrize("gpu", sorted(GPUS))
def test_a_format_computes_in_a_dtype_that_the_gpu_has(name: str, gpu: str) -> None:
    compute = load.load_quantisation(name).compute
    card = load.load_gpu(gpu)

    dtype = compute.get(card.architecture, compute.get("default"))

    assert dtype in card.compute.tflops or (name == "int8" and card.architecture == "blackwell_ultra")


def test_fp32_is_refused_where_a_gpu_states_no_rate_for_it() -> None:
    with pytest.raises(CatalogError, match="h200-sxm has no fp32 tensor cores; it has: bf16, fp8"):
        peak_flop_per_s(
            load.load_gpu("h200-sxm"), compute_dtype(load.load_gpu("h200-sxm"), load.load_quantisation("fp32"))
        )


def test_only_gpt_oss_style_weights_leave_all_but_experts_alone() -> None:
    assert [n for n in load.names("quantisation") if load.load_quantisation(n).experts_only] == ["mxfp4"]


@pytest.mark.parametrize("name", load.names("prices"))
def test_a_price_list_has_one_dated_price_a_gpu(name: str) -> None:
    prices = load.load_price_list(name).prices

    listed = [price.gpu for price in prices]

    assert len(listed) == len(set(listed)) > 0
    assert set(listed) <= GPUS
    assert all(price.as_of.startswith("202") and 0.5 < price.usd_per_gpu_hour < 50 for price in prices)


@pytest.mark.parametrize(
    ("name", "gpu", "usd"),
    [
        ("nebius-on-demand", "h200-sxm", 3.5),
        ("nebius-on-demand", "b200-sxm", 5.5),
        ("nebius-spot", "b200-sxm", 2.9),
        ("lambda-on-demand", "h100-sxm", 3.99),
        ("aws-on-demand", "b300-sxm", 17.802),
        ("semianalysis-neocloud", "h200-sxm", 1.74),
    ],
)
def test_prices_are_those_listed(name: str, gpu: str, usd: float) -> None:
    prices = {price.gpu: price.usd_per_gpu_hour for price in load.load_price_list(name).prices}

    assert prices[gpu] == usd


CURVES = [name for name in load.names("acceptance") if load.load_acceptance(name).tokens_per_step]


@pytest.mark.parametrize("name", sorted(set(load.names("acceptance")) - set(CURVES)))
def test_a_measured_histogram_counts_the_same_steps_as_what_was_drafted(name: str) -> None:
    preset = load.load_acceptance(name)

    assert sum((preset.histogram or {}).values()) == sum((preset.drafted or {}).values()) > 100


@pytest.mark.parametrize("name", CURVES)
def test_a_curve_stays_within_what_its_drafts_can_bring(name: str) -> None:
    curve = load.load_acceptance(name).tokens_per_step or {}

    assert set(curve) <= set(range(1, 9))
    assert list(curve) == sorted(curve)
    assert all(1.0 < length <= k + 1 for k, length in curve.items())


@pytest.mark.parametrize(
    ("name", "draft_tokens", "length"),
    [
        ("deepseek-v4-pro-mtp-thinking-on", 3, 2.49),
        ("glm-5.2-fp8-mtp-thinking-on", 8, 4.06),
        ("kimi-k2.5-nvfp4-eagle3-thinking-off", 5, 3.25),
        ("kimi-k3-dspark-thinking-on", 1, 1.84),
        ("kimi-k3-dspark-block-rejection-thinking-on", 1, 1.85),
        ("llama-3.1-8b-eagle3-humaneval", 5, 4.318),
        ("llama-3.1-8b-ngram-sharegpt", 5, 1.451),
        ("minimax-m3-eagle3-gqa-thinking-off", 5, 3.72),
        ("qwen3.5-397b-a17b-nvfp4-mtp-thinking-on", 8, 5.21),
    ],
)
def test_curves_hold_the_golden_values(name: str, draft_tokens: int, length: float) -> None:
    assert (load.load_acceptance(name).tokens_per_step or {})[draft_tokens] == length
