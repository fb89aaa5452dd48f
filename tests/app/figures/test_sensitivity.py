"""The tornado."""

from app.figures.sensitivity import tornado, tornado_alt
from tests.app.test_sensitivity import HOUR, bar, costs, found


def named(figure, name):
    return next((trace for trace in figure.data if trace.name == name), None)


def test_bars_go_from_the_cost_now_to_that_at_each_end():
    high = named(tornado(found()), "high end")

    assert (list(high.base), list(high.x)) == ([7.0], [7.0])
    assert "a rate: ×1.25 · $14.00" in high.customdata[0]


def test_the_widest_bar_is_on_top():
    figure = tornado(found(bar("wide"), bar("narrow", high=costs(plain=8.0))))

    assert [label.split("<br>")[0] for label in figure.layout.yaxis.categoryarray] == ["narrow", "wide"]


def test_an_end_that_turns_the_winner_has_a_cross():
    figure = tornado(found(bar(winners=("plain", "spec"))))

    assert list(named(figure, "turns").x) == [14.0]
    assert named(tornado(found()), "turns") is None


def test_an_end_that_does_not_hold_has_no_bar():
    figure = tornado(found(bar(high=costs(plain=None), winners=("plain", None))))

    assert list(named(figure, "high end").x) == []


def test_another_deployment_can_be_looked_at():
    both = {"low": costs(plain=7.0, spec=14.0), "high": costs(plain=14.0, spec=15.0)}

    assert list(named(tornado(found(bar(**both)), "spec"), "high end").x) == [1.0]


def test_an_input_and_its_interval_stand_in_two_lines():
    lists = bar("price")
    for end, name in zip(lists["ends"], ("spheron-on-demand", "aws-on-demand"), strict=True):
        end["at"] = name
    figure = tornado(found(bar("rate"), lists))

    assert figure.layout.yaxis.categoryarray == ("price  spheron-on-demand<br>… aws-on-demand", "rate<br>×0.80 … ×1.25")
    assert figure.layout.xaxis.title.text == "$/h for the load"


def test_names_from_a_file_are_no_markup():
    figure = tornado(found(bar("<b>rate</b>")))

    assert "<b>" not in figure.layout.yaxis.categoryarray[0]


def test_the_same_is_said_in_words():
    said = tornado_alt(found(bar(winners=("plain", "spec"))))

    assert "rate $7.00 to $14.00, where spec is cheaper" in said
    assert "75 % of the draws" in said
    assert HOUR not in said
