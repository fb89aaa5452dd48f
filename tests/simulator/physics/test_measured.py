"""Steps priced by a measured surface: exact at its knots, additive by cause, flagged beyond, and the seam's contract."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from simulator.errors import ProfileError
from simulator.physics.step import CAUSES, StepShape
from simulator.physics.step_model import step_model_with
from simulator.spec.profile import Profile
from simulator.spec.step_surface import StepSurface
from tests.simulator.physics.surfaces import deployment, lookup, profile, rows_table, surface

PLAIN = step_model_with(profile(), deployment())
SPECULATIVE = step_model_with(profile(), deployment(lookup(4)))
SHAPES = st.builds(
    lambda n, k, context, prompts, tokens, start: StepShape(
        n, n * (k + 1), float(n * context), prompts, prompts * tokens, prompts * tokens * (start + tokens / 2), k
    ),
    st.integers(0, 16), st.integers(0, 8), st.integers(1, 1000), st.integers(0, 3), st.integers(1, 128),
    st.integers(0, 200),
)  # fmt: skip


def test_a_plain_step_is_the_sum_of_its_tables():
    cost = PLAIN.cost(StepShape(4, 4, 800.0, 0, 0, 0.0, 0))

    assert cost.linear_s == pytest.approx((20_000 + 4 * 2_000 + 5_000 + 4 * 500) * 1e-6)
    assert cost.attention_s == pytest.approx((4 * 1_050 + 800 * 2.2) * 1e-6)
    assert cost.sampling_s == pytest.approx((80 + 4 * 30) * 1e-6)
    assert cost.overhead_s == pytest.approx((300 + 4 * 40 + 4 * 2) * 1e-6)
    assert cost.draft_s == 0.0


def test_prompts_share_the_pass_and_pay_for_one_row_of_logits_each():
    mixed = PLAIN.cost(StepShape(4, 4, 800.0, 2, 100, 5_000.0, 0))
    alone = PLAIN.cost(StepShape(4, 4, 800.0, 0, 0, 0.0, 0))

    assert mixed.linear_s - alone.linear_s == pytest.approx((100 * 2_000 + 2 * 500) * 1e-6)
    assert mixed.prefill_attention_s == pytest.approx((900 + 100 * 10 + 5_000 * 0.04) * 1e-6)
    assert mixed.attention_s == alone.attention_s


def test_a_measured_draft_is_priced_as_a_whole():
    cost = SPECULATIVE.cost(StepShape(2, 10, 400.0, 0, 0, 0.0, 4))

    assert cost.draft_s == pytest.approx((2 * (20 + 3 * 4) + 400 * 0.05 * 1.4) * 1e-6)
    assert SPECULATIVE.draft_ratios(2, 400.0)[0] == 0.0


@given(SHAPES)
def test_the_fast_way_and_the_slow_way_agree(shape):
    assert SPECULATIVE.seconds(shape) == pytest.approx(SPECULATIVE.cost(shape).total_s, rel=1e-12)


@given(
    SHAPES, st.sampled_from(["sequences", "context_tokens", "prefill_tokens", "prefill_context_tokens", "draft_tokens"])
)
def test_a_step_never_takes_less_time_for_more_work(shape, grown):
    more = {grown: getattr(shape, grown) + 1}
    if grown == "sequences":
        more |= {"verify_tokens": shape.verify_tokens + shape.draft_tokens + 1}
    if grown == "draft_tokens":
        more |= {"verify_tokens": shape.verify_tokens + shape.sequences}

    assert SPECULATIVE.seconds(shape._replace(**more)) >= SPECULATIVE.seconds(shape) - 1e-12


@given(SHAPES, st.floats(1, 1e4), st.floats(1, 1e4))
def test_a_step_is_affine_in_both_contexts(shape, more, pairs):
    def seconds(times):
        grown = shape._replace(
            context_tokens=shape.context_tokens + times * more,
            prefill_context_tokens=shape.prefill_context_tokens + times * pairs,
        )
        return SPECULATIVE.seconds(grown)

    assert seconds(2) - seconds(1) == pytest.approx(seconds(1) - seconds(0), rel=1e-6, abs=1e-12)


def test_a_device_that_is_faster_with_more_rows_keeps_its_curve():
    jump = {"rows": [1, 2, 3, 4, 512], "us": [10.0, 20.0, 33.0, 17.0, 900.0]}
    with pytest.raises(ValidationError, match="falls: true"):
        StepSurface.model_validate(surface(layers=jump))

    model = step_model_with(profile(layers=jump | {"falls": True}), deployment())

    assert model.target.layers(3).linear_s > model.target.layers(4).linear_s


def test_beyond_the_grid_the_step_is_flagged():
    inside, outside = StepShape(16, 80, 16_000.0, 0, 0, 0.0, 4), StepShape(17, 170, 34_000.0, 1, 400, 1.0, 9)

    assert SPECULATIVE.outside(inside) == ()
    assert [text.partition(":")[0] for text in SPECULATIVE.outside(outside)] == [
        "570 rows", "17 sequences", "2,000 tokens of context", "10 tokens verified of a sequence",
    ]  # fmt: skip


def test_a_draft_that_was_not_measured_names_those_that_were():
    with pytest.raises(ProfileError, match=r"measured: eagle.*measured: lookup.*calibrate device"):
        step_model_with(profile(), deployment(lookup(4, measured="eagle")))


def test_a_measured_draft_without_any_profile_is_an_error_that_says_how():
    with pytest.raises(ProfileError, match="calibrate device"):
        step_model_with(None, deployment(lookup(4), model="llama-3.1-8b", weights="bf16", kv="bf16"))


def test_a_model_draft_that_was_measured_beside_the_target_is_priced_by_that():
    passes = surface()["drafts"][0]["passes"]
    drafts = [{"draft": "qwen3-0.6b", "passes": passes, "prompts": surface()["prompts"]}]
    how = lookup(4, model="qwen3-0.6b", weights="fp32", kv="fp32")

    model = step_model_with(profile(drafts=drafts), deployment(how))

    assert model.cost(StepShape(2, 10, 400.0, 0, 0, 0.0, 4)).draft_s == pytest.approx(92e-6)
    assert model.cost(StepShape(0, 0, 0.0, 1, 100, 5_000.0, 0)).draft_s == pytest.approx((1_900 + 200) * 1e-6)
    assert model.draft_ratios(1, 1.0)[0] > 1.0


def test_another_weight_format_is_not_priced_by_the_surface():
    model = step_model_with(profile(), deployment(weights="bf16", kv="bf16"))

    assert "attention" in model.calibration.uncalibrated


@pytest.mark.parametrize("where", ["linear", "attention"])
def test_what_binds_a_measured_step_is_told(where):
    shape = StepShape(1, 1, 100.0, 0, 0, 0.0, 0) if where == "linear" else StepShape(16, 16, 16_000.0, 0, 0, 0.0, 0)
    model = PLAIN if where == "linear" else step_model_with(profile(layers=rows_table(1.0, 0.0)), deployment())

    assert (
        model.bound_by(model.cost(shape), shape) == {"linear": "weight_bandwidth", "attention": "kv_bandwidth"}[where]
    )


def test_a_profile_with_steps_survives_a_round_trip():
    measured = profile()

    assert Profile.model_validate_json(measured.model_dump_json()) == measured
    assert set(CAUSES) >= {f"{cause}_s" for cause in ("linear", "attention", "sampling", "overhead", "draft")}
