"""Multi-draft verification against a walk of every draw, on small vocabularies: what is accepted, and what comes out."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.physics.rejection import (
    accepted_by_any,
    k_sequential,
    optimal_acceptance,
    recursive_rejection,
    residual,
    selection_ratio,
    union_survival,
    without_replacement,
)

VOCABULARY = 4
weights = st.lists(st.integers(0, 9), min_size=VOCABULARY, max_size=VOCABULARY).filter(any)
laws = weights.map(lambda drawn: np.array(drawn) / sum(drawn))
counts = st.integers(1, 4)


def walk(left, drafts, repeats=True):
    """(accepted, output law) of recursive rejection, by walking every token that each draft may draw."""
    if not drafts:
        return 0.0, left
    draft, *later = drafts
    accepted, output = 0.0, np.zeros(left.size)
    for token in np.flatnonzero(draft):
        kept = min(1.0, left[token] / draft[token])
        accepted += draft[token] * kept
        output[token] += draft[token] * kept
        if kept < 1.0:
            rest = later if repeats else [without(law, token) for law in later]
            below, emitted = walk(residual(left, draft), [law for law in rest if law.sum() > 0], repeats)
            accepted += draft[token] * (1.0 - kept) * below
            output += draft[token] * (1.0 - kept) * emitted
    return accepted, output


def without(law, token):
    rest = np.where(np.arange(law.size) == token, 0.0, law)
    return rest / rest.sum() if rest.sum() > 0 else rest


@given(laws, st.lists(laws, min_size=1, max_size=3))
def test_recursive_rejection_with_different_drafts_accepts_as_every_draw_does_and_loses_nothing(target, drafts):
    accepted, output = walk(target, drafts)

    assert accepted_by_any(recursive_rejection(target, drafts)) == pytest.approx(accepted, abs=1e-12)
    assert output == pytest.approx(target, abs=1e-12)


@given(laws, laws, counts)
def test_drafts_without_replacement_accept_as_every_draw_does_and_lose_nothing(target, draft, count):
    accepted, output = walk(target, [draft] * count, repeats=False)

    assert without_replacement(target, draft, count) == pytest.approx(accepted, abs=1e-12)
    assert output == pytest.approx(target, abs=1e-12)


@given(laws, st.lists(st.integers(1, 9), min_size=VOCABULARY, max_size=VOCABULARY))
def test_a_draft_that_does_not_repeat_itself_is_always_kept_once_it_has_said_every_word(target, drawn):
    assert without_replacement(target, np.array(drawn) / sum(drawn), VOCABULARY) == pytest.approx(1.0)


@given(laws, laws, counts)
def test_sequential_selection_accepts_of_each_word_what_the_target_has_of_it_at_most(target, draft, count):
    rho = selection_ratio(target, draft, count)
    shares = np.minimum(draft, target / rho)

    any_of_all = 1 - (1 - shares.sum()) ** count

    assert k_sequential(target, draft, count) == pytest.approx(any_of_all)
    assert any_of_all == pytest.approx(rho * shares.sum(), abs=1e-9)
    assert (rho * shares <= target + 1e-12).all()


def test_sequential_selection_draws_the_targets_law():
    target, draft, rng = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.1, 0.2, 0.3, 0.4]), np.random.default_rng(1)
    accepted, steps = k_sequential(target, draft, 3), 40_000
    rho = selection_ratio(target, draft, 3)
    left = np.maximum(target - rho * np.minimum(draft, target / rho), 0.0)
    tokens, chances = rng.choice(4, (steps, 3), p=draft), rng.random((steps, 3))

    kept = chances < np.minimum(1.0, target / (rho * draft))[tokens]
    drawn = tokens[np.arange(steps), kept.argmax(axis=1)]
    output = np.where(kept.any(axis=1), drawn, rng.choice(4, steps, p=left / left.sum()))

    assert kept.any(axis=1).mean() == pytest.approx(accepted, abs=0.01)
    assert np.bincount(output, minlength=4) / steps == pytest.approx(target, abs=0.01)


@given(laws, laws, counts)
def test_the_optimum_is_the_least_over_all_sets_of_tokens(target, draft, count):
    sets = np.array(list(product((0, 1), repeat=VOCABULARY)))

    least = (sets @ target + 1 - (sets @ draft) ** count).min()

    assert optimal_acceptance(target, draft, count) == pytest.approx(least, abs=1e-12)


@given(laws, laws, counts)
def test_no_rule_for_independent_drafts_beats_the_optimum_and_selection_comes_near(target, draft, count):
    best = optimal_acceptance(target, draft, count)

    assert accepted_by_any(recursive_rejection(target, [draft] * count)) <= best + 1e-9
    assert (1 - np.exp(-1)) * best - 1e-9 <= k_sequential(target, draft, count) <= best + 1e-9


@given(laws, laws)
def test_one_draft_is_kept_as_often_as_the_laws_overlap(target, draft):
    overlap = pytest.approx(1 - np.abs(target - draft).sum() / 2)

    rules = [k_sequential, optimal_acceptance, without_replacement]

    assert recursive_rejection(target, [draft]) == (overlap,)
    assert [rule(target, draft, 1) for rule in rules] == [overlap] * 3


@given(laws, st.integers(0, VOCABULARY - 1), laws)
def test_a_look_ups_token_is_kept_as_often_as_the_target_says_it(target, token, draft):
    one_hot, greedy = np.eye(VOCABULARY)[[token, int(target.argmax())]]

    assert recursive_rejection(target, [one_hot]) == pytest.approx((target[token],))
    assert recursive_rejection(greedy, [draft]) == pytest.approx((draft[target.argmax()],))


def test_greedy_drafts_are_kept_where_one_of_them_says_the_targets_word():
    target, drafts = np.eye(3)[0], np.eye(3)[[1, 2, 0]]

    assert [accepted_by_any(recursive_rejection(target, drafts[:count])) for count in (1, 2, 3)] == [0, 0, 1]


EXAMPLES = {
    "naive below the optimum": ((3, 3, 5, 5), (1, 7, 9, 2), (0.796, 0.853, 0.986, 0.997)),
    "naive above the optimum": ((1, 1, 7, 1), (9, 9, 1, 8), (0.408, 0.422, 0.807, 0.440)),
}


@pytest.mark.parametrize(("target", "draft", "figures"), EXAMPLES.values(), ids=EXAMPLES)
def test_independent_rejections_are_no_bound_in_either_direction(target, draft, figures):
    target, draft = np.array(target) / sum(target), np.array(draft) / sum(draft)
    chances = recursive_rejection(target, [draft] * 4)

    naive = 1 - (1 - chances[0]) ** 4
    found = (accepted_by_any(chances), k_sequential(target, draft, 4), naive, optimal_acceptance(target, draft, 4))

    assert found == pytest.approx(figures, abs=0.0006)
    assert found[0] < found[1] < found[3]


def test_a_peaked_draft_gains_most_from_not_repeating_itself():
    target, draft = np.array([0.05, 0.45, 0.3, 0.2]), np.array([0.9, 0.05, 0.03, 0.02])

    repeated = optimal_acceptance(target, draft, 4)

    assert without_replacement(target, draft, 4) == pytest.approx(1.0)
    assert repeated < 0.5


@given(laws, laws, counts)
def test_sequential_selection_is_never_below_recursive_rejection_of_the_same_draft(target, draft, count):
    chances = recursive_rejection(target, [draft] * count)

    assert k_sequential(target, draft, count) >= accepted_by_any(chances) - 1e-9


survivals = st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=1, max_size=4).map(
    lambda rows: np.cumprod(np.array(rows), axis=1)
)


@given(survivals, st.floats(0, 1))
def test_a_union_survives_at_least_as_its_first_draft_and_at_most_as_all_together(drafts, correlation):
    order = list(range(len(drafts)))

    union = union_survival(drafts, correlation, order)

    assert (union >= drafts[0] - 1e-12).all()
    assert (union <= drafts.sum(axis=0) + 1e-12).all()
    assert (np.diff(union) <= 1e-12).all()


@given(survivals)
def test_a_union_of_one_is_that_draft_and_rejections_that_are_all_alike_leave_the_best(drafts):
    best = drafts[drafts.sum(axis=1).argmax()]

    assert union_survival(drafts[:1], 0.3) == pytest.approx(drafts[0], abs=1e-12)
    assert union_survival(drafts, 1.0) == pytest.approx(best, abs=1e-12)


@given(survivals, st.floats(0, 1), st.floats(0, 1))
def test_the_less_alike_the_drafts_the_more_a_union_keeps(drafts, one, other):
    alike, unlike = union_survival(drafts, max(one, other)), union_survival(drafts, min(one, other))

    assert (unlike >= alike - 1e-12).all()


def test_the_order_says_which_draft_loses_nothing_and_groups_are_computed_at_once():
    drafts = np.array([[[0.5, 0.2], [0.1, 0.1]], [[0.8, 0.6], [0.2, 0.0]]])

    best_first, other = union_survival(drafts, 0.5), union_survival(drafts, 0.5, order=(0, 1))

    assert best_first == pytest.approx(np.array([[0.85, 0.64], [0.24, 0.05]]))
    assert other == pytest.approx(np.array([[0.7, 0.44], [0.19, 0.1]]))
