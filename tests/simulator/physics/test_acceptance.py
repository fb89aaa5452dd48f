from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.physics.acceptance import (
    break_even_acceptance,
    conditional_from_survival,
    constant_acceptance,
    expected_tokens_per_step,
    operation_factor,
    survival_from_conditional,
    tokens_per_step,
    walltime_speedup,
)

rates = st.floats(0, 1)
lengths = st.integers(0, 16)

BREAK_EVEN = {
    (1.0, 0.05): {1: 0.05, 2: 0.09, 3: 0.13, 4: 0.17, 5: 0.20, 8: 0.29},
    (1.0, 0.10): {1: 0.10, 2: 0.17, 3: 0.23, 4: 0.29, 5: 0.33, 8: 0.44},
    (1.0, 0.30): {1: 0.30, 2: 0.42, 3: 0.51, 4: 0.57, 5: 0.62, 8: 0.72},
    (1.5, 0.10): {1: 0.60, 2: 0.47, 3: 0.47, 4: 0.49, 5: 0.51, 8: 0.57},
    (2.0, 0.10): {1: inf, 2: 0.70, 3: 0.64, 4: 0.62, 5: 0.62, 8: 0.65},
}
BEST_SPEEDUP = {
    0.6: {0.05: 1.92, 0.1: 1.67, 0.3: 1.23},
    0.8: {0.05: 3.09, 0.1: 2.47, 0.3: 1.55},
    0.85: {0.05: 3.70, 0.1: 2.85, 0.3: 1.69},
    0.9: {0.05: 4.67, 0.1: 3.43, 0.3: 1.87},
    0.92: {0.05: 5.26, 0.1: 3.76, 0.3: 1.97},
}


@given(rates, lengths)
def test_a_step_commits_between_one_and_all_plus_bonus(rate, draft_tokens):
    tokens = expected_tokens_per_step(rate, draft_tokens)

    assert 1.0 <= tokens <= draft_tokens + 1.0 + 1e-9


@pytest.mark.parametrize(("rate", "draft_tokens", "tokens"), [(0.8, 5, 3.68928), (0.6, 4, 2.3056)])
def test_tokens_per_step_are_those_of_the_paper(rate, draft_tokens, tokens):
    assert expected_tokens_per_step(rate, draft_tokens) == pytest.approx(tokens, abs=1e-9)


@given(st.floats(0, 0.999), lengths)
def test_the_sum_is_the_closed_form(rate, draft_tokens):
    closed = (1 - rate ** (draft_tokens + 1)) / (1 - rate)

    assert expected_tokens_per_step(rate, draft_tokens) == pytest.approx(closed)


@pytest.mark.parametrize(("ratios", "row"), BREAK_EVEN.items())
def test_break_even_acceptances_are_those_of_the_reference_table(ratios, row):
    verify, latency = ratios

    found = {k: round(break_even_acceptance(k, latency, verify), 2) for k in row}

    assert found == row


@pytest.mark.parametrize(("rate", "row"), BEST_SPEEDUP.items())
def test_best_speedups_are_those_of_the_reference_table(rate, row):
    found = {c: round(max(walltime_speedup(rate, k, c) for k in range(1, 17)), 2) for c in row}

    assert found == pytest.approx(row, abs=0.0051)


@pytest.mark.parametrize(
    ("rate", "k", "flops", "factor"), [(0.85, 4, 0.1, 1.46), (0.6, 4, 0.1, 2.34), (0.9, 6, 0.3, 1.69)]
)
def test_operation_factors_are_those_of_the_reference(rate, k, flops, factor):
    assert operation_factor(rate, k, flops) == pytest.approx(factor, abs=0.0051)


@pytest.mark.parametrize(("rate", "row"), [(0.8, {1: 0.86, 4: 0.62}), (0.9, {1: 0.91, 4: 0.76})])
def test_speed_ups_of_a_target_bound_by_compute_are_those_of_the_reference(rate, row):
    found = {k: 1 / operation_factor(rate, k, 0.1) for k in row}

    assert found == pytest.approx(row, abs=0.0053)


@given(rates, st.integers(1, 16), st.floats(0, 2))
def test_speculation_never_saves_operations(rate, draft_tokens, flops_ratio):
    assert operation_factor(rate, draft_tokens, flops_ratio) >= 1 - 1e-12


@given(rates, st.integers(1, 16))
def test_the_constant_acceptance_gives_its_tokens_back(rate, draft_tokens):
    tokens = expected_tokens_per_step(rate, draft_tokens)

    again = expected_tokens_per_step(constant_acceptance(tokens, draft_tokens), draft_tokens)

    assert again == pytest.approx(tokens, abs=1e-12)


def test_an_engines_counters_give_the_rate_that_the_reference_states():
    assert constant_acceptance(1 + 12208 / 4816, draft_tokens=7) == pytest.approx(0.74, abs=0.005)


@given(st.lists(rates, max_size=8))
def test_survival_falls_and_its_conditionals_give_it_back(conditional):
    survival = survival_from_conditional(conditional)

    assert list(survival) == sorted(survival, reverse=True)
    assert survival_from_conditional(conditional_from_survival(survival)) == pytest.approx(survival, abs=1e-12)


def test_nothing_is_kept_after_a_position_that_never_is():
    assert conditional_from_survival((0.5, 0.0, 0.0)) == (0.5, 0.0, 0.0)


def test_tokens_per_step_count_the_bonus_token():
    assert tokens_per_step((0.5, 0.25)) == 1.75
