"""Acceptance that is better or worse than given."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.physics.acceptance import conditional_from_survival, tokens_per_step
from simulator.physics.odds import survival_with_odds, with_odds
from simulator.physics.survival import survival_for
from simulator.spec.acceptance import Acceptance

rates = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6).map(lambda all_: tuple(sorted(all_, reverse=True)))
factors = st.floats(0.1, 10.0)


def tokens(acceptance, draft_tokens):
    return tokens_per_step(survival_for(acceptance, draft_tokens))


def test_every_position_has_its_odds_multiplied():
    before = conditional_from_survival((0.8, 0.4, 0.1))

    after = conditional_from_survival(survival_with_odds((0.8, 0.4, 0.1), 2.0))

    assert [b / (1 - b) for b in after] == pytest.approx([2.0 * b / (1 - b) for b in before])


@given(rates, factors)
def test_survival_stays_survival(survival, factor):
    moved = survival_with_odds(survival, factor)

    assert all(0.0 <= share <= 1.0 for share in moved)
    assert all(after <= before for before, after in pairwise(moved))


@given(rates, factors)
def test_better_odds_never_accept_less(survival, factor):
    moved = sum(survival_with_odds(survival, factor))

    assert (moved >= sum(survival) - 1e-9) if factor >= 1.0 else (moved <= sum(survival) + 1e-9)


def test_nothing_beyond_what_is_drafted_is_accepted():
    moved = survival_with_odds((0.6, 0.5), 50.0, reach=(0.7, 0.6))

    assert moved == pytest.approx((0.69, 0.59), abs=0.01)
    assert moved[0] < 0.7


def test_what_is_always_or_never_accepted_stays_so():
    assert survival_with_odds((1.0, 0.5, 0.0), 3.0) == (1.0, 0.75, 0.0)


def test_one_acceptance_for_all_positions_stays_one():
    given_ = Acceptance(tokens_per_step=2.5, at=4)

    found = conditional_from_survival(survival_for(with_odds(given_, 1.7, 4), 4))

    alpha = conditional_from_survival(survival_for(given_, 4))[0]
    assert found == pytest.approx([1.7 * alpha / (1 - alpha + 1.7 * alpha)] * 4)


def test_a_decay_allows_no_more_than_it_can():
    steep = Acceptance(tokens_per_step=1.6, at=3, decay=0.5)

    assert tokens(with_odds(steep, 1000.0, 3), 3) == pytest.approx(1.0 + 1.0 + 0.5 + 0.125)


@pytest.mark.parametrize(
    "acceptance",
    [
        Acceptance(survival=(0.8, 0.6)),
        Acceptance(histogram={0: 50, 1: 30, 2: 20}),
        Acceptance(preset="llama-3.1-8b-eagle3-mt-bench"),
        Acceptance(preset="engine-smollm2-lookup-k3-code"),
        Acceptance(tokens_per_step=2.0, at=2, averaged_over="requests", spread=0.5),
    ],
)
def test_every_way_to_say_acceptance_can_be_moved(acceptance):
    worse, better = (with_odds(acceptance, factor, 2) for factor in (0.5, 2.0))

    assert tokens(worse, 2) < tokens(acceptance, 2) < tokens(better, 2)
    assert Acceptance.model_validate_json(better.model_dump_json(exclude_unset=True)) == better


def test_a_factor_of_one_changes_nothing():
    same = Acceptance(histogram={0: 1, 1: 1})

    assert with_odds(same, 1.0, 1) is same
