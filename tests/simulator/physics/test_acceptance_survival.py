from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.catalog.load import load_acceptance
from simulator.errors import ScenarioError
from simulator.physics.acceptance import expected_tokens_per_step, tokens_per_step
from simulator.physics.survival import (
    acceptance_table,
    mean_over_requests,
    mean_over_steps,
    never_rising,
    survival_for,
    survival_of_curve,
)
from simulator.spec.acceptance import Acceptance

MTP = "deepseek-v4-pro-mtp-thinking-on"
vectors = st.lists(st.floats(0, 1), min_size=1, max_size=8).map(lambda s: tuple(sorted(s, reverse=True)))


def over_steps(table):
    return mean_over_steps(1 + table.sum(axis=1))


def test_a_survival_vector_is_used_as_given():
    given_ = Acceptance(survival=(0.85, 0.73, 0.62, 0.53))

    assert survival_for(given_, 3) == (0.85, 0.73, 0.62)


@pytest.mark.parametrize(
    ("acceptance", "message"),
    [
        (Acceptance(survival=(0.8, 0.7, 0.6, 0.5)), "survival has 4 positions, draft_tokens is 6"),
        (Acceptance(tokens_per_step=2.9, at=4), "measured at 4 draft tokens, draft_tokens is 6"),
        (Acceptance(histogram={0: 4, 3: 6}), "goes up to 3 accepted tokens, draft_tokens is 6"),
    ],
)
def test_more_draft_tokens_than_were_measured_are_an_error(acceptance, message):
    with pytest.raises(ScenarioError, match=message):
        survival_for(acceptance, 6)


def test_a_preset_does_not_reach_beyond_its_curve():
    with pytest.raises(ScenarioError, match="goes up to K = 8, draft_tokens is 9"):
        survival_for(Acceptance(preset=MTP), 9)


@given(st.integers(1, 12).flatmap(lambda k: st.tuples(st.just(k), st.floats(1, k + 1))))
def test_tokens_per_step_come_back_at_the_k_they_were_measured_at(case):
    draft_tokens, tokens = case

    survival = survival_for(Acceptance(tokens_per_step=tokens, at=draft_tokens), draft_tokens)

    assert tokens_per_step(survival) == pytest.approx(tokens, abs=1e-9)


def test_fewer_draft_tokens_take_the_prefix():
    measured = Acceptance(tokens_per_step=2.9, at=4)

    assert survival_for(measured, 2) == survival_for(measured, 4)[:2]


def test_a_histogram_counts_the_steps_that_got_so_far():
    assert survival_for(Acceptance(histogram={0: 5, 1: 3, 2: 2}), 2) == (0.5, 0.2)


@pytest.mark.parametrize("draft_tokens", range(1, 9))
def test_a_preset_gives_its_figure_at_every_k_and_never_rises(draft_tokens):
    survival = survival_for(Acceptance(preset=MTP), draft_tokens)

    assert tokens_per_step(survival) == pytest.approx(load_acceptance(MTP).tokens_per_step[draft_tokens], abs=1e-9)
    assert list(survival) == sorted(survival, reverse=True)


def test_a_curve_between_measured_lengths_is_interpolated():
    survival = survival_of_curve({1: 1.8, 3: 2.8}, draft_tokens=2)

    assert tokens_per_step(survival) == pytest.approx(2.3)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=10))
def test_pooling_keeps_the_sum_and_never_rises(values):
    pooled = never_rising(values)

    assert sum(pooled) == pytest.approx(sum(values), abs=1e-9)
    assert all(after <= before + 1e-12 for before, after in pairwise(pooled))


def test_a_mix_of_requests_has_three_different_means():
    tokens = np.array([expected_tokens_per_step(rate, 5) for rate in (0.9, 0.6)])

    assert round(expected_tokens_per_step(0.75, 5), 2) == 3.29
    assert round(mean_over_requests(tokens), 2) == 3.53
    assert round(mean_over_steps(tokens), 2) == 3.16


@given(vectors, st.floats(0.01, 3))
def test_a_spread_leaves_tokens_per_step_over_time_as_given(survival, spread):
    table = acceptance_table(Acceptance(survival=survival, spread=spread), len(survival))

    assert table.shape == (64, len(survival))
    assert over_steps(table) == pytest.approx(tokens_per_step(survival), abs=1e-9)


def test_a_mean_over_requests_is_centred_as_such():
    measured = Acceptance(tokens_per_step=2.9, at=4, averaged_over="requests", spread=1.0)

    table = acceptance_table(measured, 4)

    assert mean_over_requests(1 + table.sum(axis=1)) == pytest.approx(2.9, abs=1e-9)
    assert over_steps(table) < 2.9


def test_the_two_means_coincide_without_a_spread():
    tables = [
        acceptance_table(Acceptance(tokens_per_step=2.9, at=4, averaged_over=over), 4) for over in ("steps", "requests")
    ]

    assert np.array_equal(*tables)
    assert tables[0].shape == (1, 4)


def test_a_spread_is_centred_at_the_k_it_was_measured_at():
    measured = Acceptance(tokens_per_step=2.9, at=4, spread=0.7)

    assert np.array_equal(acceptance_table(measured, 2), acceptance_table(measured, 4)[:, :2])


def test_certain_and_impossible_positions_stay_so():
    table = acceptance_table(Acceptance(survival=(1.0, 0.6, 0.0), spread=1.0), 3)

    assert np.all(table[:, 0] == 1)
    assert np.all(table[:, 2] == 0)
    assert len(set(table[:, 1])) == 64


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_no_draft_tokens_make_an_empty_table(spread):
    table = acceptance_table(Acceptance(survival=(0.5,), spread=spread), 0)

    assert table.shape[1] == 0


def test_the_same_acceptance_always_gives_the_same_bytes():
    measured = Acceptance(preset=MTP, spread=0.5)

    assert acceptance_table(measured, 3).tobytes() == acceptance_table(measured, 3).tobytes()
