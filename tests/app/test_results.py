"""A summary's lists are made of points that are read when they are gone through, and named as they are swept now."""

from collections.abc import Mapping

import pytest

from app.results import PointResult, any_holds, put_together
from app.tables.sweep import MOST_CHANGES, left_out
from tests.app import toys


class Read(Mapping):
    """A result that counts how often its rows are asked for."""

    def __init__(self, result):
        self.result, self.reads = result, 0

    def __getitem__(self, key):
        self.reads += key == "rows"
        return self.result[key]

    def __iter__(self):
        return iter(self.result)

    def __len__(self):
        return len(self.result)


def point(rate, leader="plain", **row):
    rows = [toys.row(point="of an earlier run", **row), toys.row("spec", point="of an earlier run", **row)]
    result = {"rows": rows, "replications": rows[:1], "comparison": toys.comparison(leader), "provenance": {"seed": 1}}
    return PointResult(f"rate={rate}", {"a.rate": rate}, f"{rate}", Read(result), 0.0)


@pytest.fixture
def points():
    return [point(1), point(2), point(3)]


def test_rows_stand_under_the_label_that_their_point_has_now(points):
    summary = put_together("chat", points, ())

    assert [row["point"] for row in summary["rows"]] == [f"rate={rate}" for rate in (1, 1, 2, 2, 3, 3)]
    assert [row["point"] for row in summary["replications"]] == ["rate=1", "rate=2", "rate=3"]


def test_a_point_is_read_when_its_rows_are_gone_through_and_no_sooner(points):
    summary = put_together("chat", points, ())
    before = points[2].result.reads

    rows = iter(summary["rows"])
    next(rows)
    assert points[2].result.reads == before

    assert any_holds(summary["rows"])
    assert points[2].result.reads == before


def test_points_are_counted_without_a_look_at_them(points):
    summary = put_together("chat", points, ())
    for one in points:
        one.result.result.clear()

    assert len(summary["points"]) == 3


def test_asserts_look_at_every_point(points):
    summary = put_together("chat", [*points, point(4, num_gpus=9)], ["plain.num_gpus == 2", "spec.num_gpus < 10"])

    assert [result["ok"] for result in summary["asserts"]] == [False, True]
    assert summary["asserts"][0]["text"].endswith("(at rate=4)")


def test_a_provenance_is_repeated_only_where_it_is_another(points):
    other = PointResult("rate=9", {"a.rate": 9}, "9", {**points[0].result, "provenance": {"seed": 2}}, 0.0)

    swept = list(put_together("chat", [*points, other], ())["points"])

    assert [one.get("provenance") for one in swept] == [None, None, None, {"seed": 2}]


def test_a_leader_that_changes_all_the_time_is_told_so_many_times():
    points = [point(rate, "plain" if rate % 2 else "spec") for rate in range(40)]

    sentence = put_together("chat", points, ())["comparison"]["flip"]["sentence"]

    assert sentence.count(" → ") == MOST_CHANGES
    assert sentence.endswith(f"and {39 - MOST_CHANGES} times more")


def test_a_table_says_what_it_leaves_out():
    assert "The first 2 of 3 points" in left_out(3, shown=2)
    assert left_out(2, shown=2) == ""
