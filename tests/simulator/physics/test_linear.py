"""Linear layers: bandwidth at few rows, arithmetic at many, monotone between."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.physics.linear import BUCKET_WEIGHTS, LinearCurve, compute_s, linear_curve, row_factor

H200_FP8 = linear_curve((0.312, 0.527, 0.738), (1.0, 1.05, 1.15, 1.51), 1979e12 * 0.553, 1.0, 4.8e12, 2e-6)
NVFP4 = linear_curve((0.12, 0.318, 0.537), (1.0, 1.01, 1.03, 1.31), 9000e12 * 0.431, 0.5625, 8e12, 2e-6)
CURVES = st.sampled_from([H200_FP8, NVFP4])
SIZES = st.floats(1e3, 4e9)
ROWS = st.floats(1, 1e5)


def test_a_matrix_of_a_bucket_reads_at_the_bucket_fraction():
    seconds = H200_FP8.gemm_s(55.6e6, 55.6e6, rows=8)

    assert seconds == pytest.approx(55.6e6 / (0.527 * 4.8e12))


def test_between_two_buckets_the_latency_is_interpolated():
    small, large = (BUCKET_WEIGHTS[i] / (f * 4.8e12) for i, f in ((1, 0.527), (2, 0.738)))

    seconds = H200_FP8.reading_s((BUCKET_WEIGHTS[1] + BUCKET_WEIGHTS[2]) / 2)

    assert seconds == pytest.approx((small + large) / 2)


def test_a_large_matrix_goes_on_with_the_last_slope():
    slope = (168e6 / 0.738 - 55.6e6 / 0.527) / (168e6 - 55.6e6) / 4.8e12

    more = H200_FP8.reading_s(1168e6) - H200_FP8.reading_s(168e6)

    assert more == pytest.approx(1e9 * slope)


def test_a_tiny_matrix_takes_the_launch_latency_that_the_small_buckets_imply():
    seconds = H200_FP8.reading_s(1e3)

    assert 2e-6 < seconds < 8e-6


def test_nothing_reads_faster_than_the_datasheet_bandwidth():
    curve = LinearCurve((1e6, 2e6, 3e6), (1e-6, 1e-6, 1e-6), (1.0,) * 5, 1e15, 4e12, 1e-7)

    assert curve.reading_s(1e9) >= 1e9 / 4e12


def test_256_rows_cost_the_measured_ratio():
    few, many = (H200_FP8.gemm_s(67e6, 67e6, rows) for rows in (8, 256))

    assert many / few == pytest.approx(1.51)


def test_thousands_of_rows_are_bound_by_arithmetic():
    seconds = H200_FP8.gemm_s(67e6, 67e6, rows=4096)

    assert seconds == pytest.approx(2 * 67e6 * 4096 / (1979e12 * 0.553))


def test_no_rows_take_no_time():
    assert H200_FP8.gemm_s(67e6, 67e6, rows=0) == 0.0


@given(CURVES, SIZES, SIZES, ROWS)
def test_a_larger_matrix_is_never_faster(curve, one, other, rows):
    small, large = sorted((one, other))

    assert curve.gemm_s(small, small, rows) <= curve.gemm_s(large, large, rows) * (1 + 1e-12)


@given(CURVES, SIZES, ROWS, ROWS)
def test_more_rows_are_never_faster(curve, size, one, other):
    few, many = sorted((one, other))

    assert curve.gemm_s(size, size, few) <= curve.gemm_s(size, size, many) * (1 + 1e-12)


@given(st.floats(1, 1e4))
def test_the_row_factor_stays_between_its_ends(rows):
    assert 1.0 <= row_factor(rows, (1.0, 1.0, 1.05, 1.15, 1.51)) <= 1.51


def test_arithmetic_is_two_flops_a_weight_and_row():
    assert compute_s(1e6, 10, 1e12) == pytest.approx(2e-5)
