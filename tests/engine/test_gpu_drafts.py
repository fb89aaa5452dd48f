"""Every drafter that computes, on a CUDA device: greedy output is the plain engine's there."""

import multiprocessing

import pytest
import torch

from engine.drafters.asynchronous import AsynchronousDraft
from engine.drafters.away import Away
from engine.trees import tree_of_widths
from engine.weights import converted
from engine.window import Window
from tests.engine.toys import MIXTURE, TINY, make_drafter, make_engine, outputs, random_prompts, tiny_weights

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]
PROMPTS = random_prompts(12)


def on_gpu(architecture):
    return converted(tiny_weights(architecture), torch.float64, "cuda")


def drafted(weights, name, *, draft_tokens=3, **more):
    sizes = {"blocks": 256, "block_tokens": 4}
    own = {"draft": weights} if name == "model" else {}
    drafter = make_drafter(name, weights, **sizes, **own, **more)
    engine = make_engine(weights, draft=drafter, draft_tokens=draft_tokens, max_num_batched_tokens=256, **sizes)
    found = outputs(engine, PROMPTS)
    if isinstance(drafter, AsynchronousDraft):
        drafter.close()
    return found


@pytest.mark.parametrize("architecture", [TINY, MIXTURE], ids=["llama", "mixture"])
@pytest.mark.parametrize(("name", "more"), [
    ("noisy_target", {}),
    ("noisy_target", {"shape": tree_of_widths([2, 1, 1])}),
    ("noisy_target", {"kv": "int8"}),
    ("noisy_target", {"kv": "fp8", "window": Window(2, 6)}),
    ("head", {}),
    ("head", {"shape": tree_of_widths([2, 2])}),
    ("head", {"kv": "fp8"}),
])  # fmt: skip
def test_a_draft_leaves_the_plain_output(architecture, name, more):
    weights = on_gpu(architecture)
    nodes = 6 if "shape" in more else 3

    assert drafted(weights, name, draft_tokens=nodes, **more) == outputs(make_engine(weights, blocks=256), PROMPTS)


@pytest.mark.parametrize("shares_kv", [True, False])
def test_a_subset_of_experts_leaves_the_plain_output(shares_kv):
    weights = on_gpu(MIXTURE)
    chosen = {"resident_experts": 3, "active_experts": 1, "usage_tokens": (1, 2, 3, 4), "shares_kv": shares_kv}

    assert drafted(weights, "moe_subset", **chosen) == outputs(make_engine(weights, blocks=256), PROMPTS)


@pytest.mark.slow
@pytest.mark.parametrize("payload", ["ids", "probs"])
@pytest.mark.parametrize("device", [None, "cpu"])
def test_a_process_of_its_own_leaves_the_plain_output(payload, device):
    weights = on_gpu(TINY)

    found = drafted(weights, "model", away=Away(payload, device=device))

    assert found == outputs(make_engine(weights, blocks=256), PROMPTS)
    assert multiprocessing.active_children() == []
