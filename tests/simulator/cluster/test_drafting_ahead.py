"""Sequences whose drafts are made ahead: round by round the law holds, whatever happens to them meanwhile."""

from dataclasses import replace

import numpy as np
import pytest

from simulator.cluster.cluster import Load, simulate_cluster
from simulator.cluster.drafting_ahead import AheadDecoding
from simulator.cluster.records import columns_equal
from simulator.physics.placement import drafted_share
from tests.simulator.cluster.toys import LinearTimes, make_plan, poisson_chunks, uniform_lengths

SURVIVAL = (0.8, 0.6, 0.4)
VERIFY = LinearTimes(step_s=0.01, sequence_s=1e-4, context_token_s=1e-8)
WAIT_S = 0.004
BUSY = {"rate_per_s": 40.0}
IDLE = {"rate_per_s": 1.0}
CHOICES = {
    "roomy": {},
    "short of blocks": {"kv_blocks": 120},
    "swapping": {"kv_blocks": 120, "swap_block_s": 1e-5},
    "reserving": {"reserve_output_tokens": 60},
    "prompts first": {"prefill_first": True},
}


class Times:
    """What AheadTimes would say, of known times."""

    def decode_affine(self, sequences, proposing):
        return VERIFY.decode_affine(sequences)

    def seconds(self, shape, proposing):
        return VERIFY.seconds(shape)

    def catch_up_s(self, tokens):
        return 0.0

    def wait_s(self, sequences, context_tokens):
        return WAIT_S


def run(hit, rate_per_s=40.0, requests=150, check=None, step_by_step=False, **choices):
    plan = make_plan(VERIFY, survival=SURVIVAL, step_by_step=step_by_step, **choices)
    planner = replace(plan.planner, drawn=False)
    plan = replace(
        plan, planner=planner, decoding=lambda book, _, limits: AheadDecoding(book, Times(), limits, planner, hit)
    )
    chunks = poisson_chunks(rate_per_s, uniform_lengths((20, 200), (1, 60)))
    return simulate_cluster(plan, Load(chunks, requests, 10), check)


def tokens_per_step(records):
    return records.requests.committed_tokens.sum() / records.requests.steps.sum()


@pytest.mark.parametrize("choices", CHOICES.values(), ids=CHOICES)
@pytest.mark.parametrize("hit", [0.0, 0.4, 1.0])
def test_steps_one_by_one_leave_the_same_records(hit, choices):
    together, one_by_one = (run(hit, step_by_step=alone, **choices) for alone in (False, True))

    assert np.allclose(together.requests.finish_s, one_by_one.requests.finish_s, rtol=1e-9, equal_nan=True)
    for name in ("steps", "committed_tokens", "drafted_tokens", "preemptions"):
        assert getattr(together.requests, name).tolist() == getattr(one_by_one.requests, name).tolist()


@pytest.mark.parametrize("choices", CHOICES.values(), ids=CHOICES)
def test_blocks_and_tokens_are_conserved(choices):
    left = []

    def check(cluster):
        one = cluster.replicas[0]
        held = sum(one.residents.own.values())
        left.append((one.residents.pool.used, held, one.limits.kv_blocks, one.idle(), one.context_tokens))

    run(0.4, check=check, **choices)

    ((used, held, blocks, idle, context),) = left
    assert 0 <= held <= used <= blocks
    assert not idle or (used, context) == (0, 0)


def test_every_request_puts_out_what_it_is_asked_for():
    requests = run(0.4, kv_blocks=120).requests
    done = np.isfinite(requests.finish_s) & (requests.preemptions == 0)

    assert (requests.committed_tokens[done] >= requests.output_tokens[done] - 1).all()
    assert (requests.steps[done] <= requests.output_tokens[done] - 1).all()


@pytest.mark.parametrize("hit", [0.0, 0.3, 0.7, 1.0])
def test_alone_a_sequence_commits_what_all_its_drafts_allow(hit):
    whole, found = run(1.0, requests=400, **IDLE), run(hit, requests=400, **IDLE)

    assert tokens_per_step(found) == pytest.approx(tokens_per_step(whole), rel=0.02)


@pytest.mark.parametrize("hit", [0.2, 0.5, 0.8])
def test_in_company_it_commits_by_the_share_that_has_drafts(hit):
    found = run(hit, requests=600, **BUSY)
    steps = found.steps
    decode = steps.sequences > 0
    weight = (steps.num_steps * steps.sequences)[decode]
    share = np.average([drafted_share(hit, n) for n in steps.sequences[decode].tolist()], weights=weight)

    drafted = found.requests.drafted_tokens.sum() / (len(SURVIVAL) * found.requests.steps.sum())

    assert drafted == pytest.approx(share, rel=0.03)
    assert tokens_per_step(found) == pytest.approx(1.0 + share * sum(SURVIVAL), rel=0.03)


def test_waiting_is_the_share_of_steps_in_which_nobody_has_any():
    steps = run(0.5, requests=300, **IDLE).steps
    plain = [VERIFY.decode_affine(n)[0] for n in steps.sequences.tolist()]
    extra = steps.duration_s - steps.num_steps * np.array(plain) - 1e-8 * steps.context_tokens * steps.num_steps
    alone = (steps.sequences == 1) & (steps.prefill_tokens == 0)

    assert extra[alone].sum() / WAIT_S == pytest.approx(0.5 * steps.num_steps[alone].sum(), rel=0.05)


def test_luck_does_not_depend_on_the_company():
    first, second = (run(1.0, rate_per_s=rate).requests for rate in (1.0, 40.0))

    assert first.steps[:100].tolist() == second.steps[:100].tolist()


def test_the_same_seed_gives_the_same_run():
    first, second = (run(0.4) for _ in range(2))

    assert columns_equal(first.requests, second.requests)
    assert columns_equal(first.steps, second.steps)
