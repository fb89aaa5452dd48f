"""An engine whose steps take what the profile says is predicted without error."""

from dataclasses import replace

import pytest

from calibration.check.compare import at_pace, compare, own_acceptance, step_errors
from calibration.check.drive import CpuTime, drive
from calibration.check.figures import figures, records_of
from calibration.check.offered import offered
from calibration.check.predict import predict, predict_timing
from simulator.physics.step import StepShape
from tests.calibration.check.toys import Tiny, Work, a_point, a_run, obedient, predictor


def obedient_run(point, draft="noisy_target", factor=1.0):
    tiny, work, steps = Tiny(draft), Work(), predictor().steps(point.draft_tokens)
    engine = obedient(tiny.engine(point), work, lambda shape: factor * steps.seconds(StepShape._make(shape)))
    return drive(point, engine, tiny.requests(point), {}, CpuTime(work))


@pytest.mark.parametrize("load", ["poisson", "clients"])
@pytest.mark.parametrize("draft_tokens", [0, 2])
def test_the_timing_of_an_obedient_engine_is_predicted_to_the_last_digit(load, draft_tokens):
    run = obedient_run(a_point(load, level=3.0, draft_tokens=draft_tokens, rate_per_s=5.0))

    found, measured = predict_timing(predictor(), run), figures(records_of(run), open_loop=load == "poisson")

    assert found == pytest.approx(measured, rel=1e-6, nan_ok=True)
    assert measured["mean_batch"] > 1.0


def test_steps_of_an_obedient_engine_have_no_error():
    run = obedient_run(a_point(draft_tokens=2, rate_per_s=5.0))

    found = step_errors(predictor(), [run, run])

    assert found.mape < 1e-9
    assert found.apart == 0.0
    assert found.steps == 2 * len(run.steps)


def test_an_engine_that_is_slower_than_the_profile_is_predicted_too_fast():
    run = obedient_run(a_point(rate_per_s=5.0), factor=1.25)

    found = compare(predictor(), [run, run])

    assert found.steps.bias == pytest.approx(1 / 1.25 - 1.0, abs=1e-6)
    assert found.error("tpot_s.mean") < -0.19
    assert found.apart("tpot_s.mean") == 0.0


@pytest.mark.parametrize("draft_tokens", [0, 2])
def test_what_the_pace_of_the_machine_explains_is_gone_at_its_pace(draft_tokens):
    run = obedient_run(a_point(draft_tokens=draft_tokens, rate_per_s=5.0), factor=1.25)

    found = compare(predictor(), [replace(run, pace=1.2), replace(run, pace=1.3)])

    paced = at_pace(found)
    assert found.steps.mape == pytest.approx(0.2, abs=1e-6)
    assert paced.steps.mape == pytest.approx(0.0, abs=1e-6)
    if not draft_tokens:  # with drafts, acceptance is in its error too
        assert paced.error("tpot_s.mean") == pytest.approx(0.0, abs=1e-6)
    assert paced.predicted["tokens_per_step"] == found.predicted["tokens_per_step"]
    assert found.pace == (1.2, 1.3)


def test_acceptance_of_the_same_texts_predicts_their_tokens_per_step():
    run = a_run(a_point(draft_tokens=2, requests=60), "noisy_target")
    accepted = sum(sum(r.accepted) for r in run.requests) / sum(len(r.accepted) for r in run.requests)
    own = replace(predictor(), acceptance={2: own_acceptance(run)})

    found = predict(own, run.point, run.limits, offered(run))

    assert found["tokens_per_step"] == pytest.approx(1.0 + accepted, rel=0.02)


def test_higher_acceptance_is_predicted_to_be_faster():
    run = a_run(a_point("clients", level=2.0, draft_tokens=2, requests=12))

    slow, fast = (
        predict(predictor(survival), run.point, run.limits, offered(run)) for survival in ((0.1, 0.0), (0.9, 0.8))
    )

    assert fast["output_tokens_per_s"] > 1.3 * slow["output_tokens_per_s"]
    assert fast["tpot_s.mean"] < slow["tpot_s.mean"]
