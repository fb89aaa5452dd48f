"""Lists that memory does not hold: gone through as often as need be, and the same JSON as if it did."""

import json

import pytest

from scenarios.streamed import Each, indented, json_parts, streamed

ROWS = [{"a": [1, 2], "b": {"c": None, "d": "x\ny"}}, {"a": [], "b": {}}]


def each(items):
    return Each(lambda: iter(items))


@pytest.mark.parametrize(
    ("value", "whole"),
    [
        (each(ROWS), ROWS),
        (each([]), []),
        ({"rows": each(ROWS), "more": ROWS, "name": "é"}, {"rows": ROWS, "more": ROWS, "name": "é"}),
        ({"runs": [{"rows": each(ROWS)}, {"error": "no"}]}, {"runs": [{"rows": ROWS}, {"error": "no"}]}),
        ({"runs": each([{"rows": each([1])}])}, {"runs": [{"rows": [1]}]}),
    ],
)
def test_the_json_is_that_of_the_list(value, whole):
    assert "".join(json_parts(value)) == indented(whole)
    assert streamed(value)


def test_what_has_no_such_list_is_written_at_once():
    assert list(json_parts(ROWS)) == [json.dumps(ROWS, indent=2)]


def test_items_are_made_when_they_are_written():
    made = []

    def numbers():
        for number in range(3):
            made.append(number)
            yield number

    parts = json_parts(Each(numbers))
    next(parts)

    assert made == [0]


def test_it_can_be_gone_through_twice():
    twice = each(ROWS)

    assert list(twice) == list(twice) == ROWS
