"""What drafts on GPUs of their own add to a step of the target."""

import pytest

from simulator.physics.communication import transfer_s
from simulator.physics.placement import (
    ahead_round_s,
    all_miss,
    drafted_share,
    hit_chance,
    synchronous_round_s,
)
from tests.simulator.physics.speculating import PROMPT, SMALL, chain, decode, draft_s, step_model

BATCHES = (1, 8, 64)
LLAMA_70B = {"model": "llama-3.3-70b", "weights": "bf16", "tensor_parallel": 4}
ABSTRACT = {"abstract": {"flops_ratio": 0.1, "latency_ratio": 0.2, "weights_gb": 2, "kv_bytes_per_token": 30000}}


def pooled(*drafts, link="nvlink", target=LLAMA_70B, **placement):
    """A 70B target whose drafts have GPUs of their own."""
    more = {key: placement.pop(key) for key in ("combine", "streams", "propose", "gpu_of_target") if key in placement}
    gpu = more.pop("gpu_of_target", "h200-sxm")
    placed = {"kind": "dedicated", "link": link, **placement}
    replicas = placement.get("shared_by", 1)
    return step_model(*(drafts or (SMALL,)), target=target, gpu=gpu, placement=placed, replicas=replicas, **more)


def ahead(hit, **more):
    return {"kind": "draft_ahead", "hit": hit, **more}


def free_hops(model):
    """The model's drafting without its messages."""
    hops = model.draft.pool.hops
    return {n: draft_s(model, n) - hops.both_s(n) for n in BATCHES}


def test_alone_on_a_gpu_drafts_take_as_long_as_between_the_targets_steps():
    between = step_model(SMALL, target=LLAMA_70B)

    assert free_hops(pooled()) == pytest.approx({n: draft_s(between, n) for n in BATCHES}, rel=1e-12)


def test_a_round_is_draft_verification_and_two_hops():
    model = pooled()
    step = decode(8, 4)
    hop_s = model.draft.pool.hops.both_s(8) / 2

    own = model.draft.pool.own.passes(8, 4)
    verify_s = model.cost(step).total_s - model.cost(step).draft_s

    by_hand = synchronous_round_s(own[0] + own[1] * step.context_tokens, verify_s, hop_s)
    assert model.seconds(step) == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize("sequences", BATCHES)
def test_ahead_without_a_hit_is_in_turns(sequences):
    in_turns, behind = pooled(), pooled(overlap=ahead(0.0))

    assert draft_s(behind, sequences) == pytest.approx(draft_s(in_turns, sequences), rel=1e-12)


@pytest.mark.parametrize("sequences", BATCHES)
def test_ahead_follows_the_renewal_law(sequences):
    turns, model = pooled(), pooled(overlap=ahead(0.3))
    step = decode(sequences, 4)
    cost = turns.cost(step)

    by_hand = ahead_round_s(cost.draft_s, cost.total_s - cost.draft_s, 0.3, sequences)

    assert model.seconds(step) == pytest.approx(by_hand, rel=1e-9)


def test_the_more_guesses_are_right_the_less_is_waited_for():
    waited = [draft_s(pooled(overlap=ahead(hit)), 2) for hit in (0.0, 0.3, 0.6, 1.0)]

    assert waited == sorted(waited, reverse=True)
    assert waited[-1] == 0.0


def test_many_outcomes_are_many_rows():
    few, many = (pooled(overlap=ahead(0.9, outcomes=n), propose=chain(8)).draft.pool.ahead for n in (1, 9))

    assert many.behind(256, 8)[0] >= few.behind(256, 8)[0]
    assert many.behind(256, 8)[0] > 0.0


def test_distributions_cost_their_bytes():
    ids, whole = (pooled(link="pcie", payload=payload) for payload in ("token_ids", "probabilities"))
    hops = ids.draft.pool.hops
    more = transfer_s(64 * 4 * (4 + 2 * 128256), hops.latency_s, hops.bytes_per_s)

    assert whole.draft.pool.hops.answer_s(64) == pytest.approx(more, rel=1e-12)
    assert draft_s(whole, 64) - draft_s(ids, 64) == pytest.approx(more - hops.answer_s(64), rel=1e-9)


def test_a_slower_link_makes_a_slower_step():
    waited = [draft_s(pooled(link=link), 8) for link in ("nvlink", "pcie", "internode")]

    assert waited == sorted(waited)


def test_the_slower_end_of_a_link_counts():
    model = pooled(gpu="b200-sxm", price=5.0)

    assert model.draft.pool.hops.bytes_per_s == pooled().draft.pool.hops.bytes_per_s


def test_the_pools_gpus_set_its_pace():
    assert draft_s(pooled(gpu="b200-sxm", price=5.0), 8) < draft_s(pooled(), 8)


def test_copies_share_the_sequences_but_not_a_prompt():
    one, two = pooled(), pooled(gpus=2)

    assert draft_s(two, 64) < draft_s(one, 64)
    assert free_hops(two)[64] == pytest.approx(free_hops(one)[64], rel=0.5)
    assert two.cost(PROMPT).draft_s == pytest.approx(one.cost(PROMPT).draft_s, rel=1e-9)


def test_a_draft_by_its_ratios_shares_its_sequences_out_too():
    one, two = (pooled(ABSTRACT, gpus=gpus) for gpus in (1, 2))

    assert two.draft.pool.own.passes(64, 4)[0] == one.draft.pool.own.passes(32, 4)[0]


def test_drafts_apart_run_at_the_same_time():
    union = {"kind": "union", "recursive_rejection": {"correlation": 0.5}}
    together, apart = (pooled(SMALL, SMALL, gpus=gpus, combine=union) for gpus in (1, 2))

    assert apart.draft.pool.own.passes(8, 8) == pytest.approx(pooled().draft.pool.own.passes(8, 4))
    assert together.draft.pool.own.passes(8, 8)[0] == pytest.approx(2 * pooled().draft.pool.own.passes(8, 4)[0])


def test_a_pool_that_is_shared_is_waited_for():
    waited = [draft_s(pooled(shared_by=replicas), 8) for replicas in (1, 2, 4, 8)]

    assert waited == sorted(waited)
    assert waited[0] < waited[-1] < 8 * waited[0]


def test_an_ask_that_finds_the_pool_busy_waits_beside_being_served_with_others():
    model = pooled(shared_by=64)

    assert draft_s(model, 1) > 1.3 * model.draft.pool.own.passes(64, 4)[0], "more than a batch of everybody's sequences"


def test_prompts_are_read_behind_the_target():
    assert pooled(overlap=ahead(0.5)).cost(PROMPT).draft_s == 0.0 < pooled().cost(PROMPT).draft_s


def test_hits_follow_from_what_is_accepted():
    chain_goes_on = hit_chance([0.8, 0.6, 0.5, 0.4], 0.7)

    assert chain_goes_on == pytest.approx(0.7 * 0.4)
    assert hit_chance([0.8, 0.6, 0.5, 0.4], 0.7, outcomes=5) == pytest.approx(0.7)
    model = pooled(overlap={"kind": "draft_ahead", "bonus_guess": 0.7})
    assert model.draft.pool.ahead.hit == pytest.approx(chain_goes_on)


def test_more_outcomes_are_never_less_likely_to_hit():
    hits = [hit_chance([0.9, 0.5, 0.2], 0.8, outcomes) for outcomes in (1, 2, 3, 4)]

    assert hits == sorted(hits)


def test_a_measured_hit_is_taken_as_it_is():
    assert pooled(overlap=ahead(0.25)).draft.pool.ahead.hit == 0.25


def test_who_is_alone_always_has_drafts_in_the_end():
    assert [drafted_share(hit, 1) for hit in (0.0, 0.4, 1.0)] == [1.0, 1.0, 1.0]
    assert drafted_share(0.4, 64) == pytest.approx(0.4)
    assert all_miss(1.0, 1) == 0.0
