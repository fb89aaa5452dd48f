"""What requests accept by class and prompt length, and who takes which share of the steps."""

import numpy as np
import pytest

from simulator.cluster.accepted import (
    context_edges,
    draft_shares,
    drafted_mix,
    extrapolated,
    step_shares,
    survival_over_steps,
    tables_of,
)
from simulator.run import simulate_once
from tests.oracles.test_speculation_shapes import CODE, PROSE, UNION, drafts, routed, scenario

LESS = {"survival": [0.4, 0.3, 0.2, 0.1], "drafted": {0: 1, 4: 1}}


def asked(speculation, **workload):
    spec = scenario(speculation, **workload)
    return spec.deployments["0"], spec.workload


def test_a_class_that_commits_less_takes_more_of_the_steps():
    code, prose = (1 / (1 + sum(of["survival"])) for of in (CODE, PROSE))

    shares = draft_shares(*asked(drafts({"all": CODE}, {"all": PROSE}, combine=routed(1.0))))

    assert shares == pytest.approx({"a": code / (code + prose), "b": prose / (code + prose)})


def test_all_drafts_of_a_union_draft_for_all_sequences():
    assert draft_shares(*asked(drafts({"all": CODE}, {"all": PROSE}, combine=UNION))) == {"a": 1.0, "b": 1.0}
    assert draft_shares(*asked({"kind": "none"})) == {}


def test_survival_over_steps_is_what_the_counters_of_a_run_show():
    spec = scenario(drafts({"all": CODE | {"spread": 0.8}}, {"all": PROSE}, combine=routed(0.7)), requests=4000)

    told = survival_over_steps(spec.deployments["0"], spec.workload)
    requests = simulate_once(spec, "0", 0).requests

    assert 1 + sum(told) == pytest.approx(requests.committed_tokens.sum() / requests.steps.sum(), rel=0.01)


def test_a_routed_look_up_proposes_less_in_its_own_share_of_the_steps():
    deployment, workload = asked(drafts({"code": CODE}, {"all": LESS}, combine=routed(1.0)))
    shares = draft_shares(deployment, workload)

    mix = drafted_mix(deployment, workload)
    tables = tables_of(deployment, ["code", "prose"])

    assert mix == pytest.approx((shares["b"] / 2, 0, 0, 0, shares["a"] + shares["b"] / 2))
    assert tables.drafted_tokens == pytest.approx((4, 2))


def test_within_a_class_a_draft_that_commits_less_takes_more_of_the_steps():
    deployment, _ = asked(drafts({"all": CODE}, {"all": LESS}, combine=routed(0.5)))
    mine, other = 1 / (1 + sum(CODE["survival"])), 1 / (1 + sum(LESS["survival"]))

    of_code = tables_of(deployment, ["code", "prose"]).drafted_tokens[0]

    assert of_code == pytest.approx((4 * mine + 2 * other) / (mine + other))


def test_prompts_weigh_by_how_many_there_are_of_each_length():
    falls = drafts({"all": CODE | {"by_context": {0: 1.0, 2000: 0.5}}})
    short, long = (
        survival_over_steps(*asked(falls, lengths={"kind": "fixed", "prompt_tokens": n, "output_tokens": 9}))
        for n in (1, 1000)
    )  # fmt: skip

    assert short[0] == pytest.approx(0.8, rel=0.003)
    assert long[0] == pytest.approx(0.8 * 0.75, rel=0.003)


def test_between_measured_prompt_lengths_there_are_steps_and_each_length_is_one():
    deployment, workload = asked(drafts({"all": CODE | {"by_context": {100: 1.0, 101: 0.9, 1000: 0.5}}}))

    edges = context_edges(deployment.speculation, list(workload.classes))
    tables = tables_of(deployment, ["code", "prose"])

    assert edges[:2].tolist() == [100, 101]
    assert edges[-1] == 1000
    assert len(tables.survival) == len(tables.drafted_tokens) == 2 * (edges.size + 1)
    assert np.all(np.diff([table[0, 0] for table in tables.survival[: edges.size + 1]]) <= 0)


def test_prompts_longer_than_those_measured_are_told():
    falls = drafts({"all": CODE | {"by_context": {0: 1.0, 500: 0.5}}})

    (said,) = extrapolated(*asked(falls, lengths={"kind": "fixed", "prompt_tokens": 900, "output_tokens": 9}))

    assert said == "acceptance of 100% of the prompts as at 500 tokens, the last length measured"


def test_nothing_is_proposed_and_nothing_said_without_speculation():
    deployment, workload = asked({"kind": "none"})

    assert step_shares(deployment, workload) == []
    assert drafted_mix(deployment, workload) is None
    assert list(extrapolated(deployment, workload)) == []
    assert [table.shape for table in tables_of(deployment, ["code"]).survival] == [(1, 0)]
