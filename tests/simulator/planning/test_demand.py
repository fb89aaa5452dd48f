"""What requests ask of a replica: how many of them a step has room for."""

import pytest

from scenarios.load import load_scenario
from simulator.planning.demand import demand_of
from simulator.planning.steady_state import prompt_work

LONG = "workload.lengths={kind: fixed, prompt_tokens: 4000, output_tokens: 50}"


@pytest.mark.parametrize(("policy", "most"), [("sglang", 200), ("vllm", 24)])
def test_a_step_shares_its_tokens_with_prompts_unless_these_have_steps_of_their_own(policy, most):
    engine = f"{{policy: {policy}, max_num_seqs: 200, max_num_batched_tokens: 2048}}"
    sets = [LONG, f"deployments.h200-plain.engine={engine}", "deployments.h200-plain.target.tensor_parallel=8"]

    demand = demand_of(load_scenario("h200_vs_b200_chat", sets).points[0].scenario, "h200-plain")

    assert demand.most_sequences == most


SCHEDULE = "{kind: by_batch, schedule: [[1, 241, 4], [242, 256, 1]]}"


def test_a_schedule_that_jumps_is_looked_up_on_both_sides_of_the_jump():
    """Between batches of the table a step would take the time of neither, and a prompt less than none."""
    sets = [f"deployments.h200-spec.speculation.policy={SCHEDULE}"]

    demand = demand_of(load_scenario("h200_vs_b200_chat", sets).points[0].scenario, "h200-spec")

    assert {241.0, 242.0} <= set(demand.sequences)
    assert abs(demand.one_step_s(242) / demand.one_step_s(241) - 1.0) > 0.02
    assert all(prompt_work(demand, n).mean_s > 0 for n in (240, 241, 242, 243))
