import plotly.graph_objects as go
import pytest

from app.figures.style import GPU_LOOKS, across, gpu_look, log_axis, looks, safe, upright


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
