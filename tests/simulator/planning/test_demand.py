"""What requests ask of a replica: how many of them a step has room for."""

import pytest

from scenarios.load import load_scenario
from simulator.planning.demand import demand_of

LONG = "workload.lengths={kind: fixed, prompt_tokens: 4000, output_tokens: 50}"


@pytest.mark.parametrize(("policy", "most"), [("sglang", 200), ("vllm", 24)])
def test_a_step_shares_its_tokens_with_prompts_unless_these_have_steps_of_their_own(policy, most):
    engine = f"{{policy: {policy}, max_num_seqs: 200, max_num_batched_tokens: 2048}}"
    sets = [LONG, f"deployments.h200-plain.engine={engine}", "deployments.h200-plain.target.tensor_parallel=8"]

    demand = demand_of(load_scenario("h200_vs_b200_chat", sets).points[0].scenario, "h200-plain")

    assert demand.most_sequences == most
