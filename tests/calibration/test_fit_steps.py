"""A fit on a device whose law is known recovers it, through noise and outliers, and says how well it did."""

import numpy as np
import pytest

from calibration.fit_steps import fit_draft, fit_tables, read_steps
from simulator.errors import ProfileError
from tests.calibration.synthetic_device import GAP_S, head_s, measurements

HEAD = np.array([[rows, head_s(rows)] for rows in (1, 8, 64, 256)])


def tables(data):
    steps, gap_s = read_steps(data)
    return fit_tables(steps, HEAD, gap_s)


def at(table, rows):
    return float(np.interp(rows, table["rows"], table["us"]))


def test_a_device_without_noise_is_recovered():
    found = tables(measurements())

    assert at(found["layers"], 4) == pytest.approx(30_000, rel=0.01)
    assert at(found["layers"], 64) == pytest.approx(90_000, rel=0.02)
    assert at(found["head"], 1) == pytest.approx(4_300, rel=0.02)
    assert found["host"]["step_us"] == pytest.approx(300 + GAP_S * 1e6, rel=0.02)
    assert found["host"]["sequence_us"] == pytest.approx(50, rel=0.02)
    assert found["prompts"]["per_million_pairs_us"] == pytest.approx(30_000, rel=0.02)


def test_attention_is_recovered_by_sequences_and_queries():
    decode = tables(measurements())["decode"]
    q = decode["tokens"].index(4)

    assert decode["floor_us"][-1][q] == pytest.approx(16 * 1_400, rel=0.02)
    assert decode["per_token_us"][0][q] == pytest.approx(3.6, rel=0.02)
    between = decode["tokens"].index(3)
    assert decode["per_token_us"][0][between] == pytest.approx(3.2, rel=0.03)


def test_noise_and_outliers_hardly_move_it():
    found = tables(measurements(noise=0.02, outliers=0.05))

    assert at(found["layers"], 64) == pytest.approx(90_000, rel=0.04)
    assert found["decode"]["floor_us"][-1][0] == pytest.approx(16 * 1_100, rel=0.1)


def test_a_point_that_was_disturbed_in_all_visits_is_not_believed():
    data = measurements()
    for key in ("plain-16x1@256+0x0", "draft-16x4@256+0x0"):
        for step in (step for visit in data["visits"][key] for step in visit):
            step[7] *= 2.0
            step[10] += 0.02

    found = tables(data)

    assert at(found["layers"], 16) == pytest.approx(42_000, rel=0.03)
    assert at(found["layers"], 64) == pytest.approx(90_000, rel=0.03)
    assert at(found["sampling"], 16) == pytest.approx(100 + 16 * 30, rel=0.1)


def test_the_draft_is_recovered_beside_its_target():
    steps, _ = read_steps(measurements(noise=0.01))

    draft = fit_draft(steps)

    passes = draft["passes"]
    assert passes["floor_us"][-1][passes["tokens"].index(5)] == pytest.approx(16 * 30, rel=0.05)
    pairs = 256 * 257 / 2 * 1e-6 * draft["prompts"]["per_million_pairs_us"]
    assert at(draft["prompts"]["base"], 256) + pairs == pytest.approx(256, rel=0.05)


def test_no_draft_was_measured_then_none_is_fitted():
    steps, _ = read_steps(measurements(drafted=(False,)))

    assert fit_draft(steps) is None


def test_a_curve_that_falls_with_rows_is_kept_where_it_was_measured():
    data = measurements()
    for visits in data["visits"].values():
        for visit in visits:
            for step in visit:
                step[7] += 0.3 * (step[1] + step[4] < 4)

    found = tables(data)["layers"]

    assert found["falls"]
    assert at(found, 1) > 1.5 * at(found, 8)


def test_a_fall_within_the_noise_is_not_the_devices():
    data = measurements()
    for visits in data["visits"].values():
        for visit in visits:
            for step in visit:
                step[7] *= 1.12 if step[1] + step[4] < 4 else 1.0
    steps, gap_s = read_steps(data)

    quiet, noisy = (fit_tables(steps, HEAD, gap_s, noise)["layers"] for noise in (0.01, 0.05))

    assert quiet.get("falls")
    assert not noisy.get("falls")
    assert noisy["us"] == sorted(noisy["us"])


def test_too_few_shapes_are_an_error():
    data = measurements()
    data["visits"] = dict(list(data["visits"].items())[:5])

    with pytest.raises(ProfileError, match="measure on"):
        read_steps(data)
