"""A measured run: its file, its step times, and its figures by hand."""

from dataclasses import replace
from math import isnan

import pytest

from calibration.check.figures import figures, mean_figures, records_of
from calibration.check.run import durations_s, load, save, seen_s, woken
from tests.calibration.check.toys import a_point, a_run, a_step, by_hand


def test_what_is_saved_is_read_again(tmp_path):
    run = a_run(a_point(draft_tokens=2))

    save(run, tmp_path / "runs" / "one.json")

    assert load(tmp_path / "runs" / "one.json") == run
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["one.json"]


def test_a_step_lasts_until_the_next_one_begins():
    assert durations_s(by_hand()) == [1.0, 0.5, 0.5, 0.5]


def test_a_step_before_an_idle_time_lasts_as_long_as_its_own_work():
    run = by_hand()
    late = run.requests[1]._replace(arrival_s=9.9)
    step = a_step(10.0, 1.0, run.steps[0].shape, 1, ((), ((1, 0, 4, 4),)))
    run = replace(run, requests=(run.requests[0], late), steps=(*run.steps, step))

    assert woken(run) == [True, False, False, False, True]
    assert durations_s(run) == [1.0, 0.5, 0.5, 0.5, 1.0]
    assert seen_s(run) == [0.0, 10.0]


def test_figures_are_those_that_a_hand_computes():
    found = figures(records_of(by_hand()), open_loop=True)

    assert found["ttft_s.mean"] == 1.0
    assert found["tpot_s.mean"] == pytest.approx((1.5 / 3 + 0.5 / 2) / 2)
    assert found["e2e_s.mean"] == pytest.approx(2.0)
    assert found["output_tokens_per_s"] == pytest.approx(7 / 2.5)
    assert found["req_per_s"] == pytest.approx(2 / 2.5)
    assert found["tokens_per_step"] == pytest.approx((3 + 2) / 4)
    assert found["mean_batch"] == pytest.approx(4 / 3)
    assert found["itl_s.mean"] == pytest.approx(0.5)
    assert not found["overloaded"]


def test_a_percentile_is_stated_only_where_requests_are_enough():
    found = figures(records_of(by_hand()), open_loop=True)

    assert isnan(found["ttft_s.p50"])
    assert isnan(found["ttft_s.p99"])


def test_figures_of_the_engines_own_records_agree_with_its_requests():
    run = a_run(a_point(draft_tokens=2))

    found = figures(records_of(run), open_loop=True)

    waits = [request.first_token_s - request.arrival_s for request in run.requests]
    accepted, rounds = ([sum(r.accepted) for r in run.requests], [len(r.accepted) for r in run.requests])
    assert found["ttft_s.mean"] == pytest.approx(sum(waits) / len(waits))
    assert found["tokens_per_step"] == pytest.approx(1 + sum(accepted) / sum(rounds))


def test_means_over_runs_are_taken_figure_by_figure():
    assert mean_figures([{"a": 1.0, "overloaded": 1.0}, {"a": 2.0, "overloaded": 0.0}]) == {"a": 1.5, "overloaded": 0.0}
