import numpy as np
import pytest

from app.figures import arrivals as figures
from tests.app.figures.toys import LOOKS, named, texts

TIMES = np.array([10.0, 10.2, 10.9, 11.0, 12.5, 14.0])
PROMPTS, OUTPUTS = np.array([100, 200, 300, 4000]), np.array([10, 20, 30, 40])


@pytest.mark.parametrize(("span_s", "window"), [(0.0, 0.1), (12.0, 0.1), (600.0, 5), (3600.0, 30), (3e7, 250_000.0)])
def test_windows_are_round_and_at_most_120(span_s, window):
    assert figures.window_s(span_s) == window


def test_requests_are_counted_from_the_first_and_the_last_window_is_left_out_where_it_is_not_whole():
    window, rates = figures.by_window(TIMES)

    assert window == 0.1
    assert (rates * window).sum() == 5
    assert rates[0] == pytest.approx(10.0)


def test_a_single_moment_is_one_window():
    _, rates = figures.by_window(np.array([5.0, 5.0, 5.0]))

    assert rates.tolist() == [30.0]


def test_capacities_stand_as_lines_beside_the_mean():
    shown = figures.arrivals_figure(TIMES, {"h200": (2.0, LOOKS["h200"])})

    assert list(named(shown, "capacity of h200")[0].y) == [2.0, 2.0]
    assert "2.00 requests/s" in texts(shown)
    assert named(shown, "mean 1.25")[0].y[0] == pytest.approx(1.25)
    assert "h200 holds 2.00, exceeded in 12 % of them" in figures.arrivals_alt(TIMES, {"h200": (2.0, LOOKS["h200"])})


def test_lengths_are_shares_of_requests_and_end_where_a_sequence_does():
    shown = figures.lengths_figure(PROMPTS, OUTPUTS, {"h200": 8192, "b200": 8192})
    prompt = named(shown, "prompt")[0]

    assert (prompt.x[0], prompt.x[-1], prompt.y[-1]) == (100, 4000, 1.0)
    assert [annotation.text for annotation in shown.layout.annotations] == ["longest 8,192"]
    assert "prompt mean 1,150, p50 250" in figures.lengths_alt(PROMPTS, OUTPUTS, {})
