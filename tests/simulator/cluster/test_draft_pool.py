"""Draft GPUs that replicas share: a queue that is taken whole, and conserves what it is asked for."""

from dataclasses import replace

import numpy as np
import pytest
import simpy

from simulator.cluster.cluster import Load, simulate_cluster
from simulator.cluster.draft_pool import DraftPool, PoolPlan, Work
from simulator.cluster.records import columns_equal
from simulator.physics.draft import NO_DRAFT, PoolCost
from simulator.physics.hops import Hops
from tests.simulator.cluster.toys import LinearTimes, assert_conserved, fixed_lengths, make_plan, poisson_chunks

SURVIVAL = (0.8, 0.5)
VERIFY = LinearTimes(step_s=0.01, sequence_s=1e-4, context_token_s=1e-7)
NO_HOPS = Hops(0.0, 1e12, draft_tokens=2)


def drafting(pass_s=0.002, sequence_s=1e-5, context_s=1e-8, prompt_token_s=1e-6):
    """A draft with known times."""
    return replace(
        NO_DRAFT,
        passes=lambda sequences, tokens: (
            (pass_s + sequence_s * sequences, context_s) if sequences else (0.0, context_s)
        ),
        prefill_s=lambda tokens: prompt_token_s * tokens,
    )


def pooled(shared_by, replicas=4, hops=NO_HOPS, own=None, times=VERIFY, **choices):
    plan = make_plan(times, replicas=replicas, survival=SURVIVAL, step_by_step=True, **choices)
    return replace(plan, pool=PoolPlan(PoolCost(own or drafting(), hops), len(SURVIVAL), shared_by))


def run(plan, rate_per_s=20.0, requests=300, check=None, lengths=None):
    chunks = poisson_chunks(rate_per_s, lengths or fixed_lengths(200, 40))
    return simulate_cluster(plan, Load(chunks, requests, 30), check)


def tpot_s(records):
    requests = records.requests
    return float(np.nanmean((requests.finish_s - requests.first_token_s) / (requests.output_tokens - 1)))


class Alone:
    """The same drafting, as a part of a replica's own steps."""

    def __init__(self, own, hops=NO_HOPS):
        self.own, self.hops = own, hops

    def seconds(self, shape):
        drafts = self.own.passes(shape.sequences, 2)
        seconds = VERIFY.seconds(shape) + self.own.prefill_s(shape.prefill_tokens) + drafts[1] * shape.context_tokens
        seconds += self.hops.prompts_s(shape.prefill_tokens)
        return seconds + (drafts[0] + self.hops.both_s(shape.sequences) if shape.sequences else 0.0)

    def decode_affine(self, sequences):
        constant, slope = VERIFY.decode_affine(sequences)
        drafts = self.own.passes(sequences, 2)
        return constant + drafts[0] + self.hops.both_s(sequences), slope + drafts[1]


@pytest.mark.parametrize("hops", [NO_HOPS, Hops(2e-4, 1e7, draft_tokens=2)])
def test_a_pool_for_each_replica_is_drafting_in_its_own_steps(hops):
    times = Alone(drafting(), hops)
    alone = make_plan(times, replicas=4, survival=SURVIVAL)

    fast, coupled = run(alone), run(pooled(1, hops=hops))

    assert np.allclose(coupled.requests.finish_s, fast.requests.finish_s, rtol=1e-9, equal_nan=True)
    assert coupled.requests.steps.tolist() == fast.requests.steps.tolist()


def test_every_round_that_is_asked_for_is_served_once():
    seen = []

    def check(cluster):
        seen.extend((pool.asked, pool.served, pool.waiting, pool.batches) for pool in cluster.pools)
        assert_conserved(cluster)

    run(pooled(2), check=check)

    assert len(seen) == 2
    for asked, served, waiting, batches in seen:
        assert asked == served + waiting
        assert 0 <= waiting <= 2
        assert 0 < batches <= served + 1


def test_the_last_pool_may_serve_fewer():
    def check(cluster):
        assert [pool.asked > 0 for pool in cluster.pools] == [True, True]
        assert cluster.replicas[2].seat.pool is cluster.pools[1] is not cluster.replicas[0].seat.pool

    run(pooled(2, replicas=3), check=check)


def test_the_more_replicas_share_a_pool_the_longer_they_wait():
    slow = drafting(pass_s=0.008)

    waited = [tpot_s(run(pooled(shared_by, own=slow), rate_per_s=40.0)) for shared_by in (1, 2, 4)]

    assert waited == sorted(waited)
    assert waited[2] > 1.05 * waited[0]


def test_rounds_that_wait_together_are_drafted_together():
    batches = []
    slow = drafting(pass_s=0.05)

    run(pooled(4, own=slow), rate_per_s=40.0, check=lambda cluster: batches.append(cluster.pools[0]))

    assert batches[0].served > 1.5 * batches[0].batches


def test_every_outcome_that_is_prepared_for_has_rows_and_context_of_its_own():
    env = simpy.Environment()
    pool = DraftPool(env, PoolPlan(PoolCost(drafting(), NO_HOPS), draft_tokens=2, shared_by=1))

    env.run(pool.ask(Work(sequences=10, context_tokens=1000.0), branches=3))

    assert env.now == pytest.approx(0.002 + 1e-5 * 30 + 1e-8 * 3000)


def test_a_later_answer_makes_a_later_token():
    waited = [tpot_s(run(pooled(2, hops=Hops(latency_s, 1e12, 2)))) for latency_s in (0.0, 1e-3, 5e-3)]

    assert waited == sorted(waited)
    assert waited[1] == pytest.approx(waited[0] + 2e-3 / 2.3, rel=0.1)


def test_a_prompt_is_read_by_the_pool_before_its_first_token():
    slow = replace(drafting(), prefill_s=lambda tokens: 1e-3 * tokens)

    ttft = [float(np.nanmean(found.requests.first_token_s - found.requests.arrival_s))
            for found in (run(pooled(1), rate_per_s=2.0), run(pooled(1, own=slow), rate_per_s=2.0))]  # fmt: skip

    assert ttft[1] > ttft[0] + 0.15


def test_the_same_seed_gives_the_same_run():
    first, second = (run(pooled(4)) for _ in range(2))

    assert columns_equal(first.requests, second.requests)
    assert columns_equal(first.steps, second.steps)


def test_pools_that_share_nothing_commit_the_same_tokens():
    fixed, shared = run(make_plan(VERIFY, replicas=4, survival=SURVIVAL)), run(pooled(4))
    common = min(fixed.requests.steps.size, shared.requests.steps.size)

    assert fixed.requests.steps[:common].tolist() == shared.requests.steps[:common].tolist()
