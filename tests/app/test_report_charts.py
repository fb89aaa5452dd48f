import numpy as np
import pytest

from app.report.bars import stacked
from app.report.charts import knee_of, load_charts
from app.report.knee import knee
from app.report.scales import Scale, linear_scale, linear_ticks, log_scale, log_ticks
from app.report.svg import COLOURS, DASHES, MARKERS, legend


def trial(load, latency, **changes):
    made = {"load": load, "req_per_s": load, "ttft_s_p95": latency, "tpot_s_p95": 0.02, "e2e_s_mean": latency,
            "goodput_req_per_s": load, "holds": True, "saturated": False, "replication": 0}  # fmt: skip
    return made | changes


def test_the_knee_of_a_queue_is_at_half_of_its_rate():
    rates = np.linspace(1, 9.5, 12)

    assert knee([(rate, 1 / (10 - rate)) for rate in rates]) == pytest.approx(5.0, rel=0.05)


def test_a_latency_that_hardly_grows_has_no_knee():
    assert knee([(1.0, 1.0), (2.0, 1.1), (3.0, 1.2), (4.0, 1.3)]) is None


def test_saturated_loads_and_other_replications_make_no_knee():
    loads = [trial(rate, 1 / (10 - rate)) for rate in (1, 3, 5, 7, 9)]

    assert knee_of([*loads, trial(12, 0.001, saturated=True), trial(20, 0.001, replication=1)]) == knee_of(loads)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.0, 9.7), (0.0, 12345.0), (0.0, 0.003)])
def test_linear_ticks_are_few_and_within(low, high):
    ticks = linear_ticks(low, high, 6)

    assert 2 <= len(ticks) <= 6
    assert low <= min(ticks)
    assert max(ticks) <= high * (1 + 1e-9)


@pytest.mark.parametrize(("low", "high"), [(0.01, 0.05), (0.013, 87.0), (1e-6, 1e6), (0.4, 1.8)])
def test_log_ticks_are_few_and_within(low, high):
    ticks = log_ticks(low, high, 6)

    assert 1 <= len(ticks) <= 6
    assert all(low * 0.999 <= tick <= high * 1.001 for tick in ticks)


@pytest.mark.parametrize("values", [[], [0.0], [5.0], [float("nan"), 3.0], [1e-9, 1e9]])
def test_any_values_make_an_axis(values):
    for scale in (linear_scale(values, 0.0, 100.0), log_scale(values, 0.0, 100.0)):
        assert scale.high > scale.low
        assert 0 <= scale.px(values[0] if values else 1.0) <= 100 or np.isnan(values[0])


def test_values_beyond_an_axis_are_drawn_at_its_end():
    scale = Scale(1.0, 10.0, 50.0, 350.0, log=True)

    assert [scale.px(value) for value in (0.1, 1e5)] == [50.0, 350.0]


def test_a_saturated_load_is_hollow_and_off_the_line():
    evidence = {"trials": [trial(1, 0.1), trial(2, 0.2), trial(3, 9.0, saturated=True)]}

    chart = load_charts([("a", evidence, {"capacity_req_per_s": 2.5})], {"ttft_s": {"p95": 0.5}}, clients=False)[0]

    assert chart.count("hollow") == 1
    assert chart.count("<polyline") == 1
    (line,) = [part for part in chart.split("<") if part.startswith("polyline")]
    assert line.split('points="')[1].split('"')[0].count(",") == 2
    assert "capacity of a: 2.50 requests/s" in chart
    assert "limit 500 ms" in chart


def test_a_load_far_beyond_every_capacity_does_not_flatten_the_curve():
    evidence = {"trials": [trial(1, 0.1), trial(2, 0.2), trial(300, 9.0, saturated=True)]}

    chart = load_charts([("a", evidence, {"capacity_req_per_s": 2.5})], {}, clients=False)[0]

    assert "hollow" not in chart
    assert ">300<" not in chart


def test_series_differ_by_more_than_their_colour():
    looks = {(series % len(DASHES), series % len(MARKERS), series % COLOURS) for series in range(COLOURS)}

    assert len(looks) == COLOURS
    assert legend(["a", "b"]).count("<li>") == 2


def test_parts_of_a_bar_fill_it():
    bar = stacked("x", [("a", 1.0, "1"), ("b", 3.0, "3"), ("none", 0.0, "0")], 4.0, {"a": 0, "b": 1, "none": 2})

    assert 'width="25.00%"' in bar
    assert 'width="75.00%"' in bar
    assert bar.count("<rect") == 2
    assert "edge" not in bar


def test_a_bar_that_holds_too_much_shows_where_the_room_ends():
    assert "edge" in stacked("x", [("a", 8.0, "8")], 4.0, {"a": 0})
