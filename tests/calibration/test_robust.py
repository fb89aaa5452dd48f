"""Smoothing: spikes and falls go, all else stays."""

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


@pytest.mark.parametrize("factor", [0.2, 5.0])
@pytest.mark.parametrize("at", [0, 1, 7, 14, 15])
def test_a_spike_anywhere_is_replaced_by_what_its_neighbours_say(at, factor):
    x = np.geomspace(1, 32768, 16)
    y = 5.0 + 0.01 * x
    spiked = np.where(np.arange(x.size) == at, y * factor, y)

    assert despike(x, spiked)[at] == pytest.approx(y[at], rel=0.4)


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
