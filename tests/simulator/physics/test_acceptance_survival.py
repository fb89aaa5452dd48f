from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.catalog.load import load_acceptance, names
from simulator.errors import ScenarioError
from simulator.physics.acceptance import expected_tokens_per_step, tokens_per_step
from simulator.physics.curves import extended, never_rising, survival_of_curve
from simulator.physics.factors import Conditions, temperature_factor
from simulator.physics.spread import mean_over_requests, mean_over_steps
from simulator.physics.survival import acceptance_table, acceptance_tables, measured_positions, survival_for
from simulator.spec.acceptance import Acceptance

MTP = "deepseek-v4-pro-mtp-thinking-on"
vectors = st.lists(st.floats(0, 1), min_size=1, max_size=8).map(lambda s: tuple(sorted(s, reverse=True)))


def over_steps(table):
    return mean_over_steps(1 + table.sum(axis=1))


def test_a_survival_vector_is_used_as_given():
    given_ = Acceptance(survival=(0.85, 0.73, 0.62, 0.53))

    assert survival_for(given_, 3) == (0.85, 0.73, 0.62)


@pytest.mark.parametrize(
    ("acceptance", "positions"),
    [
        (Acceptance(survival=(0.8, 0.6, 0.4)), 3),
        (Acceptance(tokens_per_step=2.9, at=4), 4),
        (Acceptance(histogram={0: 4, 2: 3, 3: 6}), 3),
        (Acceptance(preset=MTP), 8),
    ],
)
@pytest.mark.parametrize("spread", [0.0, 0.8])
def test_beyond_what_was_measured_acceptance_goes_on_falling_and_never_rises(acceptance, positions, spread):
    acceptance = acceptance.model_copy(update={"spread": spread})

    known, beyond = acceptance_table(acceptance, positions), acceptance_table(acceptance, positions + 4)

    assert measured_positions(acceptance) == positions
    assert len(survival_for(acceptance, positions + 4)) == positions + 4
    assert np.all(np.diff(beyond) <= 1e-12)
    assert np.all(beyond[:, -1] < known[:, -1])


def test_each_further_position_falls_as_the_last_two_did():
    assert extended((0.8, 0.48), 3)[2] == pytest.approx(0.48 * 0.6 * 0.75)
    assert extended((0.7,), 3) == pytest.approx((0.7, 0.49, 0.343))


def test_a_last_position_that_noise_has_raised_is_not_followed():
    assert extended((0.6, 0.3, 0.3), 4)[3] == pytest.approx(0.3 * 0.3 ** (1 / 3))
    assert extended((), 2) == (0.0, 0.0)


def test_a_spread_is_solved_at_what_was_measured_and_holds_for_positions_beyond():
    measured = Acceptance(tokens_per_step=2.9, at=4, spread=0.7)

    assert np.array_equal(acceptance_table(measured, 6)[:, :4], acceptance_table(measured, 4))


@given(st.integers(1, 8), st.floats(0.3, 1.0), st.floats(0.01, 0.99))
def test_a_decay_gives_the_tokens_per_step_and_falls_by_its_factor(at, decay, first):
    true = np.cumprod([first * decay**position for position in range(at)])

    survival = survival_for(Acceptance(tokens_per_step=1 + float(true.sum()), at=at, decay=decay), at)

    assert survival == pytest.approx(true.tolist(), abs=1e-9)


def test_a_decay_that_cannot_commit_so_much_is_an_error():
    with pytest.raises(ScenarioError, match=r"decay 0.5 commits at most 2.625 tokens per step at 3 .* not 3.5"):
        survival_for(Acceptance(tokens_per_step=3.5, at=3, decay=0.5), 3)


def test_more_decay_costs_the_positions_behind_and_helps_those_before():
    steep, flat = (survival_for(Acceptance(tokens_per_step=2.9, at=4, decay=d), 8) for d in (0.8, 1.0))

    assert steep[0] > flat[0]
    assert steep[7] < flat[7]


FACTORS = [
    ({"uplift": {"factor": 0.9, "source": "a test"}}, Conditions()),
    ({"by_temperature": {0.0: 1.0, 1.0: 0.8}}, Conditions(temperature=0.5)),
    ({"by_context": {0: 1.0, 1000: 0.8}}, Conditions(prompt_tokens=(500.0,))),
]


@pytest.mark.parametrize(("known", "conditions"), FACTORS, ids=["uplift", "temperature", "context"])
@pytest.mark.parametrize("spread", [0.0, 0.6])
def test_a_factor_is_on_the_conditional_acceptance_of_every_position(known, conditions, spread):
    plain = Acceptance(survival=(0.8, 0.6, 0.5), spread=spread)

    (changed,) = acceptance_tables(Acceptance.model_validate(plain.model_dump() | known), 3, conditions)

    assert changed == pytest.approx(acceptance_table(plain, 3) * [0.9, 0.9**2, 0.9**3])


def test_no_factor_lifts_acceptance_above_one_or_above_what_is_drafted():
    better = {"uplift": {"factor": 3.0, "source": "a test"}, "drafted": {1: 4, 2: 6}}
    acceptance = Acceptance.model_validate({"survival": (0.8, 0.3)} | better)

    assert acceptance_tables(acceptance, 2, Conditions()).tolist() == [[[1.0, 0.6]]]


def test_a_factor_of_one_leaves_every_bit():
    acceptance = Acceptance(survival=(0.8, 0.61, 0.53), by_temperature={0.0: 1.0, 1.0: 0.7})

    assert np.array_equal(acceptance_tables(acceptance, 3, Conditions(0.0))[0], acceptance_table(acceptance, 3))


def test_prompts_beyond_those_measured_are_taken_as_the_nearest():
    acceptance = Acceptance(survival=(0.8,), by_context={100: 1.0, 1000: 0.5})

    tables = acceptance_tables(acceptance, 1, Conditions(prompt_tokens=(1.0, 100.0, 550.0, 9999.0)))

    assert tables.ravel().tolist() == pytest.approx([0.8, 0.8, 0.6, 0.4])


@pytest.mark.parametrize(
    ("temperature", "message"),
    [(None, "without workload.temperature"), (1.5, "from 0 to 1, workload.temperature is 1.5")],
)
def test_a_temperature_that_nobody_stated_or_measured_is_an_error(temperature, message):
    with pytest.raises(ScenarioError, match=message):
        temperature_factor({0.0: 1.0, 1.0: 0.8}, temperature)


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


def test_between_measured_lengths_each_draft_token_is_kept_as_the_one_before():
    survival = survival_of_curve({1: 1.8, 3: 1.8 + 0.8 * (0.5 + 0.25)}, draft_tokens=3)

    assert survival == pytest.approx((0.8, 0.4, 0.2))


def test_lengths_that_were_hidden_are_found_again_within_a_few_per_cent():
    """Of every preset that was measured at K = 1 to 8, only 3, 5 and 7 are told."""
    curves = [load_acceptance(name).tokens_per_step for name in names("acceptance")]
    whole = [curve for curve in curves if curve and set(curve) == set(range(1, 9))]
    off = [
        tokens_per_step(survival_of_curve({k: curve[k] for k in (3, 5, 7)}, hidden)) / curve[hidden] - 1.0
        for curve in whole
        for hidden in (1, 2, 4, 6)
    ]

    assert len(whole) > 10
    assert np.mean(np.abs(off)) < 0.02
    assert np.max(np.abs(off)) < 0.07


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
