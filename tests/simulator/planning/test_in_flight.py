import numpy as np
import pytest

from scenarios.load import load_scenario
from simulator.errors import ScenarioError
from simulator.outcome.cost import bill_of
from simulator.planning.demand import demand_of
from simulator.planning.in_flight import in_flight
from simulator.planning.speculation_gain import MOST_DRAFT_TOKENS, speculation_grid, speedup
from simulator.planning.steady_state import saturation_rate

SPECULATION = "deployments.b200-spec.speculation"
POOL = f"{SPECULATION}.placement={{kind: dedicated, gpus: 1, link: nvlink}}"


def chat(*sets):
    return load_scenario("h200_vs_b200_chat", sets).points[0].scenario


@pytest.fixture(scope="module")
def plain():
    return in_flight(chat(), "b200-plain")


@pytest.fixture(scope="module")
def drafting():
    return in_flight(chat(), "b200-spec")


def test_with_every_place_taken_it_serves_what_saturates_it(drafting):
    demand = demand_of(chat(), "b200-spec")

    assert drafting.sequences[-1] == drafting.places
    assert drafting.output_tokens_per_s[-1] == pytest.approx(
        saturation_rate(demand) * demand.output_tokens.mean(), rel=0.01
    )


def test_a_chain_gains_what_the_step_times_and_its_acceptance_say(plain, drafting):
    by_draft = np.full(MOST_DRAFT_TOKENS + 1, drafting.tokens_per_step)
    by_draft[0] = 1.0

    gain = speedup(speculation_grid(chat(), "b200-spec"), by_draft)[:, 4]

    assert drafting.output_tokens_per_s / plain.output_tokens_per_s == pytest.approx(gain, rel=0.02)


def test_more_sequences_serve_more_and_each_of_them_waits_longer(plain):
    assert (np.diff(plain.output_tokens_per_s) > 0).all()
    assert (np.diff(plain.tpot_s) > 0).all()


def test_one_sequence_alone_takes_its_steps_and_no_more(plain):
    assert plain.tpot_s[0] == pytest.approx(plain.step_s[0], rel=0.01)
    assert plain.tokens_per_step == 1.0


def test_where_there_is_no_place_there_is_no_figure():
    few = in_flight(chat("deployments.b200-spec.engine.max_num_batched_tokens=300"), "b200-spec")

    beyond = few.sequences > few.places

    assert beyond.any()
    assert np.isnan(few.output_tokens_per_s[beyond]).all()
    assert np.isfinite(few.usd_per_million_output_tokens[~beyond]).all()


def test_the_nearest_batch_is_found(plain):
    assert plain.sequences[plain.at(17)] == 16


def test_draft_gpus_are_paid_for():
    apart, beside = (in_flight(chat(*sets), "b200-spec") for sets in ((POOL,), ()))
    paid = [one.usd_per_million_output_tokens * one.output_tokens_per_s for one in (apart, beside)]
    bills = [bill_of(chat(*sets).deployments["b200-spec"]).usd_per_replica_hour() for sets in ((POOL,), ())]

    assert paid[0] / paid[1] == pytest.approx(bills[0] / bills[1])
    assert bills[0] == 1.5 * bills[1]


def test_a_best_tree_is_written_out_and_counts():
    shape = f"{SPECULATION}.propose={{shape: best_tree, max_depth: 3, max_nodes: 16}}"
    branches = [f"{SPECULATION}.drafts.general.acceptance={{all: {{survival: [0.7, 0.5, 0.3], branches: [0.7, 0.2]}}}}"]

    found = in_flight(chat(shape, *branches), "b200-spec")

    assert found.tokens_per_step > 2.5


def test_a_deployment_that_does_not_fit_is_refused():
    with pytest.raises(ScenarioError, match="b200-spec"):
        in_flight(chat("deployments.b200-spec.engine.hbm_budget_gb=20.0"), "b200-spec")
