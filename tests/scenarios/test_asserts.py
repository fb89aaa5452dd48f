"""`assert` lines: the grammar, and what it says of rows."""

import pytest

from scenarios.asserts import check_asserts, parse_assert, row_fields
from simulator.errors import ScenarioError

NAMES = ["plain", "spec", "h200-3.5", "h200"]


def row(deployment: str, **fields: object) -> dict[str, object]:
    return {"deployment": deployment, "point": "base", "replication": "all", **fields}


ROWS = [
    row("plain", req_per_s=4.0, ttft_s={"p95": 0.8, "mean": 0.3}, saturated=False, mean_batch=None),
    row("spec", req_per_s=5.0, ttft_s={"p95": 0.4, "mean": 0.2}, saturated=True, mean_batch=3.0),
]


@pytest.mark.parametrize(
    ("line", "ok", "left", "right"),
    [
        ("spec.req_per_s > plain.req_per_s", True, 5.0, 4.0),
        ("spec.req_per_s<plain.req_per_s", False, 5.0, 4.0),
        ("spec.req_per_s <= plain.req_per_s * 1.25", True, 5.0, 5.0),
        ("spec.req_per_s >= 1.25 * plain.req_per_s", True, 5.0, 5.0),
        ("spec.ttft_s.p95 == plain.ttft_s.p95 * 0.5", True, 0.4, 0.4),
        ("spec.ttft_s.mean < 2.5e-1", True, 0.2, 0.25),
        ("1 < plain.ttft_s.p95", False, 1.0, 0.8),
        ("plain.saturated == false", True, 0.0, 0.0),
        ("spec.saturated == 0", False, 1.0, 0.0),
        ("plain.req_per_s * -1 < 0", True, -4.0, 0.0),
    ],
)
def test_a_line_compares_results(line, ok, left, right):
    assert check_asserts([line], ROWS) == [(line, ok, pytest.approx(left), pytest.approx(right))]


def test_a_result_that_a_run_does_not_have_never_holds():
    assert check_asserts(["plain.mean_batch < 9"], ROWS) == [("plain.mean_batch < 9", False, None, 9.0)]


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("plan.req_per_s < 3", "no deployment 'plan'; nearest: plain"),
        ("plain.req_per_sec < 3", "no result 'req_per_sec' in a row; nearest: req_per_s"),
        ("plain.ttft < 3", "no result 'ttft' in a row; nearest: ttft_s"),
        ("plain < 3", "no deployment 'plain'"),
        ("plain.ttft_s.p96 < 3", "no statistic 'p96'; nearest: p9"),
        ("plain.ttft_s < 3", "plain.ttft_s has several numbers: add one of mean, p50"),
        ("plain.req_per_s.p95 < 3", "plain.req_per_s is one number: leave out .p95"),
        ("plain.req_per_s = 3", "one of < <= > >= == stands between two sides"),
        ("plain.req_per_s != 3", "one of < <= > >= =="),
        ("plain.req_per_s", "one of < <= > >= =="),
        ("1 < plain.req_per_s < 3", "one of < <= > >= =="),
        ("2 < 3", "compares no result"),
        ("plain.req_per_s * spec.req_per_s < 3", "a result is multiplied by a number only"),
        ("plain.req_per_s * 2 * 3 < 3", "a side is a result, a number, or a result * number"),
        ("plain.req_per_s < ", "a side is a result"),
        ("plain.req_per_s < nan", "no deployment 'nan'"),
        ("plain.req_per_s < __import__('os').x", "no deployment"),
        ("plain.req_per_s < " + "9" * 600, "at most 500 characters"),
    ],
)
def test_a_line_that_cannot_be_read_is_refused_with_the_way_out(line, part):
    with pytest.raises(ScenarioError) as error:
        parse_assert(line, NAMES)

    assert part in str(error.value)


def test_a_deployment_name_may_hold_dots():
    left = parse_assert("h200-3.5.req_per_s < h200.req_per_s", NAMES).left

    assert (left.deployment, left.field) == ("h200-3.5", "req_per_s")


def test_without_a_row_over_all_the_mean_of_the_replications_counts():
    rows = [row("plain", req_per_s=value) | {"replication": index} for index, value in enumerate((1.0, 3.0))]

    assert check_asserts(["plain.req_per_s == 2"], rows)[0].ok
    assert check_asserts(["plain.req_per_s == 9"], [*rows, row("plain", req_per_s=9.0)])[0].ok


def test_a_line_must_hold_at_every_point_and_names_the_first_where_it_does_not():
    rows = [row("plain", req_per_s=float(rate)) | {"point": {"rate": rate}} for rate in (1, 5, 9)]

    result = check_asserts(["plain.req_per_s < 4", "plain.req_per_s < 10"], rows)

    assert result[0] == ("plain.req_per_s < 4 (at rate=5)", False, 5.0, 4.0)
    assert result[1] == ("plain.req_per_s < 10", True, 9.0, 10.0)


def test_without_rows_nothing_holds():
    with pytest.raises(ScenarioError):
        check_asserts(["plain.req_per_s < 4"], [])


def test_every_latency_has_statistics():
    assert {name for name, several in row_fields().items() if several} == {"ttft_s", "tpot_s", "itl_s", "e2e_s"}
