"""Where speculation was seen to stop paying, in public threads: the model turns round where people's engines did.

Their GPUs, models and versions are not the catalog's: only the direction is held, at a given accepted length.
"""

import pytest

from tests.simulator.physics.speculating import chain, decode, step_model

EAGLE = {"head": {"method": "eagle"}}
MTP = {"head": {"method": "mtp", "dense": False}}
QWEN_32B = {"model": "qwen2.5-32b", "weights": "bf16", "kv": "bf16"}
R1 = {"model": "deepseek-r1", "weights": "fp8_block", "kv": "fp8", "tensor_parallel": 8}
TINY = "qwen2.5-0.5b"
EAGER = {"cuda_graph_max_tokens": 0}


def speedup(draft, accepted_length, *, target, batch=1, draft_tokens=4, **more):
    """Tokens per second with a draft ÷ without."""
    plain, drafted = (
        step_model(target=target, **more),
        step_model(draft, target=target, propose=chain(draft_tokens), **more),
    )
    return accepted_length * plain.seconds(decode(batch, 0)) / drafted.seconds(decode(batch, draft_tokens))


def test_a_heads_speedup_falls_with_the_targets_tensor_parallelism():
    """SGLang issue 6949, QwQ-32B with EAGLE, batch 1: 1.43 at TP1, 0.97 at TP4."""
    gains = [
        speedup(EAGLE, 2.0, target=QWEN_32B | {"tensor_parallel": tp}, policy="sglang", gpu="h100-sxm")
        for tp in (1, 2, 4)
    ]

    assert gains == sorted(gains, reverse=True)
    assert gains[2] < 0.8 * gains[0]


def test_a_tiny_draft_over_all_of_the_targets_gpus_turns_a_gain_into_none():
    """vLLM PR 4840, OPT-30B with OPT-125M, lookahead 8: 5.63 → 4.62 s at TP1, 2.42 → 6.23 s at TP4."""
    one, four = (
        speedup(
            {"model": TINY, "tensor_parallel": tp},
            3.0,
            target=QWEN_32B | {"tensor_parallel": tp},
            batch=8,
            draft_tokens=8,
            gpu="h100-sxm",
            engine=EAGER,
        )
        for tp in (1, 4)
    )

    assert one > 1.2
    assert four < 1.0


def test_spreading_a_launch_bound_draft_over_gpus_adds_its_all_reduces():
    """The same thread: the draft alone takes 0.35 s at TP1, 1.30 at TP2, 1.39 at TP4."""
    alone = [
        step_model({"model": TINY, "tensor_parallel": tp}, target=QWEN_32B | {"tensor_parallel": tp}, engine=EAGER)
        .cost(decode(8, 4))
        .draft_s
        for tp in (1, 2, 4)
    ]

    assert alone[0] < alone[1] <= alone[2] * 1.05


@pytest.mark.parametrize("batch", [1, 64])
def test_a_draft_with_as_many_layers_as_its_target_never_pays_when_launches_bind(batch):
    """vLLM issue 15025, SmolLM2 1.7B (24 layers) with its 135M (30 layers): slower at every K, most at the largest."""
    target = {"model": "qwen2.5-1.5b", "weights": "bf16", "kv": "bf16"}
    draft = {"model": "smollm2-135m"}
    gains = [
        speedup(draft, 1 + 0.85 * k, target=target, batch=batch, draft_tokens=k, gpu="h100-sxm", engine=EAGER)
        for k in (1, 3, 5)
    ]

    assert max(gains) < 1.0
    assert step_model(draft, target=target, engine=EAGER).draft_ratios(batch, 0.0)[0] < 0.1


def test_one_mtp_token_of_deepseek_r1_pays_less_and_less_with_the_load():
    """vLLM PR 12755, 8 GPUs: 1.63 at one request a second, 1.18 at two, none beyond about eight."""
    few, many = (speedup(MTP, 1.82, target=R1, batch=n, draft_tokens=1, policy="vllm") for n in (1, 256))

    assert few == pytest.approx(1.63, rel=0.1)
    assert many < 0.9 * few
