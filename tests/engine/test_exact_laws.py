"""A whole step of the engine behind each draft that computes: its law, draws included, is the target's own, exactly."""

from dataclasses import replace
from itertools import product

import pytest

from engine import judging, verification
from engine.drafters import ahead, model_draft, tree_draft
from engine.model import Model
from engine.sampling import Sampling
from engine.sequence import Request
from engine.trees import tree_of_widths
from engine.verification import verify_sampled
from engine.window import Window
from tests.engine.explored import Uniforms, explored, picking
from tests.engine.reference import plain_logits
from tests.engine.test_asynchronous import here
from tests.engine.test_verification import TOLERANCE, law_error
from tests.engine.toys import MIXTURE, TINY, make_drafter, make_engine, tiny_weights

VOCABULARY, DEPTH, PROMPT = 3, 2, (0, 2, 1)
SUBSET = {"resident_experts": 2, "active_experts": 1}
DRAFTS = {
    "model": ("noisy_target", {}),
    "int8": ("noisy_target", {"kv": "int8"}),
    "fp8, window": ("noisy_target", {"kv": "fp8", "window": Window(1, 1)}),
    "head": ("head", {}),
    "head, tree": ("head", {"shape": tree_of_widths([2])}),
    "experts": ("moe_subset", SUBSET),
    "experts, own cache": ("moe_subset", SUBSET | {"shares_kv": False}),
}


def always_zero(probs, uniforms):
    return [0]


def committed(model, new_drafter, choose, monkeypatch):
    """Tokens that the first verify step commits, behind the prompt and a zero."""
    with monkeypatch.context() as patch:
        for module in (verification, model_draft, tree_draft, ahead):
            patch.setattr(module, "pick", picking(choose))
        patch.setattr(judging, "pick", always_zero)
        patch.setattr(
            judging, "verify_sampled", lambda p, q, t, _, *tree: verify_sampled(p, q, t, Uniforms(choose), *tree)
        )
        drafter, nodes = new_drafter()
        engine = make_engine(None, model=model, draft=drafter, draft_tokens=nodes, blocks=16)
        sequence = engine.submit(Request(PROMPT, 20, Sampling(1.0)))
        engine.step()
        engine.step()
    return tuple(sequence.output[1:])


def law_of(weights, new_drafter, monkeypatch):
    law, model = {}, Model(weights)
    for chance, tokens in explored(lambda choose: committed(model, new_drafter, choose, monkeypatch)):
        law[tokens] = law.get(tokens, 0.0) + chance
    return law


def targets_law(weights):
    """By path, the target's distribution behind it."""
    paths = [path for length in range(DEPTH + 1) for path in product(range(VOCABULARY), repeat=length)]
    return {path: plain_logits(weights, [*PROMPT, 0, *path])[-1].softmax(-1) for path in paths}


def toy(architecture=TINY):
    return tiny_weights(replace(architecture, vocab_size=VOCABULARY, num_layers=1), sharpness=1.5)


@pytest.mark.parametrize("name", DRAFTS)
def test_a_step_commits_by_the_targets_law(name, monkeypatch):
    method, more = DRAFTS[name]
    weights = toy(MIXTURE if method == "moe_subset" else TINY)
    law = law_of(weights, lambda: (make_drafter(method, weights, blocks=16, epsilon=0.4, **more), DEPTH), monkeypatch)

    assert abs(sum(law.values()) - 1.0) < TOLERANCE
    assert law_error(law, targets_law(weights), VOCABULARY, DEPTH) < TOLERANCE


@pytest.mark.parametrize("payload", ["ids", "probs"])
def test_what_is_drafted_elsewhere_commits_by_the_targets_law(payload, monkeypatch):
    weights = toy()

    law = law_of(weights, lambda: (here(weights, ahead=1, payload=payload, epsilon=0.4), DEPTH), monkeypatch)

    assert law_error(law, targets_law(weights), VOCABULARY, DEPTH) < TOLERANCE
