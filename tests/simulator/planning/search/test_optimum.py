"""The search against looking at everything."""

from dataclasses import replace
from math import inf
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.planning.search import plan, ranking
from simulator.planning.search.confirm import confirm
from simulator.planning.search.planner import choice_in_full
from simulator.planning.search.ranking import anew
from simulator.planning.search.rivals import rivals_of
from simulator.run import simulate_once
from simulator.spec.plan import Plan
from tests.simulator.outcome import specs
from tests.simulator.planning.search import small

ESTIMATES = Plan().model_copy(update={"confirm": 0})


def candidate(gpu: str, usd: float, gpus: int, seqs: int, draft_tokens: int) -> dict[str, Any]:
    speculation = specs.MODELLED_DRAFTS | {"propose": {"draft_tokens": draft_tokens}}
    return {
        "gpu": gpu,
        "price": usd,
        "target": {"model": "llama-3.1-8b", "weights": "fp8", "kv": "fp8", "tensor_parallel": gpus},
        "engine": {"policy": "vllm", "max_model_len": 4096, "max_num_seqs": seqs},
        "speculation": speculation if draft_tokens else {"kind": "none"},
    }


one = st.builds(
    candidate,
    st.sampled_from(["h200-sxm", "b200-sxm", "h100-sxm"]),
    st.sampled_from([2.0, 3.0, 5.0, 30.0]),
    st.sampled_from([1, 2]),
    st.sampled_from([4, 16]),
    st.sampled_from([0, 1, 2]),
)
spaces = st.lists(one, min_size=2, max_size=4, unique_by=str)
loads = st.sampled_from([5.0, 60.0])


def named(space: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {f"c{number}": of for number, of in enumerate(space)}


def least_estimated(space: list[dict[str, Any]], rate_per_s: float) -> float:
    field = small.field(small.scenario(named(space), rate_per_s))
    found = anew(field, list(field.twins))
    sizes = {name: of.estimated.replicas for name, of in found.items() if of.estimated is not None}
    return min((field.usd_per_hour(name, replicas) for name, replicas in sizes.items()), default=inf)


@settings(max_examples=12, deadline=None, derandomize=True)
@given(spaces, loads, st.sampled_from([0.5, 1.0, 2.0]))
def test_pruning_never_drops_the_cheapest_of_all(space, rate_per_s, reach):
    with patch.multiple(ranking, ROUND=1, REACH=reach):
        choice = plan(small.scenario(named(space), rate_per_s), ESTIMATES).choice

    assert (choice.cost if choice else inf) == pytest.approx(least_estimated(space, rate_per_s))


@settings(max_examples=8, deadline=None, derandomize=True)
@given(spaces, one, loads)
def test_one_more_candidate_never_raises_the_best_cost(space, added, rate_per_s):
    before, after = (plan(small.scenario(named(of), rate_per_s), ESTIMATES).choice for of in (space, [*space, added]))

    assert (after.cost if after else inf) <= (before.cost if before else inf) + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("rate_per_s", [40.0, 90.0])
def test_the_choice_costs_no_more_than_that_of_simulating_everything(rate_per_s):
    space = [candidate(*of) for of in _grid()]
    scenario = small.scenario(named(space), rate_per_s, requests=600)
    field = replace(small.field(scenario), simulate=simulate_once)
    found = anew(field, list(field.twins))

    all_of_them = {name: confirm(field, name, of.estimated) for name, of in found.items() if of.estimated is not None}
    least = rivals_of(field, found, choice_in_full(field, found, all_of_them)).least_cost()
    choice = plan(scenario, small.question(confirm=6)).choice

    assert choice is not None
    assert least <= choice.cost <= 1.01 * least


@pytest.mark.slow
@pytest.mark.parametrize("usd", [1.0, 4.0, 9.0])
def test_one_more_gpu_type_never_raises_the_cost_that_is_confirmed(usd):
    space = [candidate(*of) for of in _grid() if of[0] == "h200-sxm"]
    added = [candidate("b200-sxm", usd, gpus, 16, draft_tokens) for gpus in (1, 2) for draft_tokens in (0, 2)]

    before, after = (plan(small.scenario(named(of)), small.question(confirm=4)).choice for of in (space, space + added))

    assert before is not None
    assert after is not None
    assert after.cost <= before.cost


def _grid():
    for gpu, usd in (("h200-sxm", 3.5), ("b200-sxm", 5.5)):
        for gpus in (1, 2):
            for draft_tokens in (0, 1, 2):
                yield gpu, usd, gpus, 16, draft_tokens
