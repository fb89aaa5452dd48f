"""Several tokens at one place: the law of a whole step, its draws included, by enumeration, is the target's own."""

from itertools import product

import numpy as np
import pytest
import torch

from engine import verification
from engine.drafters import tree_draft, union
from engine.drafters.interface import Draft
from engine.drafters.union import merged
from engine.growth import FixedGrowth, tokens_to
from engine.trees import ROOT, path_to, tree_of_widths
from engine.verification import Typical, verify_greedy, verify_sampled, verify_typical
from tests.engine.explored import Uniforms, explored, picking
from tests.engine.test_verification import TOLERANCE, law_error, tables


def step(target, draft_of, choose, monkeypatch):
    """Tokens that one step commits; its draft is drawn by draft_of(choose)."""
    with monkeypatch.context() as patch:
        patch.setattr(tree_draft, "pick", picking(choose))
        patch.setattr(verification, "pick", picking(choose))
        draft = draft_of()
        paths = [(), *(tuple(draft.tokens[n] for n in path_to(draft.tree, node)) for node in range(len(draft.tokens)))]
        rows = torch.stack([target[path] for path in paths])
        verdict = verify_sampled(rows, draft.probs, draft.tokens, Uniforms(choose), draft.parents, draft.trials)
    return (*(draft.tokens[n] for n in verdict.nodes), verdict.next_token)


def law_of(target, draft_of, monkeypatch):
    """Chance of everything that one step can commit."""
    law = {}
    for chance, committed in explored(lambda choose: step(target, draft_of, choose, monkeypatch)):
        law[committed] = law.get(committed, 0.0) + chance
    return law


def drawn_tree(laws, widths, replacement):
    """A tree whose children are drawn from the draft's law behind their path."""

    def draft():
        growth = FixedGrowth(tree_of_widths(widths), 99)
        while nodes := growth.frontier():
            for node in nodes:
                probs = laws[tuple(tokens_to(growth, node))]
                growth.add(node, tree_draft.drawn(probs, lambda: 0.0, growth.wanted(node), replacement=replacement))
        return growth.draft()

    return draft


def peaked(vocabulary, depth, seed, concentration=1.0):
    return tables(vocabulary, depth, np.random.default_rng(seed), concentration)


TREES = [(5, [2]), (3, [2, 1]), (2, [2, 2]), (3, [4]), (5, [1, 1]), (3, [1, 2])]


@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize(("vocabulary", "widths"), TREES)
def test_a_drawn_tree_commits_by_the_targets_law(vocabulary, widths, replacement, monkeypatch):
    target, draft = (peaked(vocabulary, len(widths), seed, 2.0) for seed in (1, 2))

    law = law_of(target, drawn_tree(draft, widths, replacement), monkeypatch)

    assert abs(sum(law.values()) - 1.0) < TOLERANCE
    assert law_error(law, target, vocabulary, len(widths)) < TOLERANCE


def test_a_draft_that_cannot_draw_so_many_tokens_draws_fewer(monkeypatch):
    target = peaked(4, 1, 1)
    draft = {(): torch.tensor([0.3, 0.0, 0.7, 0.0], dtype=torch.float64)}

    law = law_of(target, drawn_tree(draft, [3], False), monkeypatch)

    assert law_error(law, target, 4, 1) < TOLERANCE


def union_of(drafts):
    return lambda: merged([draft() for draft in drafts])


UNIONS = {
    "two drawn": (3, [("drawn", [1, 1]), ("drawn", [1, 1])]),
    "three drawn": (2, [("drawn", [1, 1]), ("drawn", [1]), ("drawn", [1, 1])]),
    "certain, then drawn": (4, [("certain", (2, 1)), ("drawn", [1, 1])]),
    "drawn, then certain": (4, [("drawn", [1, 1]), ("certain", (2, 1))]),
    "certain ones": (5, [("certain", (2, 1)), ("certain", (2, 3)), ("certain", (0, 1))]),
    "trees": (3, [("drawn", [2]), ("drawn", [1, 1])]),
    "a draft that has nothing": (4, [("certain", ()), ("drawn", [1, 1])]),
}


@pytest.mark.parametrize("name", UNIONS)
def test_a_union_commits_by_the_targets_law_whatever_each_draft_draws_from(name, monkeypatch):
    vocabulary, parts = UNIONS[name]
    target = peaked(vocabulary, 2, 1)
    drafts = [
        (lambda tokens=what: Draft(list(tokens))) if kind == "certain"
        else drawn_tree(peaked(vocabulary, 2, 5 + place), what, replacement=False)
        for place, (kind, what) in enumerate(parts)
    ]  # fmt: skip

    law = law_of(target, union_of(drafts), monkeypatch)

    assert abs(sum(law.values()) - 1.0) < TOLERANCE
    assert law_error(law, target, vocabulary, 2) < TOLERANCE


def test_a_second_draw_of_a_token_that_is_not_tried_again_is_seen(monkeypatch):
    """Why a token that two drafts drew is tried twice, although it can only fall."""
    target, drafts = peaked(4, 1, 9, 0.2), [drawn_tree(peaked(4, 1, seed), [1], False) for seed in (5, 6)]

    def once():
        draft = merged([draft() for draft in drafts])
        first = [draft.trials.index(node) for node in range(len(draft.tokens))] if draft.trials else [0]
        return Draft(draft.tokens, draft.probs[first], draft.tree, range(len(draft.tokens)))

    assert law_error(law_of(target, once, monkeypatch), target, 4, 1) > 1e-3


def keeps_all(target_probs, draft_probs, draft_token):
    return target_probs


def forgets_the_draft(target_probs, draft_probs, draft_token):
    return residual(target_probs, None, draft_token)


residual = verification.residual_probs


@pytest.mark.parametrize("wrong", [keeps_all, forgets_the_draft])
def test_a_wrong_rest_between_two_trials_is_seen(wrong, monkeypatch):
    target, draft = (peaked(4, 1, seed) for seed in (1, 2))
    monkeypatch.setattr(verification, "residual_probs", wrong)

    assert law_error(law_of(target, drawn_tree(draft, [2], False), monkeypatch), target, 4, 1) > 1e-3


def test_a_union_of_one_is_the_draft_itself():
    probs = torch.rand(3, 5)

    assert merged([Draft([1, 2, 3], probs)]).parents is None
    assert merged([Draft([1, 2, 3], probs)]).probs.equal(probs)
    assert merged([Draft([])]) == Draft([])


def test_shared_prefixes_stand_once_and_drawn_tokens_are_tried_for_each_draft():
    first, second = torch.rand(2, 5), torch.rand(2, 5)

    both = merged([Draft([1, 2], first), Draft([1, 3], second)])

    assert (both.tokens, both.parents, both.trials) == ([1, 2, 3], [ROOT, 0, 0], [0, 1, 0, 2])
    assert both.probs.equal(torch.stack([first[0], first[1], second[0], second[1]]))


def test_without_replacement_more_is_accepted_than_with(monkeypatch):
    """The draft is peaked: a second draw of the same token is worth nothing (Jeon et al. 2024)."""
    here = torch.tensor([0.1, 0.5, 0.4], dtype=torch.float64)
    target = {(): here, (0,): here, (1,): here, (2,): here}
    draft = {(): torch.tensor([0.9, 0.05, 0.05], dtype=torch.float64)}

    laws = [law_of(target, drawn_tree(draft, [2], replacement), monkeypatch) for replacement in (False, True)]

    kept = [sum(chance for committed, chance in law.items() if len(committed) == 2) for law in laws]
    assert kept[0] > kept[1] + 0.2


@pytest.mark.parametrize("tree", [[ROOT, ROOT, 0, 1, 1], [ROOT, 0, 1, 2, 3], [ROOT] * 5])
def test_greedy_keeps_the_longest_path_of_the_targets_own_tokens(tree):
    for tokens in product(range(2), repeat=5):
        for best in product(range(2), repeat=6):
            verdict = verify_greedy(best, tokens, tree)

            right = [n for n in range(5) if all(best[tree[m] + 1] == tokens[m] for m in path_to(tree, n))]
            longest = max((len(path_to(tree, n)) for n in right), default=0)
            assert verdict.accepted == longest
            assert verdict.next_token == best[verdict.nodes[-1] + 1 if verdict.nodes else 0]
            assert not verdict.nodes or verdict.nodes[-1] in right


def test_typical_acceptance_keeps_what_is_likely_enough_and_so_is_not_the_targets_law():
    target = torch.tensor([[0.5, 0.3, 0.2], [0.02, 0.97, 0.01], [0.1, 0.1, 0.8]], dtype=torch.float64)
    bounds, middle = Typical(epsilon=0.25, delta=1.0), torch.tensor([0.5])

    assert verify_typical(target, [1, 0], middle, bounds) == ((0,), 1)
    assert verify_typical(target, [1, 1], middle, bounds) == ((0, 1), 2)
    assert verify_typical(target, [2, 1], middle, bounds, [ROOT, ROOT]) == ((1,), 2)
    assert verify_typical(target, [2], middle, bounds) == ((), 1)


def test_where_the_target_is_unsure_the_bar_of_typical_acceptance_is_lower():
    unsure = torch.full((2, 20), 0.05, dtype=torch.float64)

    assert verify_typical(unsure, [7], torch.tensor([0.0]), Typical(epsilon=0.09, delta=0.3)).accepted == 1
    assert verify_typical(unsure, [7], torch.tensor([0.0]), Typical(epsilon=0.09, delta=1.1)).accepted == 0


def test_a_certain_token_among_drawn_ones_is_a_one_hot_row():
    rows = union._stacked([2, torch.full((4,), 0.25)])

    assert rows.tolist() == [[0, 0, 1, 0], [0.25] * 4]
