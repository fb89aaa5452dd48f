"""Experts of a verifying step: tokens of one sequence may share some of theirs."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.physics.draft import ngram_draft
from simulator.physics.step import StepShape
from simulator.physics.step_model import CatalogStepModel
from simulator.spec.draft import Ngram
from tests.simulator.physics.speculating import V3, decode, step_model


def sharing(overlap):
    """DeepSeek-V3 with text copied for it, under an engine policy of that overlap."""
    target = step_model(target=V3).target
    policy = target.machine.policy
    overhead = policy.overhead.model_copy(update={"expert_overlap": overlap})
    machine = target.machine._replace(policy=policy.model_copy(update={"overhead": overhead}))
    return CatalogStepModel(replace(target, machine=machine), ngram_draft(Ngram()), 3)


NONE, SOME = sharing(1.0), sharing(0.7)


def share(sequences, draft_tokens=3, **shape):
    """Seconds of the experts ÷ those without sharing."""
    asked = decode(sequences, draft_tokens)._replace(**shape)
    return SOME.cost(asked).experts_s / NONE.cost(asked).experts_s


def test_one_sequence_saves_what_its_tokens_share():
    assert share(1) == pytest.approx(0.7)


def test_many_sequences_touch_all_experts_in_any_case():
    assert share(8) < share(32) < share(128) == pytest.approx(1.0, abs=0.01)


def test_a_plain_step_and_one_with_a_long_prompt_save_nothing():
    assert share(8, draft_tokens=0) == 1.0
    assert share(8, prefill_sequences=1, prefill_tokens=512) == pytest.approx(1.0, abs=0.001)


shapes = st.builds(
    StepShape,
    sequences=st.integers(1, 200),
    verify_tokens=st.integers(1, 1600),
    context_tokens=st.floats(0, 1e6),
    prefill_sequences=st.integers(0, 4),
    prefill_tokens=st.integers(0, 600),
    prefill_context_tokens=st.floats(0, 1e6),
    draft_tokens=st.integers(0, 8),
)


@given(shapes)
def test_the_fast_figure_knows_what_is_shared(shape):
    assert SOME.seconds(shape) == pytest.approx(SOME.cost(shape).total_s, rel=1e-12)


@given(shapes, st.sampled_from(["verify_tokens", "prefill_tokens"]), st.integers(1, 300))
def test_more_tokens_never_take_less_time(shape, field, more):
    grown = shape._replace(**{field: getattr(shape, field) + more})

    assert SOME.seconds(grown) >= SOME.seconds(shape) * (1 - 1e-9)


@given(st.integers(1, 300), st.integers(0, 8))
def test_a_decode_step_is_a_constant_and_a_slope_with_sharing_too(sequences, draft_tokens):
    constant, slope = SOME.decode_affine(sequences, draft_tokens)
    shape = decode(sequences, draft_tokens)

    assert constant + slope * shape.context_tokens == pytest.approx(SOME.seconds(shape), rel=1e-12)
