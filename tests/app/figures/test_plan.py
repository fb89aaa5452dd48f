"""Cost against latency of a plan's candidates."""

import pytest

from app.figures.load import Measure
from app.figures.plan import latency, pareto_alt, pareto_figure, size_px
from tests.app.dashboard.toy_plans import point

TPOT = Measure("tpot_s", "p95", 0.03)

CHEAP = point("cheap", usd_per_hour=20.0, num_gpus=8)
FAST = point("fast", usd_per_hour=40.0, num_gpus=16, tpot_s={"p95": 0.01}, gpu="b200-sxm")
BEATEN = point("beaten", usd_per_hour=50.0, tpot_s={"p95": 0.04}, speculation=None)
BOUNDED = point("bounded", usd_per_hour=60.0, tpot_s={"p95": None}, method="bound", why_not="cannot hold")


def drawn(*points, pareto=("cheap", "fast"), choice="cheap"):
    return pareto_figure(points, pareto, choice, TPOT)


def test_every_candidate_with_a_latency_is_drawn_once():
    shown = drawn(CHEAP, FAST, BEATEN, BOUNDED)

    names = [name for trace in shown.data if trace.customdata is not None for name, _ in trace.customdata]
    assert sorted(names) == ["beaten", "cheap", "fast"]


def test_the_choice_has_a_ring_and_the_front_runs_through_what_is_not_beaten():
    shown = drawn(CHEAP, FAST, BEATEN)

    front, ring = shown.data[0], shown.data[-1]
    assert list(front.x) == [20.0, 40.0]
    assert (list(ring.x), list(ring.text)) == ([20.0], ["choice"])


def test_what_can_be_beaten_is_faint_and_what_is_no_answer_is_a_cross():
    wrong = point("wrong", why_not="misses TPOT p95")

    shown = drawn(CHEAP, BEATEN, wrong)

    faint = next(trace for trace in shown.data if "beaten" in (trace.name or ""))
    assert faint.opacity < 0.5
    assert list(faint.marker.symbol) == ["circle-open", "x-thin"]


def test_more_gpus_are_a_larger_mark():
    assert size_px(CHEAP, [CHEAP, FAST]) < size_px(FAST, [CHEAP, FAST])


def test_the_target_is_a_line_within_the_figure():
    shown = drawn(CHEAP, FAST)

    assert shown.layout.shapes[0].y0 == 0.03
    assert 10 ** shown.layout.yaxis.range[1] >= 0.03


def test_a_plan_without_any_latency_is_an_empty_figure():
    assert len(drawn(BOUNDED, pareto=(), choice=None).data) == 1


def test_the_words_name_the_front_in_order_of_cost_and_the_choice():
    assert pareto_alt([FAST, CHEAP, BEATEN], ["cheap", "fast"], "cheap", TPOT) == (
        "$ per hour against TPOT p95 of 3 candidates; not beaten: cheap $20.00/h, 20.0 ms, 8 GPUs; "
        "fast $40.00/h, 10.0 ms, 16 GPUs. The choice is cheap."
    )


@pytest.mark.parametrize("found", [{}, {"p95": None}, {"p95": float("inf")}, None])
def test_a_latency_that_is_not_known_is_none(found):
    assert latency(point("x", tpot_s=found), TPOT) is None
