"""Goals: what is met, what only by scatter, what is missed; and what drafts gain."""

from dataclasses import replace
from math import inf, nan

import pytest

from calibration.check.compare import Compared, StepErrors
from calibration.check.figures import NAMES
from calibration.check.gains import best_choices, gains, paying_batches, saturation
from calibration.check.replay import Replayed
from calibration.check.verdicts import Item, Line, stable, verdicts
from tests.calibration.check.toys import a_point

PLAIN = dict.fromkeys(NAMES, 1.0) | {"overloaded": 0.0}


def compared(point, predicted=None, measured=({}, {}), **other):
    of = {
        "point": point,
        "predicted": PLAIN | (predicted or {}),
        "timing": PLAIN,
        "measured": tuple(PLAIN | one for one in measured),
        "replayed": (Replayed(10, 10),),
        "pace": (1.0, 1.0),
        "steps": StepErrors(0.03, 0.01, 0.02, 10),
        "paced": PLAIN,
        "paced_steps": StepErrors(0.03, 0.01, 0.02, 10),
        "same_texts": 1.0,
        "decode_s": {1: (1.0, 1.0), 4: (2.0, 2.0)},
    }
    return Compared(**of | other)


def line(points, what):
    (found,) = (one for one in verdicts(points) if one.what == what)
    return found


def item(error, apart=0.0):
    return Item("here", 1.0 + error, 1.0, error, apart)


def test_a_goal_is_the_larger_of_its_figure_and_the_scatter():
    scattered = Line("x", 0.04, (item(-0.10, apart=0.08),))

    assert Line("x", 0.04, (item(0.039),)).passed
    assert not Line("x", 0.04, (item(0.041),)).passed
    assert not Line("x", 0.04, (item(0.041, apart=nan),)).passed
    assert scattered.passed
    assert scattered.by_scatter == 1


def test_one_point_that_misses_makes_a_line_miss():
    found = Line("x", 0.04, (item(0.01), item(0.2)))

    assert not found.passed
    assert [one.error for one in found.missed] == [0.2]
    assert found.worst.error == 0.2


def test_an_error_that_is_no_number_is_a_miss():
    assert not Line("x", 0.04, (item(nan),)).passed


def test_a_line_without_points_is_neither_met_nor_missed():
    assert line([compared(a_point())], "TPOT p99").passed is None


def test_a_step_that_is_not_replayed_misses_however_few():
    missed = compared(a_point(), replayed=(Replayed(10_000, 9_999, "step 3"), Replayed(10, 10)))

    found = line([missed], "scheduler replay")

    assert not found.passed
    assert "step 3" in found.missed[0].where


def test_a_figure_is_held_against_the_mean_of_both_runs():
    one = compared(a_point(), {"tpot_s.mean": 1.05}, ({"tpot_s.mean": 0.99}, {"tpot_s.mean": 1.01}))

    (found,) = line([one], "TPOT mean").items

    assert found.error == pytest.approx(0.05)
    assert found.apart == pytest.approx(0.02)
    assert not line([one], "TPOT mean").passed


def test_the_first_token_is_judged_up_to_four_fifths_of_the_measured_saturation():
    at = [compared(a_point(level=level, rate_per_s=level * 100.0)) for level in (0.5, 0.9, 3.0)]
    at[2] = replace(at[2], measured=(PLAIN | {"req_per_s": 100.0},) * 2)

    assert [one.point.level for one in stable(at)] == [0.5]
    assert saturation(at)[0].measured == 100.0


def test_an_overload_that_is_called_stable_is_a_miss():
    seen = ({"overloaded": 1.0}, {"overloaded": 1.0})

    assert not line([compared(a_point(level=3.0), {"overloaded": 0.0}, seen)], "stable or overloaded").passed
    assert line([compared(a_point(level=3.0), {"overloaded": 1.0}, seen)], "stable or overloaded").passed


def clients(draft_tokens, predicted, measured):
    name = "output_tokens_per_s"
    return compared(
        a_point("clients", level=4.0, draft_tokens=draft_tokens),
        {name: predicted},
        ({name: measured}, {name: measured}),
    )


def test_gains_of_a_closed_loop_are_those_of_its_throughput():
    (found,) = gains([clients(0, 10.0, 8.0), clients(3, 15.0, 16.0)])

    assert (found.predicted, found.measured) == (1.5, 2.0)


def test_gains_at_a_rate_are_those_of_the_time_per_token():
    slow, fast = ({"tpot_s.mean": value} for value in (2.0, 1.0))
    points = [compared(a_point(), slow, (slow, slow)), compared(a_point(draft_tokens=3), fast, (fast, fast))]

    assert gains(points)[0].predicted == gains(points)[0].measured == 2.0


def test_the_regret_of_a_choice_is_what_the_best_k_would_have_brought():
    points = [clients(0, 10.0, 10.0), clients(3, 20.0, 11.0), clients(5, 15.0, 16.5)]

    (choice,) = best_choices(gains(points))

    assert (choice.predicted_k, choice.measured_k) == (3, 5)
    assert choice.regret == pytest.approx(0.5)
    assert not line(points, "best K").passed


def test_drafts_that_are_advised_and_slow_the_engine_down_are_a_miss():
    harmful = [clients(0, 10.0, 10.0), clients(3, 12.0, 9.0)]

    assert not line(harmful, "speculation advised").passed
    assert line([clients(0, 10.0, 10.0), clients(3, 9.0, 9.0)], "speculation advised").passed is None


def test_drafts_stop_paying_where_the_longer_step_eats_them_up():
    tokens = {"tokens_per_step": 2.0}
    drafted = compared(a_point(draft_tokens=3), tokens, (tokens, tokens), decode_s={1: (1.0, 1.0), 4: (2.0, 5.0)})

    (found,) = paying_batches([compared(a_point()), drafted])

    assert found.predicted == inf
    assert 1.0 < found.measured < 4.0
    assert found.most == 4
