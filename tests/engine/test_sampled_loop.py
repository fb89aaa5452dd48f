"""The whole loop with sampling, at fixed seeds: what it puts out is distributed as the target alone would have it."""

import ast
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chisquare

import engine
import engine.judging
from engine.batch import Span
from engine.kv_cache import BlockPool, BlockTable
from engine.model import Model
from engine.sampling import Sampling, shaped_probs
from engine.sequence import Request
from engine.verification import Verdict
from tests.engine.toys import ON_ANY_TARGET, TINY, make_drafter, make_engine, outputs, random_prompts, tiny_weights

VOCABULARY, TOKENS, RUNS = 5, 3, 1000
SMALL = replace(TINY, vocab_size=VOCABULARY, num_layers=1)
PROMPT = (0, 3, 1, 3, 1)
SAMPLINGS = [Sampling(1.0), Sampling(0.7, top_k=3), Sampling(1.3, top_p=0.8)]


@pytest.fixture(scope="module")
def weights():
    return tiny_weights(SMALL, sharpness=2.0)


def next_probs(model, tokens, sampling):
    pool, table = BlockPool(8, 4), BlockTable()
    pool.extend(table, len(tokens))
    store = model.new_store(8, 4)
    return shaped_probs(model.forward(model.batch([Span(tokens, 0, table, 1)], store), store), sampling)[0]


def exact_law(weights, sampling):
    """Chance of every output of TOKENS tokens, from the target alone."""
    model = Model(weights)
    behind = {
        p: next_probs(model, PROMPT + p, sampling).tolist()
        for n in range(TOKENS)
        for p in product(range(VOCABULARY), repeat=n)
    }
    return {
        path: float(np.prod([behind[path[:i]][t] for i, t in enumerate(path)]))
        for path in product(range(VOCABULARY), repeat=TOKENS)
    }


def chi_square_p(found, law):
    """Chance of so bad a fit if the law is right; outcomes expected fewer than five times are put together."""
    counts = dict.fromkeys(law, 0)
    for output in found:
        counts[tuple(output)] += 1
    usual = [path for path, chance in law.items() if chance * len(found) >= 5]
    observed = [counts[path] for path in usual]
    expected = [law[path] * len(found) for path in usual]
    rest = len(found) - sum(observed), len(found) - sum(expected)
    if rest[1] < 1e-6:
        assert rest[0] == 0
        return float(chisquare(observed, np.array(expected) * sum(observed) / sum(expected)).pvalue)
    return float(chisquare([*observed, rest[0]], [*expected, rest[1]]).pvalue)


def sampled(weights, draft, sampling, seed=5, runs=RUNS, epsilon=0.3):
    if draft is not None:
        draft = make_drafter(draft, weights, blocks=256, draft=tiny_weights(SMALL, seed=9), epsilon=epsilon)
    engine = make_engine(weights, draft=draft, draft_tokens=2, blocks=256, max_num_seqs=64, seed=seed,
                         max_num_batched_tokens=256)  # fmt: skip
    return outputs(engine, [PROMPT] * runs, TOKENS, sampling=sampling)


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=["all", "top_k", "top_p"])
@pytest.mark.parametrize("draft", [None, *ON_ANY_TARGET])
def test_outputs_follow_the_targets_law(weights, draft, sampling):
    assert chi_square_p(sampled(weights, draft, sampling), exact_law(weights, sampling)) > 1e-3


def without_bonus(verify):
    """Where all draft tokens were kept, the last stands in for the bonus token."""

    def wrong(target_probs, draft_probs, draft_tokens, *more):
        verdict = verify(target_probs, draft_probs, draft_tokens, *more)
        forgot = draft_tokens and verdict.accepted == len(draft_tokens)
        return Verdict(verdict.nodes[:-1], draft_tokens[-1]) if forgot else verdict

    return wrong


def residual_is_target(verify):
    def wrong(target_probs, draft_probs, draft_tokens, uniforms, *more):
        verdict = verify(target_probs, draft_probs, draft_tokens, uniforms, *more)
        behind = target_probs[verdict.accepted].cumsum(0)
        return Verdict(verdict.nodes, int((behind <= float(uniforms[-1])).sum()))

    return wrong


def test_a_wrong_residual_is_seen(weights, monkeypatch):
    monkeypatch.setattr(engine.judging, "verify_sampled", residual_is_target(engine.judging.verify_sampled))

    assert chi_square_p(sampled(weights, "model", SAMPLINGS[0]), exact_law(weights, SAMPLINGS[0])) < 1e-6


def test_a_forgotten_bonus_token_is_seen_in_the_count(weights, monkeypatch):
    """The law alone would not show it: a step that drops its bonus token is lossless, and slower."""
    right = tokens_per_step(make_engine(weights, draft="noisy_target", draft_tokens=2, epsilon=0.0))
    monkeypatch.setattr(engine.judging, "verify_sampled", without_bonus(engine.judging.verify_sampled))

    wrong = tokens_per_step(make_engine(weights, draft="noisy_target", draft_tokens=2, epsilon=0.0))

    assert (right, wrong) == (3.0, 2.0)


def tokens_per_step(an_engine):
    sequence = an_engine.submit(Request(PROMPT, 61, Sampling(1.0)))
    list(an_engine.run())
    return sequence.committed_tokens / sequence.steps


class Reseeded:
    """A generator that starts again with every call, as one that is seeded inside the loop does."""

    def random(self, size=None):
        return np.random.default_rng(11).random(size)

    def spawn(self, count):
        return [self] * count


def test_a_reseeded_generator_is_seen(weights):
    engine = make_engine(weights, draft="noisy_target", draft_tokens=2, epsilon=0.3)
    engine.rng = Reseeded()

    found = outputs(engine, [PROMPT] * 200, TOKENS, sampling=SAMPLINGS[0])

    assert chi_square_p(found, exact_law(weights, SAMPLINGS[0])) < 1e-6


def test_no_module_of_the_engine_seeds_a_generator_outside_what_a_user_starts():
    seeding = {"seed", "manual_seed", "set_rng_state", "default_rng", "RandomState"}
    root = Path(engine.__file__).parent
    found = {
        f"{file.relative_to(root)}: {node.attr}"
        for file in root.rglob("*.py")
        if not {"commands", "training"} & set(file.parts)
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in seeding
    }

    assert found == set()


@pytest.mark.parametrize("draft", ON_ANY_TARGET)
def test_batched_is_single_when_sampled_too(draft):
    weights, prompts = tiny_weights(), random_prompts(24)

    together = make_engine(weights, draft=draft, max_num_seqs=8, blocks=256)
    alone = make_engine(weights, draft=draft, max_num_seqs=1, blocks=256)

    assert outputs(together, prompts, sampling=Sampling(1.0)) == outputs(alone, prompts, sampling=Sampling(1.0))


def test_the_same_seed_gives_the_same_output_and_another_does_not():
    weights, prompts = tiny_weights(), random_prompts(10)
    first, again, other = (
        outputs(make_engine(weights, draft="model", seed=s), prompts, sampling=Sampling(1.0)) for s in (1, 1, 2)
    )

    assert first == again
    assert first != other


def test_sampled_and_greedy_requests_share_a_batch():
    weights, prompts = tiny_weights(), random_prompts(20)
    greedy = outputs(make_engine(weights), prompts)
    mixed = make_engine(weights, draft="noisy_target")

    sequences = [mixed.submit(Request(p, 16, Sampling(1.0) if i % 2 else Sampling())) for i, p in enumerate(prompts)]
    list(mixed.run())

    assert [s.output for s in sequences[::2]] == greedy[::2]
