"""MagicDec (arXiv:2408.11049): beyond a critical context, speculation with a small draft cache gains more with batch."""

import pytest

from simulator.catalog.load import load_model
from simulator.physics.footprint import parameters
from simulator.physics.kv import kv_law
from simulator.physics.roofline import critical_context_tokens
from tests.simulator.physics.speculating import decode, step_model

TARGET = {"model": "llama-3.1-8b", "weights": "bf16", "kv": "bf16", "tensor_parallel": 4}
WHOLE = {"model": "llama-3.2-1b", "weights": "fp8", "kv": "fp8", "tensor_parallel": 4}
SPLIT = WHOLE | {"window": {"sinks": 4, "recent": 508}}
BATCHES = (1, 4, 16, 64, 256)
TOKENS_PER_STEP = 3.5
LONG, SHORT = 32_000, 1024
FP8 = {"h200-sxm": (1979e12, 4.8e12), "b200-sxm": (4500e12, 7.7e12)}


def gains(draft, context):
    plain, drafting = step_model(target=TARGET), step_model(draft, target=TARGET)
    return [
        TOKENS_PER_STEP * plain.seconds(decode(n, 0, context)) / drafting.seconds(decode(n, 4, context))
        for n in BATCHES
    ]


def test_at_long_contexts_a_drafts_small_cache_gains_more_with_every_batch():
    """Measured: 1.22, 1.38, 1.47 at batch 32, 64, 128, an 8B model at 32 thousand tokens that drafts for itself."""
    found = gains(SPLIT, LONG)

    assert found == sorted(found)
    assert found[-1] > 1.5 * found[0]


@pytest.mark.parametrize("draft", [WHOLE, SPLIT])
def test_at_short_contexts_the_gain_falls_with_the_batch(draft):
    found = gains(draft, SHORT)

    assert found == sorted(found, reverse=True)
    assert found[-1] < 1.0 < found[0]


def test_a_draft_that_keeps_all_its_kv_does_not_follow():
    """Its own reading grows with the target's: the ratio of the two saturates."""
    whole, split = gains(WHOLE, LONG), gains(SPLIT, LONG)

    assert all(a < b for a, b in zip(whole, split, strict=True))
    assert whole[-1] / whole[0] < 0.8 * split[-1] / split[0]


def test_a_window_brings_nothing_at_contexts_as_short_as_itself():
    assert gains(SPLIT, 512) == pytest.approx(gains(WHOLE, 512), rel=1e-6)


@pytest.mark.parametrize("gpu", FP8)
@pytest.mark.parametrize(("name", "gpus"), [("llama-3.1-8b", 1), ("qwen3-32b", 2), ("llama-3.3-70b", 4)])
def test_verification_nears_a_plain_step_above_the_critical_context_and_only_there(name, gpus, gpu):
    """The table of S* for FP8 weights and bf16 KV: 1 to 5 thousand tokens; steps are priced by measured curves."""
    model = load_model(name)
    critical = critical_context_tokens(parameters(model).total, 4, kv_law(model, "bf16").bytes_per_token, *FP8[gpu])
    target = {"model": name, "weights": "fp8", "kv": "bf16", "tensor_parallel": gpus}
    steps = step_model(target=target, gpu=gpu)

    ratio = [
        steps.seconds(decode(256, 4, part * critical)) / steps.seconds(decode(256, 0, part * critical))
        for part in (1 / 8, 1, 8, 32)
    ]

    assert ratio == sorted(ratio, reverse=True)
    assert ratio[0] > 2.0
    assert ratio[2] < 1.35
    assert ratio[3] < 1.1
