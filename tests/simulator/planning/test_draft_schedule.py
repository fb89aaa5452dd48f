"""Draft tokens by batch and context: the best of them, and when there are none to choose."""

from itertools import pairwise

import numpy as np
import pytest
import yaml

from scenarios.load import load_scenario
from simulator.cluster.accepted import expected_context, survival_over_steps
from simulator.errors import ScenarioError
from simulator.planning.draft_rates import TIE, all_of_length, with_draft_tokens
from simulator.planning.draft_schedule import draft_schedule
from simulator.planning.speculation_gain import without_draft
from simulator.run import simulate_once, step_times_of
from simulator.spec.deployment import Deployment
from tests.app import toys
from tests.scenarios import examples

ACCEPTED = {"all": {"survival": [0.8, 0.6, 0.4]}}


@pytest.fixture(scope="module")
def chat():
    return load_scenario("h200_vs_b200_chat").points[0].scenario


@pytest.fixture(scope="module")
def found(chat):
    return draft_schedule(chat, "h200-spec")


def small(draft=None, **speculation):
    document = yaml.safe_load(toys.SMALL)
    drafts = {"small": draft or {"model": "llama-3.2-1b", "acceptance": ACCEPTED}}
    stated = {"kind": "drafts", "drafts": drafts, "propose": {"draft_tokens": 3}} | speculation
    document["deployments"]["plain"]["speculation"] = stated
    return load_scenario("small.yaml", text=yaml.safe_dump(document)).points[0].scenario


def several(name):
    scenario = examples.load_text(examples.SEVERAL).points[0].scenario
    return draft_schedule(scenario, name)


def abstract(latency_ratio, acceptance):
    costs = {"flops_ratio": 0.01, "latency_ratio": latency_ratio, "weights_gb": 0.1, "kv_bytes_per_token": 0}
    return {"abstract": costs, "acceptance": {"all": {"survival": acceptance}}}


def test_bands_cover_all_sequences_that_have_a_place(found):
    bands = found.here.bands

    assert bands[0][0] == 1
    assert all(after[0] == before[1] + 1 for before, after in pairwise(bands))
    assert found.here.places == bands[-1][1]


def test_more_sequences_get_fewer_draft_tokens(found):
    first, last = found.here.bands[0][2], found.here.bands[-1][2]

    assert first > last


@pytest.mark.parametrize("sequences", [1, 7, 40, 150])
def test_a_band_holds_what_is_best_by_hand(chat, found, sequences):
    spec, context = chat.deployments["h200-spec"], expected_context(chat.workload)
    rates = []
    for k in range(1, found.most_draft_tokens + 1):
        one = with_draft_tokens(spec, k)
        constant, slope = step_times_of(one, chat.workload).decode_affine(sequences)
        committed = 1.0 + sum(survival_over_steps(one, chat.workload))
        rates.append(committed / (constant + slope * sequences * context))
    constant, slope = step_times_of(spec, chat.workload).decode_affine(sequences, 0)
    rates.insert(0, 1.0 / (constant + slope * sequences * context))

    chosen = next(k for start, end, k in found.here.bands if start <= sequences <= end)

    assert rates[chosen] >= (1.0 - TIE) * max(rates)


@pytest.mark.parametrize("sequences", [1, 96])
def test_a_gain_is_that_over_a_deployment_without_drafts_at_the_same_context(chat, found, sequences):
    spec, column, row = chat.deployments["h200-spec"], found.columns[-1], found.sequences.index(sequences)
    workload, context = all_of_length(chat.workload, column.context_tokens), sequences * column.context_tokens
    one = with_draft_tokens(spec, column.best[row])
    plain, drafting = (step_times_of(s, workload).decode_affine(sequences) for s in (without_draft(spec), one))
    committed = 1.0 + sum(survival_over_steps(one, workload))

    by_hand = committed * (plain[0] + plain[1] * context) / (drafting[0] + drafting[1] * context)

    assert column.gain[row] == pytest.approx(by_hand)


def test_columns_rise_with_the_context_and_one_is_the_workload_s_own(chat, found):
    contexts = [column.context_tokens for column in found.columns]

    assert contexts == sorted(contexts)
    assert found.here.context_tokens == expected_context(chat.workload)
    assert max(contexts) <= 8192


def test_more_context_leaves_place_for_fewer_sequences(found):
    places = [column.places for column in found.columns]

    assert places == sorted(places, reverse=True)


def test_a_draft_that_is_never_right_is_switched_off():
    found = draft_schedule(small(abstract(0.1, [0.0, 0.0])), "plain")

    assert {k for _, _, k in found.here.bands} == {0}
    assert found.here.pays_up_to == 0
    assert found.says().endswith("drafting pays at no batch")


def test_a_draft_for_free_that_is_always_right_pays_as_far_as_there_is_place():
    found = draft_schedule(small(abstract(1e-6, [1.0, 1.0, 1.0])), "plain")

    assert found.here.pays_up_to == found.here.places
    assert found.here.best[0] == 3


def test_nothing_is_advised_beyond_what_was_measured(found):
    assert found.most_draft_tokens == 4
    assert draft_schedule(small(propose={"draft_tokens": 5}), "plain").most_draft_tokens == 5


def test_a_look_up_is_asked_for_no_more_than_it_ever_proposed():
    acceptance = {"all": {"tokens_per_step": 1.8, "at": 5, "drafted": {0: 2, 3: 8}}}

    found = draft_schedule(small({"ngram": {}, "acceptance": acceptance}), "plain")

    assert found.most_draft_tokens == 3


def test_the_policy_is_one_that_a_deployment_takes(chat, found):
    spec = with_draft_tokens(chat.deployments["h200-spec"], found.draft_tokens).model_dump(
        mode="json", exclude_unset=True
    )
    spec["speculation"]["policy"] = found.policy()

    assert Deployment.model_validate(spec).speculation.policy.draft_tokens(1) == found.here.bands[0][2]


@pytest.mark.parametrize(
    ("name", "why"), [("plain", "no drafts"), ("tree", "a tree, which stays whole: only a chain can be shorter")]
)
def test_what_has_no_schedule_says_why(name, why):
    found = several(name)

    assert why in found.why_not
    assert found.as_json()["why_not"] == found.why_not
    assert found.policy() is None


@pytest.mark.parametrize(("name", "fixed"), [("union", "all of one length"), ("routed", "")])
def test_several_drafts_have_a_table_and_a_union_no_policy(name, fixed):
    found = several(name)

    assert fixed in found.fixed
    assert (found.policy() is None) == bool(fixed)
    assert found.columns


def test_drafts_on_gpus_of_their_own_have_a_table_but_keep_their_length():
    found = draft_schedule(small(placement={"kind": "dedicated", "gpus": 1, "link": "nvlink"}), "plain")

    assert "where K is fixed" in found.fixed
    assert found.columns


def test_json_holds_the_table_and_the_schedule(found):
    told = found.as_json()

    assert told["num_speculative_tokens_per_batch_size"] == [list(band) for band in found.here.bands]
    assert told["num_speculative_tokens"] == found.here.bands[0][2]
    assert [len(column["gain"]) for column in told["contexts"]] == [len(told["sequences"])] * len(found.columns)
    assert sum(column["own"] for column in told["contexts"]) == 1


def test_a_deployment_that_does_not_fit_says_so():
    scenario = small()
    spec = scenario.deployments["plain"]
    tight = spec.model_copy(update={"engine": spec.engine.model_copy(update={"hbm_budget_gb": 12.0})})

    with pytest.raises(ScenarioError, match="lacks"):
        draft_schedule(scenario.model_copy(update={"deployments": {"plain": tight}}), "plain")


def output_rate(scenario, clients, **speculation):
    document = scenario.model_dump(mode="json", exclude_unset=True)
    document["workload"] |= {
        "arrivals": {"kind": "closed_loop", "concurrency": clients},
        "lengths": {"kind": "fixed", "prompt_tokens": 400, "output_tokens": 60},
        "horizon": {"requests": 3 * clients, "warmup_requests": clients},
    }
    document["deployments"]["plain"]["speculation"] |= speculation
    records = simulate_once(type(scenario).model_validate(document), "plain", 0)
    ended, began = records.requests.finish_s[records.measured], records.requests.arrival_s[records.measured]
    return records.requests.output_tokens[records.measured].sum() / (ended.max() - began.min())


@pytest.mark.parametrize("clients", [4, 150])
def test_a_replica_that_is_simulated_with_the_schedule_is_as_fast_as_with_the_best_k(clients):
    scenario = small()
    found = draft_schedule(scenario, "plain")
    fixed = [output_rate(scenario, clients, propose={"shape": "chain", "draft_tokens": k}) for k in (1, 2, 3)]

    scheduled = output_rate(scenario, clients, policy=found.policy())

    assert scheduled >= 0.98 * np.max(fixed)
