"""Linear layers: a synthetic law comes back, spikes do not move it, launch gaps are told from work."""

import numpy as np
import pandas as pd
import pytest

from calibration.fit_linear import fit_linear, fit_table, launch_gap_us, predict
from tests.calibration.synthetic import gemm, gemm_us, plant

TABLE = fit_table(gemm(), "bf16")


@pytest.mark.parametrize(("n", "k", "m"), [(8192, 8192, 1), (4096, 1024, 64), (51200, 8192, 4096), (1024, 16384, 512)])
def test_the_law_comes_back_at_the_knots(n, k, m):
    found = predict(TABLE, *(np.array([float(x)]) for x in (n, k, m)))

    assert found[0] == pytest.approx(gemm_us(n, k, m), rel=0.01)


def test_between_the_knots_it_is_near():
    found = predict(TABLE, np.array([28672.0]), np.array([6000.0]), np.array([100.0]))

    assert found[0] == pytest.approx(gemm_us(28672, 6000, 100), rel=0.02)


def test_planted_outliers_do_not_move_it():
    spiked = np.array(fit_table(plant(gemm(noise=0.01)), "bf16").us)
    clean = np.array(fit_table(gemm(noise=0.01), "bf16").us)
    ratio = np.abs(spiked / clean - 1.0)

    assert float(np.quantile(ratio, 0.99)) < 0.12
    assert float(np.median(ratio)) < 0.01


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_the_table_never_falls_in_outputs_inputs_or_rows(axis):
    noisy = np.array(fit_table(gemm(noise=0.1), "bf16").us)

    assert np.all(np.diff(noisy, axis=axis) >= 0.0)


def test_gaps_in_the_measurements_are_filled_upwards():
    table = gemm()
    holes = table[~((table["n"] == 65536) & (table["m"] > 1024))]
    found = fit_table(holes, "bf16")

    assert found.us[-1][3][-1] == pytest.approx(gemm_us(65536, TABLE.inputs[3], 16384), rel=0.35)


def test_the_sustained_rate_is_that_of_long_products():
    assert TABLE.sustained_tflops == pytest.approx(2e-6 / 2e-9, rel=0.01)


def test_a_quantised_format_that_waits_for_launches_has_a_gap_and_one_that_does_not_has_none():
    eager = gemm("fp8").assign(latency_us=lambda t: t["latency_us"] + 9.0)
    tables, fit_error, samples = fit_linear(pd.concat([gemm(), eager, gemm("nvfp4")]))
    gaps = {table.dtype: table.launch_gap_us for table in tables}

    assert gaps == {"bf16": 0.0, "fp8": pytest.approx(5.0, abs=0.3), "nvfp4": 0.0}
    assert fit_error.median_ape < 0.01
    assert samples == 3 * len(gemm())


def test_a_small_gap_may_be_work():
    assert launch_gap_us(6.7, 2.2) == 0.0
