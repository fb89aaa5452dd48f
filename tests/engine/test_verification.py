"""Verification is lossless: the law of what is committed, by enumeration, is the target's own."""

from itertools import product

import numpy as np
import pytest
import torch

from engine import verification
from engine.verification import acceptance_probability, residual_probs, verify_greedy, verify_sampled

TOLERANCE = 1e-9


def tables(vocabulary, draft_tokens, rng, peaked=1.0):
    """Probabilities behind every prefix of up to K tokens: prefix -> [vocabulary]."""
    prefixes = [p for n in range(draft_tokens + 1) for p in product(range(vocabulary), repeat=n)]
    return {p: torch.from_numpy(rng.dirichlet(np.full(vocabulary, 1.0 / peaked))) for p in prefixes}


def committed_law(target, draft, vocabulary, draft_tokens):
    """Chance of each (committed tokens) of one step, over drafts drawn from the draft's own law."""
    law = {}
    for drafted in product(range(vocabulary), repeat=draft_tokens):
        chance = np.prod([float(draft[drafted[:i]][t]) for i, t in enumerate(drafted)])
        if chance == 0.0:
            continue
        target_rows = torch.stack([target[drafted[:i]] for i in range(draft_tokens + 1)])
        draft_rows = torch.stack([draft[drafted[:i]] for i in range(draft_tokens)])
        keep = verification.acceptance_probability(target_rows[:-1], draft_rows, torch.tensor(drafted)).tolist()
        for accepted in range(draft_tokens + 1):
            behind = target_rows[accepted]
            if accepted < draft_tokens:
                behind = verification.residual_probs(behind, draft_rows[accepted], drafted[accepted])
            arrive = np.prod(keep[:accepted]) * (1.0 - keep[accepted] if accepted < draft_tokens else 1.0)
            for token, probability in enumerate(behind.tolist()):
                path = (*drafted[:accepted], token)
                law[path] = law.get(path, 0.0) + chance * arrive * probability
    return law


def law_error(law, target, vocabulary, draft_tokens):
    """Largest error of the law of the next K + 1 tokens, when the target itself goes on behind what was committed."""
    worst = 0.0
    for path in product(range(vocabulary), repeat=draft_tokens + 1):
        wanted = np.prod([float(target[path[:i]][t]) for i, t in enumerate(path)])
        found = 0.0
        for length in range(1, draft_tokens + 2):
            rest = np.prod([float(target[path[:i]][path[i]]) for i in range(length, draft_tokens + 1)])
            found += law.get(path[:length], 0.0) * rest
        worst = max(worst, abs(found - wanted))
    return worst


CASES = [(5, 1, 1.0), (5, 2, 3.0), (5, 3, 1.0), (8, 2, 1.0), (8, 2, 10.0), (12, 1, 5.0), (12, 2, 1.0)]


@pytest.mark.parametrize(("vocabulary", "draft_tokens", "peaked"), CASES)
def test_the_committed_law_is_the_targets(vocabulary, draft_tokens, peaked):
    rng = np.random.default_rng(vocabulary * 100 + draft_tokens)
    target, draft = (tables(vocabulary, draft_tokens, rng, peaked) for _ in range(2))

    law = committed_law(target, draft, vocabulary, draft_tokens)

    assert abs(sum(law.values()) - 1.0) < TOLERANCE
    assert law_error(law, target, vocabulary, draft_tokens) < TOLERANCE


@pytest.mark.parametrize("vocabulary", [5, 12])
def test_a_certain_draft_is_a_one_hot_one(vocabulary):
    rng = np.random.default_rng(1)
    target = torch.from_numpy(rng.dirichlet(np.ones(vocabulary), 2))
    for token in range(vocabulary):
        one_hot = torch.nn.functional.one_hot(torch.tensor([token]), vocabulary).to(torch.float64)
        drafted = torch.tensor([token])

        keep = acceptance_probability(target[:1], None, drafted)

        assert torch.equal(keep, acceptance_probability(target[:1], one_hot, drafted))
        assert torch.allclose(residual_probs(target[0], None, token), residual_probs(target[0], one_hot[0], token))
        law = (1.0 - keep) * residual_probs(target[0], None, token)
        law[token] += keep[0]
        assert (law - target[0]).abs().max() < TOLERANCE


def target_again(target_probs, draft_probs, draft_token):
    return target_probs


def unclamped(target_probs, draft_probs, draft_token):
    rest = (target_probs - draft_probs).abs()
    return rest / rest.sum()


@pytest.mark.parametrize("wrong", [target_again, unclamped])
def test_a_wrong_residual_is_seen(monkeypatch, wrong):
    rng = np.random.default_rng(0)
    target, draft = tables(5, 2, rng), tables(5, 2, rng)
    monkeypatch.setattr(verification, "residual_probs", wrong)

    law = committed_law(target, draft, 5, 2)

    assert law_error(law, target, 5, 2) > 1e-3


def test_a_wrong_acceptance_is_seen(monkeypatch):
    rng = np.random.default_rng(0)
    target, draft = tables(5, 2, rng), tables(5, 2, rng)
    monkeypatch.setattr(verification, "acceptance_probability", lambda t, d, x: torch.full((2,), 0.7))

    assert law_error(committed_law(target, draft, 5, 2), target, 5, 2) > 1e-3


@pytest.mark.parametrize("one_hot", [False, True])
def test_the_whole_verdict_follows_the_law(one_hot):
    """verify_sampled itself, over a grid of its uniforms: the measure of each outcome, to the grid's width."""
    vocabulary, cells = 5, 16
    rng = np.random.default_rng(3)
    target = torch.from_numpy(rng.dirichlet(np.ones(vocabulary), 3))
    draft = None if one_hot else torch.from_numpy(rng.dirichlet(np.ones(vocabulary), 2))
    drafted = [1, 3]
    grid = (np.arange(cells) + 0.5) / cells
    counts = {}
    for uniforms in product(grid, repeat=3):
        verdict = verify_sampled(target, draft, drafted, torch.tensor(uniforms))
        counts[verdict] = counts.get(verdict, 0) + 1 / cells**3

    keep = acceptance_probability(target[:2], draft, torch.tensor(drafted)).tolist()
    arrive = [1 - keep[0], keep[0] * (1 - keep[1]), keep[0] * keep[1]]
    for (nodes, token), measure in counts.items():
        accepted = len(nodes)
        behind = target[accepted]
        if accepted < 2:
            behind = residual_probs(behind, None if draft is None else draft[accepted], drafted[accepted])
        assert measure == pytest.approx(arrive[accepted] * float(behind[token]), abs=2.0 / cells)


def test_a_greedy_verdict_ends_with_the_bonus_token():
    assert verify_greedy([4, 5, 6], [4, 5]) == ((0, 1), 6)
    assert verify_greedy([4, 5, 6], [4, 9]) == ((0,), 5)
    assert verify_greedy([4], []) == ((), 4)


def test_equal_distributions_never_reject():
    probs = torch.full((3, 5), 0.2, dtype=torch.float64)

    verdict = verify_sampled(probs, probs[:2], [0, 1], torch.tensor([0.999999, 0.999999, 0.5], dtype=torch.float64))

    assert verdict == ((0, 1), 2)


def test_nothing_left_of_the_difference_leaves_the_target():
    probs = torch.tensor([0.25, 0.75], dtype=torch.float64)

    assert torch.equal(residual_probs(probs, probs, 0), probs)


def test_a_token_that_the_draft_could_not_have_drawn_is_never_kept():
    target, draft = torch.tensor([[0.5, 0.5]]), torch.tensor([[0.0, 1.0]])

    assert acceptance_probability(target, draft, torch.tensor([0])).tolist() == [0.0]
