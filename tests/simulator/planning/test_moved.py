"""A scenario with inputs moved, and what it then costs."""

import pytest

from simulator.planning.comparison import BY_CAPACITY, BY_LOAD
from simulator.planning.estimate import estimate
from simulator.planning.moved import TOGETHER, Moved, moved_requests, scaled_lengths, with_acceptance
from simulator.planning.moved_costs import costs_under
from simulator.spec.workload import EmpiricalLengths, FixedLengths, LogNormalLengths, UniformLengths
from tests.simulator.outcome import specs

DRAFT = ("it", "small")


def scenario(arrivals=None, **changes):
    load = specs.workload(arrivals or {"kind": "poisson", "rate_per_s": 200.0})
    workload = load | {"lengths": {"kind": "fixed", "prompt_tokens": 400, "output_tokens": 60}}
    return specs.scenario({"it": changes}, workload=workload, slo={"ttft_s": {"p95": 0.5}})


def costs(moved, **changes):
    return costs_under(scenario(**changes), "it", [moved])[0]


def test_what_is_not_moved_costs_what_the_estimate_says():
    row = estimate(scenario(), "it")

    found = costs(Moved())

    assert (found.on(BY_LOAD), found.on(BY_CAPACITY)) == (row[BY_LOAD], pytest.approx(row[BY_CAPACITY], rel=0.01))
    assert found.replicas == row["replicas_for_offered"]


@pytest.mark.parametrize(
    "worse",
    [
        Moved(rate=3.0),
        Moved(output_tokens=3.0),
        Moved(prompt_tokens=3.0),
        Moved(step_time={"it": 3.0}),
        Moved(bandwidth={"it": 0.3}),
        Moved(price={"h200-sxm": 3.0}),
    ],
)
def test_more_work_or_dearer_work_costs_more(worse):
    base, moved = costs(Moved()), costs(worse)

    assert moved.usd_per_hour > base.usd_per_hour


def test_drafts_that_are_accepted_more_often_cost_less():
    low, base, high = (costs(Moved(acceptance={DRAFT: f}), speculation=specs.DRAFTS) for f in (0.5, 1.0, 2.0))

    assert low.usd_per_million > base.usd_per_million > high.usd_per_million


def test_prices_move_costs_in_proportion():
    base, moved = costs(Moved()), costs(Moved(price={"h200-sxm": 1.5, "b200-sxm": 7.0}))

    assert moved.usd_per_hour == pytest.approx(1.5 * base.usd_per_hour)
    assert moved.usd_per_million == pytest.approx(1.5 * base.usd_per_million)


def test_twice_the_bandwidth_is_worth_less_than_steps_in_half_the_time():
    base, wide, fast = (costs(m) for m in (Moved(), Moved(bandwidth={"it": 2.0}), Moved(step_time={"it": 0.5})))

    assert base.usd_per_million > wide.usd_per_million > fast.usd_per_million


def test_a_closed_loop_has_more_clients_where_the_load_is_higher():
    loop = {"kind": "closed_loop", "concurrency": 64}

    low, high = costs_under(scenario(loop), "it", [Moved(), Moved(rate=64.0)])

    assert high.replicas > low.replicas


def test_a_batch_has_a_cost_at_capacity_only():
    found = costs(Moved(), arrivals={"kind": "queued_at_once"})

    assert found.usd_per_hour is None
    assert found.usd_per_million > 0


def test_only_requests_and_acceptance_change_in_the_scenario():
    base = scenario(speculation=specs.DRAFTS)

    moved = moved_requests(base, "it", Moved(rate=2.0, output_tokens=1.5, acceptance={DRAFT: 3.0}))

    assert moved.workload.lengths.output_tokens == 90
    assert moved.workload.arrivals == base.workload.arrivals
    draft = moved.deployments["it"].speculation.drafts["small"]
    assert draft.acceptance["all"].survival[0] == pytest.approx(12 / 13)


def test_a_union_that_was_measured_as_a_whole_moves_as_a_whole():
    spec = specs.deployment(
        speculation=specs.DRAFTS
        | {"combine": {"kind": "union", "survival": {"all": [0.5]}}, "propose": {"draft_tokens": 1}}
    )

    moved = with_acceptance(spec, {TOGETHER: 3.0}).speculation

    assert moved.combine.survival == {"all": (0.75,)}
    assert moved.drafts == spec.speculation.drafts


@pytest.mark.parametrize(
    ("lengths", "prompts", "outputs"),
    [
        (FixedLengths(kind="fixed", prompt_tokens=100, output_tokens=1), 200, 1),
        (UniformLengths(kind="uniform", prompt_tokens=(10, 20), output_tokens=(4, 8)), (20, 40), (2, 4)),
    ],
)
def test_whole_lengths_stay_whole(lengths, prompts, outputs):
    moved = scaled_lengths(lengths, 2.0, 0.5)

    assert (moved.prompt_tokens, moved.output_tokens) == (prompts, outputs)


def test_a_law_keeps_its_shape():
    law = {"mean": 100.0, "p95": 300.0}

    moved = scaled_lengths(LogNormalLengths(kind="lognormal", prompt_tokens=law, output_tokens=law), 2.0, 1.0)

    assert (moved.prompt_tokens.mean, moved.prompt_tokens.p95, moved.output_tokens.mean) == (200.0, 600.0, 100.0)


def test_a_table_of_the_catalog_is_written_out():
    moved = scaled_lengths(EmpiricalLengths(kind="empirical", table="azure-conv-2023"), 1.0, 2.0)
    same = scaled_lengths(EmpiricalLengths(kind="empirical", table="azure-conv-2023"), 1.0, 1.0)

    assert moved.kind == "quantiles"
    assert moved.output_tokens[0][-1] == 2.0 * same.output_tokens[0][-1]
    assert moved.prompt_tokens == same.prompt_tokens


def test_prompts_that_are_all_too_long_for_the_engine_hold_nothing():
    short = {"policy": "vllm", "max_model_len": 480}

    fine, long = costs_under(scenario(engine=short), "it", [Moved(prompt_tokens=1.04), Moved(prompt_tokens=1.3)])

    assert fine.replicas is not None
    assert long == (None, None, None)
