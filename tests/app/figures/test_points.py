"""What a figure draws, as rows."""

import pytest

pytest.importorskip("plotly", reason="needs plotly")

from app.figures.acceptance import survival_figure
from app.figures.points import names, points
from app.figures.price_ratio import Side, Tie, price_ratio
from app.figures.style import figure


def test_a_line_gives_its_points_under_the_titles_of_the_axes():
    tie = Tie(
        Side("a<b", "h200-sxm", False, 4.0),
        Side("b", "b200-sxm", True, 6.0),
        "usd_per_hour_for_offered",
        1.0,
        1.5,
        None,
    )

    rows = points(price_ratio(tie))

    assert rows[0] == {"series": "a<b", "price of h200-sxm ÷ b200-sxm": 0, "$/h for the load": 0}
    assert rows[-1]["note"] == "tie 1.50×"
    assert rows[-1]["price of h200-sxm ÷ b200-sxm"] == 1.5


def test_an_interval_gives_its_ends():
    rows = points(survival_figure((0.8, 0.6), ((0.7, 0.9), (0.5, 0.8))))

    assert [row["draft position"] for row in rows] == [1, 2]
    assert [(row["low"], row["high"]) for row in rows] == [pytest.approx((0.7, 0.9)), pytest.approx((0.5, 0.8))]
    assert rows[1]["note"].startswith("position 2: 60")


def test_a_bar_that_begins_elsewhere_gives_where_it_ends():
    drawn = figure("$/M", "").add_bar(x=[-1.0, 2.0], base=[5.0, 5.0], y=["p", "q"], orientation="h", name="low end")

    assert points(drawn) == [
        {"series": "low end", "$/M": 4.0, "y": "p"},
        {"series": "low end", "$/M": 7.0, "y": "q"},
    ]


def test_a_map_gives_a_row_for_each_cell():
    drawn = figure("K", "batch").add_heatmap(
        x=[0, 1], y=[8], z=[[1.0, 1.5]], text=[["1.00", "1.50"]], customdata=[["p", "q"]]
    )

    assert [(row["K"], row["batch"], row["value"]) for row in points(drawn)] == [(0, 8, 1.0), (1, 8, 1.5)]


def test_both_axes_may_have_one_title():
    drawn = figure("tokens/s", "tokens/s").add_scatter(x=[1.0], y=[2.0])

    assert points(drawn) == [{"series": "", "tokens/s": 1.0, "tokens/s (vertical)": 2.0}]


def test_columns_come_in_order_with_the_note_last():
    assert names([{"series": "a", "note": "n"}, {"series": "b", "low": 1.0}]) == ["series", "low", "note"]
