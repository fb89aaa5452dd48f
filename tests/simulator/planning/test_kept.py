"""What of an estimate is kept, and that it is the one that would be computed."""

from dataclasses import replace

import numpy as np
import pytest

from scenarios.load import load_scenario
from simulator.cluster.plan import limits_of, planner_of
from simulator.errors import ScenarioError
from simulator.planning.context import ledger_of
from simulator.planning.demand import demand_of, slowed
from simulator.planning.estimate import estimate
from simulator.planning.kept import asked
from simulator.planning.model_error import clusters_of
from simulator.planning.sampled_requests import sample_requests
from simulator.planning.steady_state import prompt_work
from tests.simulator.catalog.hub.samples import LLAMA, written

RATE = "workload.arrivals.rate_per_s=9"
PRICE = "deployments.h200-spec.price=1.5"


def chat(*sets):
    return load_scenario("h200_vs_b200_chat", sets).points[0].scenario


@pytest.mark.parametrize("moved", [RATE, PRICE, "name=other", "description=other", "deployments.b200-plain.replicas=9"])
def test_a_steady_state_does_not_follow_from(moved):
    assert asked(chat(moved), "h200-spec") == asked(chat(), "h200-spec")


@pytest.mark.parametrize(
    "moved",
    [
        "deployments.h200-spec.replicas=9",
        "deployments.h200-spec.engine.max_num_seqs=64",
        "deployments.h200-spec.speculation.propose.draft_tokens=2",
        "workload.lengths={kind: fixed, prompt_tokens: 10, output_tokens: 10}",
        "slo.ttft_s.p95=0.5",
        "seed=8",
    ],
)
def test_a_steady_state_follows_from(moved):
    assert asked(chat(moved), "h200-spec") != asked(chat(), "h200-spec")


def test_a_rate_and_a_price_share_the_steady_state():
    assert clusters_of(chat(RATE, PRICE), "h200-spec") is clusters_of(chat(), "h200-spec")


def test_a_config_file_that_was_edited_is_estimated_anew(tmp_path):
    def estimated(layers):
        file = written(tmp_path, LLAMA | {"num_hidden_layers": layers})
        asked_of = chat(f"deployments.h200-plain.target.model={file}")
        ledger = ledger_of("h200-plain", asked_of.deployments["h200-plain"])
        return estimate(asked_of, "h200-plain")["capacity_req_per_s"], ledger[0].target_weights_bytes

    (fast, small), (slow, large) = estimated(8), estimated(32)

    assert slow < 0.6 * fast
    assert large > 2 * small


def test_the_rate_still_counts_in_what_is_said_of_it():
    slow, fast = (estimate(chat(f"workload.arrivals.rate_per_s={rate}"), "h200-spec") for rate in (3, 30))

    assert slow["mean_batch"] < fast["mean_batch"]
    assert slow["capacity_req_per_s"] == fast["capacity_req_per_s"]


def test_what_does_not_fit_is_told_by_its_own_name_each_time():
    bare = chat("deployments.h200-plain.engine.hbm_budget_gb=20")

    for _ in range(2):
        with pytest.raises(ScenarioError, match="h200-plain: "):
            demand_of(bare, "h200-plain")


@pytest.mark.parametrize("batch", [0, 7, 64])
def test_prompts_of_slower_steps_add_what_asking_every_step_anew_would_say(batch):
    demand = demand_of(chat(), "h200-spec")
    slower = slowed(demand, 1.3)

    found, anew = prompt_work(slower, batch), prompt_work(replace(slower, prompt_work={}), batch)

    assert found.sample_s == pytest.approx(anew.sample_s, rel=1e-9)
    assert (found.further_s, found.mean_s, found.square_s2) == pytest.approx(
        (anew.further_s, anew.mean_s, anew.square_s2), rel=1e-9
    )


def test_sampled_steps_are_those_of_the_paths_that_a_run_draws():
    scenario = chat()
    spec, sample = scenario.deployments["h200-spec"], sample_requests(scenario)
    limits = limits_of("h200-spec", spec, scenario.workload)
    planner = planner_of(spec, limits, list(scenario.workload.classes), scenario.seed, 0)
    requests = np.arange(sample.prompts.size)

    steps, committed = planner.steps(requests, sample.prompts, sample.outputs, sample.classes)
    paths = planner.plan(requests, sample.prompts, sample.outputs, sample.classes)

    assert steps.tolist() == paths.num_steps
    assert committed.tolist() == paths.committed_tokens.tolist()
