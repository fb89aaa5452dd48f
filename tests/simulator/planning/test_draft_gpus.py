"""Deployments whose drafts have GPUs of their own: simulated, estimated, counted and paid for."""

import numpy as np
import pytest

from simulator.cluster.records import columns_equal
from simulator.outcome.cost import bill_of
from simulator.outcome.report import replication_row
from simulator.physics.ledger import fits, memory_ledger
from simulator.planning.context import row_context, why_unfit
from simulator.planning.estimate import estimate
from simulator.planning.provenance import provenance
from simulator.run import simulate_once, step_times_of
from simulator.spec.deployment import Deployment
from simulator.spec.scenario import Scenario

DRAFT = {"model": "llama-3.2-1b", "acceptance": {"all": {"survival": (0.8, 0.6, 0.45, 0.35)}}}
RATE = 24.0


def scenario(placement=None, replicas=4, requests=400, prompt=512, output=128, model="llama-3.2-1b", **changes):
    """A 70B target on eight GPUs a replica, or fewer."""
    speculation = {"kind": "drafts", "drafts": {"d": DRAFT | {"model": model}}, "propose": {"draft_tokens": 4}}
    if placement is not None:
        speculation["placement"] = {"kind": "dedicated", "link": "nvlink"} | placement
    it = {
        "gpu": "h200-sxm", "replicas": replicas, "price": 3.0, "speculation": speculation,
        "target": {"model": "llama-3.3-70b", "weights": "fp8", "kv": "fp8", "tensor_parallel": 4},
        "engine": {"policy": "vllm", "max_model_len": 8192},
    }  # fmt: skip
    workload = {
        "arrivals": {"kind": "poisson", "rate_per_s": RATE},
        "lengths": {"kind": "fixed", "prompt_tokens": prompt, "output_tokens": output},
        "horizon": {"requests": requests, "warmup_requests": requests // 10},
    }
    return Scenario.model_validate(
        {"schema_version": 1, "name": "x", "seed": 1, "replications": 1, "workload": workload,
         "slo": {"ttft_s": {"p95": 1.0}, "tpot_s": {"p95": 0.05}}, "deployments": {"it": it | changes}}
    )  # fmt: skip


def ahead(**chance):
    return {"overlap": {"kind": "draft_ahead"} | chance}


def row(of):
    records = simulate_once(of, "it", 0)
    model = step_times_of(of.deployments["it"], of.workload)
    return replication_row(records, row_context(of, "it", "base"), 0, model=model, offered_req_per_s=RATE)


def tpot_s(of):
    return row(of)["tpot_s"]["mean"]


@pytest.mark.parametrize(
    "placement",
    [{}, {"shared_by": 2}, {"shared_by": 4}, ahead(hit=0.6), ahead(bonus_guess=0.7, outcomes=5),
     {"shared_by": 4} | ahead(hit=0.6)],
    ids=str,
)  # fmt: skip
def test_the_estimate_agrees_with_the_simulation(placement):
    of = scenario(placement, requests=700)

    simulated, estimated = row(of), estimate(of, "it")

    assert estimated["tpot_s"]["mean"] == pytest.approx(simulated["tpot_s"]["mean"], rel=0.06)
    assert estimated["tokens_per_step"] == pytest.approx(simulated["tokens_per_step"], rel=0.03)
    assert estimated["draft_tokens_mean"] == pytest.approx(simulated["draft_tokens_mean"], rel=0.03)
    assert estimated["mean_batch"] == pytest.approx(simulated["mean_batch"], rel=0.1)


def test_where_drafts_for_several_outcomes_fill_a_shared_pool_the_estimate_is_near():
    of = scenario({"shared_by": 4} | ahead(bonus_guess=0.7, outcomes=3), requests=700)

    assert estimate(of, "it")["tpot_s"]["mean"] == pytest.approx(row(of)["tpot_s"]["mean"], rel=0.12)


@pytest.mark.parametrize("shared_by", [1, 4])
def test_what_a_pool_takes_follows_from_the_workload_not_from_the_longest_context_that_is_allowed(shared_by):
    placement = {"shared_by": shared_by} | ahead(bonus_guess=0.7, outcomes=5)
    short, long = (
        scenario(placement, requests=100, engine={"policy": "vllm", "max_model_len": most}) for most in (1024, 131_072)
    )

    assert tpot_s(long) == pytest.approx(tpot_s(short), rel=1e-6)
    assert estimate(long, "it")["tpot_s"]["mean"] == pytest.approx(estimate(short, "it")["tpot_s"]["mean"], rel=0.01)


def test_near_and_alone_is_nearly_co_located():
    assert tpot_s(scenario({})) == pytest.approx(tpot_s(scenario()), rel=2e-3)


def test_who_never_hits_takes_turns():
    turns, never = (simulate_once(scenario(of, requests=100), "it", 0) for of in ({}, ahead(hit=0.0)))

    assert columns_equal(never.requests, turns.requests)
    assert columns_equal(never.steps, turns.steps)


def test_who_hardly_ever_hits_nearly_takes_turns():
    turns, hardly = (simulate_once(scenario(of, requests=100), "it", 0).requests for of in ({}, ahead(hit=1e-9)))

    stays = [float((of.finish_s - of.arrival_s)[:100].mean()) for of in (turns, hardly)]
    assert hardly.steps[:100].tolist() == turns.steps[:100].tolist()
    assert stays[1] == pytest.approx(stays[0], rel=0.06), "but for prompts, which the drafts read behind the target"


def test_who_always_hits_never_waits():
    plain = simulate_once(scenario(ahead(hit=1.0), requests=100), "it", 0)
    model = step_times_of(scenario(ahead(hit=1.0)).deployments["it"], scenario().workload)
    steps = plain.steps
    decode = (steps.prefill_tokens == 0) & (steps.num_steps == 1)

    verify = [model.cost(_shape(n, c)).total_s - model.cost(_shape(n, c)).draft_s
              for n, c in zip(steps.sequences[decode].tolist(), steps.context_tokens[decode].tolist(), strict=True)]  # fmt: skip

    assert np.allclose(steps.duration_s[decode], verify, rtol=1e-4)


def _shape(sequences, context):
    from simulator.physics.step import StepShape

    return StepShape(sequences, 5 * sequences, context, 0, 0, 0.0, 4)


def test_better_guesses_make_faster_tokens_once_they_beat_waiting():
    never, *of_hits = (tpot_s(scenario(ahead(hit=hit), requests=200)) for hit in (0.0, 0.4, 0.7, 1.0))

    assert of_hits == sorted(of_hits, reverse=True)
    assert of_hits[2] < never < of_hits[0], "without drafts in most rounds a sequence is slower than waiting for them"


def test_what_a_round_drafts_is_told_by_who_had_drafts():
    found = row(scenario(ahead(hit=0.5), requests=400))

    assert 2.0 < found["draft_tokens_mean"] < 3.0
    assert found["acceptance_rate"] == pytest.approx(2.2 / 4, rel=0.05)


def test_more_sharers_wait_longer_and_pay_less():
    alone, shared = row(scenario({})), row(scenario({"shared_by": 4}))

    assert shared["tpot_s"]["mean"] > alone["tpot_s"]["mean"]
    assert (alone["num_gpus"], shared["num_gpus"]) == (20, 17)
    assert shared["usd_per_hour"] == pytest.approx(17 * 3.0)


def test_distributions_over_a_slow_link_are_waited_for():
    ids, whole = (tpot_s(scenario({"link": "pcie", "payload": payload})) for payload in ("token_ids", "probabilities"))

    assert whole > ids


def test_all_gpus_count_at_their_own_price():
    of = scenario({"gpu": "b200-sxm", "price": 6.0, "gpus": 2, "shared_by": 2}, replicas=3)
    bill = bill_of(of.deployments["it"])

    assert of.deployments["it"].num_gpus == bill.gpus(3) == 16
    assert bill.usd_per_hour(3) == pytest.approx(12 * 3.0 + 4 * 6.0)
    assert bill.usd_per_replica_hour() == pytest.approx(4 * 3.0 + 6.0)
    assert bill.usd_per_gpu_hour(3) == pytest.approx(bill.usd_per_hour(3) / 16)
    assert bill.board_watts(3) == pytest.approx((12 * 700 + 4 * 1000) / 16)


def test_provenance_names_the_pools_gpu_and_its_price():
    told = provenance(scenario({"gpu": "b200-sxm", "price": 6.0}))

    assert told["prices"]["it"]["draft_gpus"]["usd_per_gpu_hour"] == 6.0
    assert any(source["file"] == "gpus/b200-sxm" for source in told["sources"])
    assert any("draft GPUs" in said for said in told["assumptions"])


def test_a_replica_holds_no_draft_and_the_pool_no_target():
    own, pool = memory_ledger("it", scenario({}).deployments["it"])
    beside = memory_ledger("it", scenario().deployments["it"])[0]

    assert (own.role, own.draft_weights_bytes, pool.role, pool.target_weights_bytes) == ("target", 0, "draft", 0)
    assert pool.draft_weights_bytes == beside.draft_weights_bytes > 0
    assert own.kv_tokens > beside.kv_tokens
    assert own.kv_bytes_per_token["draft"] == 0 == pool.kv_bytes_per_token["target"]


def test_sharers_divide_a_pools_kv():
    alone, shared = (memory_ledger("it", scenario({"shared_by": n}).deployments["it"])[1] for n in (1, 4))

    assert shared.kv_blocks == alone.kv_blocks // 4


def test_a_pools_kv_can_bind_admission():
    roomy = scenario({"shared_by": 4})
    tight = scenario({"shared_by": 4}, engine={"policy": "vllm", "max_model_len": 2048, "hbm_budget_gb": 25})
    own, pool = memory_ledger("it", tight.deployments["it"])

    records = simulate_once(tight, "it", 0)

    assert simulate_once(roomy, "it", 0).kv_blocks_total > records.kv_blocks_total == min(own.kv_blocks, pool.kv_blocks)


def test_a_pool_that_is_too_small_says_so_and_what_would_do():
    small = scenario(
        {"shared_by": 4}, engine={"policy": "vllm", "max_model_len": 32768, "hbm_budget_gb": 28}, model="llama-3.1-8b"
    )
    deployment = small.deployments["it"]

    assert not fits(deployment)
    assert "draft: one sequence of 32,768 tokens lacks" in why_unfit(small, "it")
    assert "placement.gpus 4; placement.shared_by 1" in why_unfit(small, "it")


def test_a_guess_is_as_good_as_the_classes_of_the_workload_let_it_be():
    of = scenario(ahead(bonus_guess=0.5))
    two = of.model_copy(update={"workload": of.workload.model_copy(update={"classes": {"easy": 0.5, "hard": 0.5}})})
    draft = {
        "model": "llama-3.2-1b",
        "acceptance": {"easy": {"survival": (1.0,) * 4}, "hard": {"survival": (0.0,) * 4}},
    }
    it = of.deployments["it"].model_dump(exclude_unset=True)
    it["speculation"]["drafts"] = {"d": draft}

    model = step_times_of(Deployment.model_validate(it), two.workload)

    assert model.draft.pool.ahead.hit == pytest.approx(0.5 / 6), "easy requests take 1 step where hard ones take 5"


def test_a_guess_that_never_helps_leaves_turns():
    draft = {"model": "llama-3.2-1b", "acceptance": {"all": {"survival": (0.5, 0.0, 0.0, 0.0)}}}
    it = scenario(ahead(bonus_guess=0.9)).deployments["it"].model_dump(exclude_unset=True)
    it["speculation"]["drafts"] = {"d": draft}
    of = scenario(requests=60).model_copy(update={"deployments": {"it": Deployment.model_validate(it)}})

    assert row(of)["draft_tokens_mean"] == 4.0
