import numpy as np
import pytest

from app.figures import ways as figures
from app.figures.ways import Measure, PayMap, WayLine
from app.format import usd
from tests.app.figures.toys import texts

NAN = float("nan")
LINES = [
    WayLine("a chain", [1, 4, 16], [1.8, 1.4, NAN], [9.0, 4.0, NAN]),
    WayLine("a <b>tree</b>", [1, 4, 16], [2.0, 1.2, 0.9], [8.0, 4.5, 3.0]),
    WayLine("one long chain", [1, 4, 16], [1.5, 1.1, 0.8], [10.0, 5.0, 3.5], baseline=True),
]


def test_every_way_is_drawn_in_speed_up_and_in_cost():
    drawn = figures.ways_figure(LINES, 4.0).data

    assert [trace.yaxis for trace in drawn] == ["y", "y2"] * 3
    assert drawn[0].y[:2] == (1.8, 1.4)
    assert drawn[3].y == (8.0, 4.5, 3.0)


def test_ways_differ_in_colour_and_in_marker_and_the_baseline_is_grey_and_dashed():
    chain, _, tree, _, baseline, _ = figures.ways_figure(LINES, 4.0).data

    assert chain.line.color != tree.line.color
    assert chain.marker.symbol != tree.marker.symbol
    assert (baseline.line.color, baseline.line.dash) == (figures.FAINT, "dash")


def test_many_ways_still_differ():
    many = [WayLine(str(n), [1, 4], [1.0, 1.0], [1.0, 1.0]) for n in range(12)]
    looks = {(trace.line.color, trace.line.dash, trace.marker.symbol) for trace in figures.ways_figure(many, 1.0).data}

    assert len(looks) == 12


def test_a_way_is_named_as_text_and_once_in_the_legend():
    drawn = figures.ways_figure(LINES, 4.0).data

    assert drawn[2].name == "a &lt;b&gt;tree&lt;/b&gt;"
    assert [trace.showlegend for trace in drawn] == [True, False] * 3


def test_ways_are_said_at_the_readers_batch():
    said = figures.ways_alt(LINES, 16.0)

    assert "a chain without a place" in said
    assert "one long chain 0.800×, $3.50 per million" in said


COST = Measure("$ per M", {"beside": 1.0, "apart": 2.0, "none": None}, {"beside": [0.8, 1.3], "none": None}, usd)


def test_every_measure_has_a_panel_with_its_intervals():
    drawn = figures.side_by_side([COST, COST._replace(title="again")])
    first, second = drawn.data

    assert (first.x, first.xaxis, second.xaxis) == ((1.0, 2.0, None), "x", "x2")
    assert first.error_x.array == pytest.approx((0.3, 0.0, 0.0))
    assert first.error_x.arrayminus == pytest.approx((0.2, 0.0, 0.0))
    assert first.y == ("beside · $1.00", "apart · $2.00", "none · –")
    assert [note.text for note in drawn.layout.annotations] == ["$ per M", "again"]
    assert drawn.layout.yaxis.domain[0] > drawn.layout.yaxis2.domain[1]


def test_measures_are_also_said():
    assert figures.side_by_side_alt([COST]) == "$ per M: beside $1.00, apart $2.00, none –."


SCHEDULE = {
    "sequences": [1, 64],
    "contexts": [
        {"context_tokens": 1199.0, "own": True, "best_draft_tokens": [4, 0], "gain": [2.0, 0.98]},
        {"context_tokens": 4096, "own": False, "best_draft_tokens": [3, None], "gain": [1.9, None]},
    ],
}


def test_a_schedule_says_k_and_gain_where_it_drafts_and_off_where_it_does_not():
    cells = figures.schedule_figure(SCHEDULE).data[0]

    assert [list(line) for line in cells.text] == [["K 4 · 2.00×", "K 3 · 1.90×"], ["off", ""]]
    assert list(cells.x) == ["1,199 (yours)", "4,096"]
    assert cells.z[0][0] == pytest.approx(np.log(2.0))
    assert np.isnan(cells.z[1][1])


PAYS = PayMap(
    [1, 8, 64], [0.3, 0.6, 0.9], np.array([[1.2, 1.0, 0.8], [1.6, 1.3, 0.9], [2.5, 1.8, NAN]]),
    np.array([[2.0, 1.0, 1.0], [4.0, 3.0, 1.0], [8.0, 6.0, NAN]]), [0.1, 0.3, NAN], (22.6, 0.7),
)  # fmt: skip


def test_the_readers_point_lies_between_columns_and_at_its_acceptance():
    star = figures.pay_map(PAYS).data[-1]

    assert star.marker.symbol == "star"
    assert (1 < star.x[0] < 2, star.y[0]) == (True, 0.7)


def test_a_cell_says_speed_up_and_k_and_an_empty_one_why():
    said = texts(figures.pay_map(PAYS))

    assert "1 sequences, α 0.30: 1.20× with K = 2" in said
    assert "64 sequences, α 0.90: no place" in said


def test_the_line_is_where_it_is_even_and_ends_where_it_never_is():
    even = next(trace for trace in figures.pay_map(PAYS).data if str(trace.name).startswith("even"))

    assert even.y[:2] == (0.1, 0.3)
    assert np.isnan(even.y[2])
    assert even.connectgaps is False


def test_even_is_the_middle_of_the_colours_and_ticks_say_speed_ups():
    cells = figures.pay_map(PAYS).data[0]

    assert cells.zmin == -cells.zmax
    assert "1×" in cells.colorbar.ticktext
    assert max(cells.colorbar.tickvals) <= cells.zmax


def test_a_scale_that_reaches_far_has_few_ticks():
    near = PAYS._replace(speedup=np.clip(PAYS.speedup, 0.6, 1.6))

    assert figures.pay_map(PAYS).data[0].colorbar.ticktext == ("0.5×", "1×", "1.5×", "2×")
    assert figures.pay_map(near).data[0].colorbar.ticktext == ("0.7×", "0.8×", "1×", "1.25×", "1.5×")


def test_the_map_is_also_said():
    assert figures.pay_alt(PAYS, "It pays.").endswith("from 0.800× to 2.50×. It pays.")
    nothing = PAYS._replace(speedup=np.full((3, 3), NAN))
    assert "no point has a place" in figures.pay_alt(nothing, "")
