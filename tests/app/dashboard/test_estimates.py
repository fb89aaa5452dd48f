"""Estimates that are kept are those that the command line computes."""

import pytest

from app.dashboard.document import edited
from app.dashboard.estimates import estimated
from app.estimates import estimated as of_the_command_line
from scenarios.files import builtin_names
from scenarios.load import load_scenario

CHAT = load_scenario("h200_vs_b200_chat")


@pytest.mark.parametrize("name", builtin_names())
def test_a_page_shows_what_the_command_line_prints(name):
    loaded = load_scenario(name)

    shown, printed = estimated(loaded.points[0].scenario), of_the_command_line(loaded)
    rows = list(printed["rows"])
    first = [row for row in rows if row["point"] == rows[0]["point"]]

    assert [row | {"point": ""} for row in shown.rows] == [row | {"point": ""} for row in first]


@pytest.mark.parametrize(
    "changes",
    [
        {"workload.arrivals.rate_per_s": 3.5},
        {"deployments.b200-spec.price": 9.0},
        {"slo.ttft_s": {"p95": 0.4}},
        {"deployments.h200-plain.replicas": 2},
        {"deployments.h200-spec.speculation.propose.draft_tokens": 2},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_no_move_is_answered_with_an_earlier_estimate(changes):
    estimated(CHAT.points[0].scenario)
    moved = edited(CHAT, changes)

    shown = estimated(moved.points[0].scenario)

    assert shown.rows == list(of_the_command_line(moved)["rows"])
    assert shown.comparison == of_the_command_line(moved)["comparison"]


ABSTRACT = {
    "abstract": {"flops_ratio": 0.02, "latency_ratio": 0.1, "weights_gb": 2, "kv_bytes_per_token": 1000},
    "acceptance": {"all": {"tokens_per_step": 2.5, "at": 4}},
}


@pytest.mark.parametrize(
    "changes",
    [
        {"deployments.b200-spec.speculation.drafts.general": ABSTRACT},
        {"workload.arrivals": {"kind": "diurnal", "rate_per_s": 0.5, "period_s": 4000.0, "peak_to_mean": 1.5}},
    ],
    ids=["an abstract draft", "hours of a day below one request a second"],
)
def test_what_is_kept_can_be_read_again(changes):
    moved = edited(CHAT, changes).points[0].scenario

    assert all(row["fits"] for row in estimated(moved).rows)
