import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.figures.names import LEGEND_LETTERS, short
from app.figures.points import no_points, points
from app.figures.style import (
    GPU_LOOKS,
    ROW_PX,
    across,
    figure,
    gpu_look,
    log_axis,
    looks,
    safe,
    upright,
    with_room,
)


def test_a_gpu_looks_the_same_beside_any_other():
    alone = looks({"x": ("b200-sxm", True)})["x"]
    beside = looks({"y": ("h100-sxm", True), "x": ("b200-sxm", True)})["x"]

    assert alone == beside


def test_no_two_deployments_of_a_scenario_look_alike_even_without_colour():
    names = {
        f"{gpu} {kind} {n}": (gpu, kind)
        for gpu in ("h200-sxm", "b200-sxm", "h100-sxm")
        for kind in (True, False)
        for n in (1, 2, 3)
    }

    found = looks(names)

    assert len({(look.symbol, look.dash) for look in found.values()}) == len(names)


@pytest.mark.parametrize("speculates", [True, False])
def test_eight_deployments_of_one_gpu_do_not_look_alike(speculates):
    found = looks({f"fleet-{n}": ("h200-sxm", speculates) for n in range(8)})

    assert len(set(found.values())) == 8


def test_gpus_beyond_the_two_get_colours_of_their_own():
    colours = {gpu_look(gpu, ["h100-sxm", "gb200"])[0] for gpu in (*GPU_LOOKS, "h100-sxm", "gb200")}

    assert len(colours) == 4


def test_a_users_text_stays_text():
    assert "<" not in safe('<a href="https://x">y</a>')


def test_ticks_of_a_logarithmic_axis_are_round_and_within_it():
    axis = log_axis([0.012, 0.9], str)

    assert all(10 ** axis["range"][0] <= tick <= 10 ** axis["range"][1] for tick in axis["tickvals"])


@pytest.mark.parametrize(("draw", "axis", "at"), [(across, "yaxis", "y"), (upright, "xaxis", "x")])
def test_a_line_and_its_text_stand_at_the_same_place_of_a_logarithmic_axis(draw, axis, at):
    figure = go.Figure(layout={axis: {"type": "log"}})

    draw(figure, 100.0, "limit")

    assert figure.layout.shapes[0][f"{at}0"] == 100.0
    assert figure.layout.annotations[0][at] == 2.0


LONG = [f"production-eu-west-{n}-chat-fleet-with-a-name-that-goes-on-and-on" for n in range(8)]


def drawn(names):
    shown = figure("x", "y", height=300)
    for name in names:
        shown.add_scatter(x=[1, 2], y=[3, 4], name=safe(name), hovertemplate="%{fullData.name}: %{y}<extra></extra>")
    return shown


@given(st.lists(st.text("abc-", min_size=1, max_size=60), unique=True, max_size=9))
def test_short_names_are_short_and_still_different(names):
    found = short(names)

    assert len(set(found)) == len(names)
    assert all(len(text) <= LEGEND_LETTERS for text in found)
    assert all(text == name for text, name in zip(found, names, strict=True) if len(name) <= LEGEND_LETTERS)


def test_names_are_told_by_where_they_differ():
    assert short(LONG)[3].startswith("…3-chat-fleet")


def test_long_names_leave_the_lines_as_much_room_as_short_ones():
    shown = with_room(drawn(LONG))

    assert shown.layout.height == 300 + 7 * ROW_PX
    assert all(len(trace.name) <= LEGEND_LETTERS for trace in shown.data)


def test_whole_names_stay_in_notes_and_in_what_is_taken_away():
    whole = drawn(["h<200>-" + "n" * 60])
    shown = with_room(whole)

    assert "h&lt;200&gt;-" + "n" * 60 in shown.data[0].hovertemplate
    assert "…" in shown.data[0].name
    assert points(whole)[0]["series"] == "h<200>-" + "n" * 60


def test_four_short_names_stand_in_one_row():
    whole = drawn(["h200-plain", "h200-spec", "b200-plain", "b200-spec"])

    assert with_room(whole) is whole


def test_a_figure_of_axes_and_empty_lines_has_no_points():
    assert no_points(figure("x", "y").add_scatter(x=[], y=[]))
    assert not no_points(drawn(["a"]))
