import numpy as np
import pytest

from app.figures import load as figures
from app.figures.load import Measure
from tests.app.figures.toys import LOOKS, curve, drawn, named, texts, trial

TPOT = Measure("tpot_s", "p95", 0.3)


def test_a_line_is_bright_up_to_the_capacity_and_faint_beyond():
    bright, faint = [trace for trace in figures.latency_figure([drawn()], TPOT).data if "lines" in trace.mode]

    assert (max(bright.x), bright.opacity, min(faint.x), faint.opacity) == (6, 1.0, 6, 0.35)


def test_a_capacity_that_comes_from_numpy_is_drawn_like_any_other():
    shown = figures.latency_figure([drawn(curve=curve(np.float64(6.0)))], TPOT)

    assert [trace.showlegend for trace in shown.data if "lines" in trace.mode] == [True, False]


def test_the_capacity_is_the_only_dot_on_the_line():
    line = figures.latency_figure([drawn()], TPOT).data[0]

    assert [size > 0 for size in line.marker.size] == [False] * 5 + [True]


def test_the_knee_is_where_throughput_per_time_is_largest():
    knee = next(t for t in figures.latency_figure([drawn()], TPOT).data if t.marker.symbol == "triangle-up")

    assert knee.x[0] == pytest.approx(5.0, abs=0.1)
    assert "Kleinrock" in knee.text[0]


def test_the_target_and_the_offered_load_are_drawn():
    shown = figures.latency_figure([drawn()], TPOT)

    assert {note.text for note in shown.layout.annotations} == {"target 300 ms", "offered"}
    assert figures.latency_figure([drawn()], TPOT._replace(limit_s=None)).layout.annotations[0].text == "offered"


def test_simulated_loads_are_points_and_saturated_ones_are_left_out():
    evidence = {"trials": [trial(3.0), trial(4.0, replication=1), trial(9.0, saturated=True)]}

    shown = figures.latency_figure([drawn(evidence=evidence)], TPOT)

    assert any(list(trace.x) == [3.0, 4.0] for trace in shown.data)
    assert "simulated, replication 1" in texts(shown)


def test_the_offered_load_has_its_interval():
    row = {"req_per_s": 4.0, "tpot_s": {"p95": 0.02}, "interval": {"tpot_s.p95": [0.018, 0.023]}, "saturated": False}

    error = figures.latency_figure([drawn(row=row)], TPOT).data[-1].error_y

    assert (error.array[0], error.arrayminus[0]) == pytest.approx((0.003, 0.002))


def test_a_saturated_run_gives_no_point_at_the_offered_load():
    row = {"req_per_s": 4.0, "tpot_s": {"p95": 0.02}, "interval": {}, "saturated": True}

    assert not any(
        4.0 in trace.x and len(trace.x) == 1 for trace in figures.latency_figure([drawn(row=row)], TPOT).data
    )


def test_goodput_falls_behind_the_load_and_says_so():
    shown = figures.goodput_figure([drawn(evidence={"trials": [trial(3.0)]})])

    assert max(named(shown, "h200")[1].y) == 6
    assert "6.00 of 9.00 requests/s are good" in texts(shown)
    assert "2.70 good requests/s · simulated" in texts(shown)


def test_cost_says_its_formula():
    shown = figures.cost_figure([drawn()])

    assert "$5.00: cluster $/h ÷ 3,600 ÷ output tokens/s × 10⁶ at 6.00 requests/s · estimated, profile x" in texts(
        shown
    )


def test_a_distribution_is_the_simulations_where_there_is_one():
    run = {"shares": [0.5, 1.0], "quantiles": {"ttft_s": [0.1, 0.3], "tpot_s": [], "e2e_s": [1, 2]}}
    one = drawn(evidence={"run": run, "trials": []})

    assert list(figures.distribution_figure([one], "ttft_s").data[0].x) == [0.1, 0.3]
    assert list(figures.distribution_figure([one], "tpot_s").data[0].x) == [0.1, 0.2, 0.4]


def test_a_distribution_has_its_target():
    shown = figures.distribution_figure([drawn()], "ttft_s", 0.3)

    assert [(line.x0, line.x1) for line in shown.layout.shapes] == [(0.3, 0.3)]
    assert [note.text for note in shown.layout.annotations] == ["target 300 ms"]


def test_two_gpus_differ_in_colour_dash_and_marker():
    first, second = (LOOKS[name] for name in ("h200", "b200"))

    assert all(a != b for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize(
    ("alt", "said"),
    [
        (figures.latency_alt([drawn()], TPOT), "TPOT p95 against requests per second, target 300 ms. h200: 167 ms"),
        (figures.goodput_alt([drawn()]), "Most: h200 6.00"),
        (figures.cost_alt([drawn()]), "h200 $5.00 at its capacity of 6.00 requests/s"),
        (figures.distribution_alt([drawn()], "ttft_s"), "h200: p50 200 ms, p95 400 ms"),
    ],
)
def test_every_figure_is_also_said(alt, said):
    assert said in alt
