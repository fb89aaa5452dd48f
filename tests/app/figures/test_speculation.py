import numpy as np
import pytest

from app.figures import speculation as figures
from app.figures.speculation import GainLine, GainMap
from app.format import times, usd
from tests.app.figures.toys import LOOKS, texts

GAINS = GainMap("sequences in flight", [1, 4, 16], np.array([[1.0, 1.8], [1.0, 1.2], [1.0, np.nan]]), 2.5, 1, "formula")


def test_cells_say_their_value_and_empty_ones_why():
    heat = figures.speedup_map(GAINS).data[0]

    assert heat.text[1][1] == "1.20"
    assert heat.text[2][1] == ""
    assert "no place" in heat.customdata[2][1]
    assert heat.customdata[0][1] == "sequences in flight 1, K = 1: speed-up 1.80× · formula"


def test_even_is_the_middle_of_the_colours():
    heat = figures.speedup_map(GAINS).data[0]

    assert heat.zmin == -heat.zmax
    assert heat.z[0][0] == 0.0


def test_the_readers_point_is_a_star_between_its_rows():
    star = figures.cost_map(GAINS).data[1]

    assert (star.marker.symbol, star.y[0]) == ("star", 0.5)


def test_a_map_without_any_place_is_still_drawn():
    nothing = GAINS._replace(values=np.full((3, 2), np.nan))

    assert figures.cost_map(nothing).data[0].text[0][0] == ""
    assert "no point has a place" in figures.map_alt(nothing, "Cost", usd)


def test_the_line_of_a_gpu_ends_to_pay_at_its_mark():
    line = GainLine("b200", LOOKS["b200"], [1, 4, 16], [1.8, 1.2, 0.9], [1.8, 1.3, 1.0], 11.0)
    shown = figures.pays_figure([line], 4)

    assert [trace.x[0] for trace in shown.data if trace.mode == "markers"] == [11.0]
    assert "K = 4, 4 sequences: 1.20×" in texts(shown)
    assert "b200: pays up to 11 sequences per replica" in figures.pays_alt([line], 4)


def test_a_line_that_always_pays_has_no_mark():
    line = GainLine("b200", LOOKS["b200"], [1, 4], [1.8, 1.2], [1.8, 1.3], float("inf"))

    assert all(trace.mode == "lines" for trace in figures.pays_figure([line], 4).data)


def test_a_map_is_also_said():
    assert figures.map_alt(GAINS, "Speed-up", times) == (
        "Speed-up by sequences in flight (1.00 to 16.0) and draft tokens (0 to 1): from 1.00× to 1.80×; at your point 1.80×."
    )


@pytest.mark.parametrize(("sizes", "best", "runs"), [([1, 2], [0, 0], [(1, 2, 0)]), ([], [], [])])
def test_runs_of_equal_draft_tokens_are_put_together(sizes, best, runs):
    assert figures.schedule(sizes, best) == runs
