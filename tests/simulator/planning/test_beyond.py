"""What is predicted beyond what was measured is said, and nothing else."""

from simulator.planning.beyond import beyond_measured
from simulator.planning.context import row_context
from tests.simulator.outcome import specs

DEVICE = {
    "gpu": "cpu-1thread",
    "target": {"model": "smollm2-135m", "weights": "fp32", "kv": "fp32"},
    "engine": {"policy": "specfleet", "max_model_len": 512},
}
"""A profile that holds whole steps of up to nine tokens of a sequence."""


def copying(draft_tokens, known, **changes):
    drafts = {"copied": {"ngram": {}, "acceptance": {"all": {"survival": [0.5] * known}}}}
    speculation = {"kind": "ngram", "drafts": drafts, "propose": {"draft_tokens": draft_tokens}}
    return specs.scenario({"it": {"speculation": speculation} | changes})


def said(scenario):
    return list(beyond_measured(scenario.deployments["it"], scenario.workload))


def test_steps_wider_than_any_that_was_measured_are_extrapolated():
    assert said(copying(8, 20, **DEVICE)) == []
    assert said(copying(9, 20, **DEVICE)) == [
        "step times extrapolated: 10 tokens verified of a sequence: measured to 9"
    ]


def test_acceptance_beyond_what_was_measured_is_said_before():
    assert said(copying(4, 2)) == ["acceptance of all extrapolated beyond K = 2"]
    assert len(said(copying(20, 2, **DEVICE))) == 2


def test_rows_say_it_too():
    assert row_context(copying(20, 2, **DEVICE), "it", "base").extrapolated == tuple(said(copying(20, 2, **DEVICE)))
