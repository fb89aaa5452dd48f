"""Steps whose sequences propose different numbers of draft tokens, beside those where all propose as many."""

import numpy as np
import pytest

from simulator.physics.step import StepShape
from simulator.physics.uneven import UnevenSteps, counted
from simulator.run import step_model_of
from tests.bench.bench_cluster import scenario

FULL = (8, 8, 8, 8)


@pytest.fixture(scope="module")
def steps():
    return UnevenSteps(step_model_of(scenario(512, 128, 1.0, 100).deployments["bench"]))


def shape(sequences=8, context=4000.0, prompts=0, tokens=0):
    return StepShape(sequences, 0, context, prompts, tokens, 100.0 * tokens, 0)


@pytest.mark.parametrize("k", range(5))
def test_where_all_propose_as_many_a_step_costs_what_the_step_model_says(steps, k):
    whole = shape(prompts=1, tokens=300)._replace(verify_tokens=8 * (k + 1), draft_tokens=k)

    assert steps.decode_affine(8, (8,) * k) == steps.model.decode_affine(8, k)
    assert steps.seconds(shape(prompts=1, tokens=300), (8,) * k) == steps.model.seconds(whole)


def test_a_step_without_sequences_is_its_prompts_alone(steps):
    alone = shape(0, 0.0, 1, 300)

    assert steps.seconds(alone, ()) == steps.model.seconds(alone._replace(draft_tokens=4))


@pytest.mark.parametrize("proposing", [(8, 8, 3), (5,), (8, 1, 1, 1), (2, 2, 2, 2)])
def test_an_uneven_step_lies_between_the_even_ones_around_it(steps, proposing):
    seconds = steps.seconds(shape(), proposing)
    constant, slope = steps.decode_affine(8, proposing)

    assert steps.seconds(shape(), ()) < seconds < steps.seconds(shape(), FULL)
    assert constant + slope * 4000.0 == pytest.approx(seconds, rel=1e-9)


def test_one_more_draft_token_never_takes_less(steps):
    found = [steps.seconds(shape(), counted([4] * n + [0] * (8 - n), 4)) for n in range(9)]

    assert found == sorted(found)


def test_the_curve_that_a_policy_decides_on_is_the_steps_cost(steps):
    """Exact where all propose as many; beside prompts but for their own time, within what knots leave out."""
    at = np.array([0, 8, 16, 24, 32])
    drafting = [sum(steps.drafting_s(4000.0, 8, j, np.array([8]))[0] for j in range(1, k + 1)) for k in range(5)]
    curve, beside = steps.curve_s(8, 4000.0, 0)[at] + drafting, steps.curve_s(8, 4000.0, 2000)[at] + drafting

    exact = np.array([steps.seconds(shape(), (8,) * k) for k in range(5)])
    with_prompts = np.array([steps.seconds(shape(prompts=1, tokens=2000), (8,) * k) for k in range(5)])
    assert curve == pytest.approx(exact, rel=1e-9)
    assert np.diff(beside) == pytest.approx(np.diff(with_prompts), rel=0.1)


def test_a_draft_reads_what_it_missed_in_the_time_of_a_prompt(steps):
    assert steps.catch_up_s(0) == 0.0
    assert 0.0 < steps.catch_up_s(8) < steps.catch_up_s(4096)
