"""Smoothing: spikes and falls go, all else stays."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration.robust import despike, digits, error, isotonic, rising, smooth

latencies = st.lists(st.floats(0.1, 1e4), min_size=1, max_size=30).map(np.array)


@given(latencies)
def test_a_smoothed_curve_never_falls(y):
    assert np.all(np.diff(isotonic(y)) >= -1e-9 * y.max())


@given(latencies)
def test_smoothing_keeps_what_already_rises(y):
    rising_y = np.sort(y)

    assert isotonic(rising_y) == pytest.approx(rising_y)


@pytest.mark.parametrize(("at", "factor"), [(0, 5.0), *product([1, 7, 14, 15], [0.2, 5.0])])
def test_a_spike_anywhere_is_replaced_by_what_its_neighbours_say(at, factor):
    x = np.geomspace(1, 32768, 16)
    y = 5.0 + 0.01 * x
    spiked = np.where(np.arange(x.size) == at, y * factor, y)

    assert despike(x, spiked)[at] == pytest.approx(y[at], rel=0.4)


@pytest.mark.parametrize(
    ("rows", "us"),
    [
        ([1, 2, 4, 8, 16, 32], [90.7, 216.4, 408.6, 618.3, 732.6, 1012.3]),  # experts on an H200, four groups
        ([1, 2, 4, 8, 16, 32], [46.8, 58.0, 78.0, 162.1, 226.1, 285.2]),
        ([1, 2, 3, 4, 5, 6], [47.5, 47.6, 55.6, 50.0, 54.3, 48.0]),  # 134 MB on an H100: HBM takes 40 µs at least
    ],
)
def test_a_curve_that_bends_or_wavers_at_its_start_is_kept(rows, us):
    assert despike(np.array(rows, float), np.array(us))[:4].tolist() == us[:4]


def test_a_steep_but_steady_curve_is_not_mistaken_for_spikes():
    x = np.geomspace(1, 32768, 16)

    assert despike(x, 3.0 * x) == pytest.approx(3.0 * x)


def test_gaps_stay_gaps():
    y = np.array([1.0, np.nan, 2.0, 2.5, 3.0, 3.5])

    assert np.isnan(smooth(np.arange(1.0, 7.0), y)[1])


def test_rounding_keeps_three_digits_and_the_order():
    assert digits(0.00123456) == 0.00123
    assert rising(np.array([1.0004, 1.0003, 2.0])) == (1.0, 1.0, 2.0)


def test_bias_is_signed_and_errors_are_not():
    found = error(np.array([1.1, 0.8]), np.ones(2))

    assert (found.median_ape, found.mean_ape, found.bias) == (0.15, 0.15, -0.05)
