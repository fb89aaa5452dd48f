import pytest

from app.figures import parity as figures
from app.figures.acceptance import survival_alt, survival_figure
from app.figures.parity import HeldOutError, Pair
from tests.app.figures.toys import texts


def pair(predicted=0.022, measured=0.02, **changes):
    return Pair("a", "vllm", "h200-sxm", "8B, TP 1", predicted, measured, False, "published table")._replace(**changes)


def test_errors_are_of_the_ratio():
    found = figures.errors([pair(), pair(predicted=0.016)])

    assert found == pytest.approx((2, 0.15, 0.15, -0.05))


def test_nothing_to_compare_has_no_error():
    assert figures.errors([]).median_ape is None
    assert figures.parity_alt([], "TPOT") == "TPOT: nothing to compare."


def test_a_point_says_its_configuration_both_figures_and_its_source():
    shown = figures.parity_figure([pair()], seconds=True)

    assert texts(shown) == "8B, TP 1: 22.0 ms predicted, 20.0 ms measured, +10 % · published table"


def test_engines_of_a_gpu_differ_in_marker_and_fitted_rows_are_filled():
    shown = figures.parity_figure([pair(), pair(engine="trtllm"), pair(engine="trtllm", fitted=True)], seconds=True)

    assert [list(trace.marker.symbol) for trace in shown.data if trace.mode == "markers"] == [
        ["circle-x-open", "circle-x"],
        ["circle-open"],
    ]


def test_equality_is_a_line_and_both_axes_are_one():
    shown = figures.parity_figure([pair(predicted=300.0, measured=200.0)], seconds=False)

    assert shown.data[0].x == shown.data[0].y
    assert shown.layout.xaxis.range == shown.layout.yaxis.range
    assert "+50 %" in texts(shown)


def test_a_held_out_error_reaches_from_its_median_to_its_mean():
    one = HeldOutError("h200-sxm-vllm", "vllm", "h200-sxm", "llama-3.1-70b", 30, 0.03, 0.05, -0.01)
    trace = figures.held_out_figure([one]).data[0]

    assert (trace.x[0], trace.error_x.array[0]) == pytest.approx((0.03, 0.02))
    assert "median 3.0 %, mean 5.0 %, bias -1.0 % over 30 rows" in trace.text[0]
    assert "llama-3.1-70b, h200-sxm-vllm: 3.0 % median" in figures.held_out_alt([one])


def test_survival_has_its_interval():
    bar = survival_figure((0.7, 0.5), ((0.65, 0.75), (0.45, 0.56))).data[0]

    assert list(bar.error_y.array) == pytest.approx([0.05, 0.06])
    assert survival_alt((0.7, 0.5)) == "Survival by draft position: 70 %, 50 %."
