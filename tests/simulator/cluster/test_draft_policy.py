"""What policies choose: a table, SGLang's rule step by step, and the best of all ways to hand out draft tokens."""

from itertools import product

import numpy as np
import pytest

from simulator.cluster.draft_policy import CHOOSERS
from simulator.cluster.goodput import Work, best_draft_tokens
from simulator.spec.draft_policy import POLICIES, ByBatch, PerRequest
from tests.simulator.cluster.test_adaptive import TIMES, adaptive, run
from tests.simulator.cluster.toys import UnevenLinearTimes, fixed_lengths, make_plan, poisson_chunks, simulate

ALIKE = np.array([[0.8, 0.6, 0.3]])
UNLIKE = np.array([[0.9, 0.8, 0.7], [0.6, 0.2, 0.1], [0.3, 0.0, 0.0]])


def seconds(times, drafts):
    proposing = [int((drafts >= k).sum()) for k in (1, 2, 3) if (drafts >= k).any()]
    return times.decode_affine(len(drafts), proposing)[0]


def rate_of_all(times, survival, drafts):
    """Product of the sequences' tokens per second, as a sum of logarithms."""
    tokens = [1.0 + survival[i, :k].sum() for i, k in enumerate(drafts)]
    return np.log(tokens).sum() - len(drafts) * np.log(seconds(times, np.array(drafts)))


@pytest.mark.parametrize("row_s", [1e-4, 1e-3, 3e-3, 1e-2, 1.0])
@pytest.mark.parametrize("survival", [np.repeat(ALIKE, 3, axis=0), UNLIKE], ids=["alike", "unlike"])
def test_goodput_finds_the_best_of_all_ways_to_hand_out_draft_tokens(survival, row_s):
    times = UnevenLinearTimes(0.01, draft_token_s=row_s)
    every = [np.array(drafts) for drafts in product(range(4), repeat=3)]

    found = best_draft_tokens(survival, times, Work()).draft_tokens

    best = max(rate_of_all(times, survival, drafts) for drafts in every)
    assert rate_of_all(times, survival, found) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("pass_s", [1e-4, 2e-3, 1e-2])
def test_alike_sequences_get_the_draft_tokens_of_the_highest_goodput(pass_s):
    """The argmax of (R + Σ s) ÷ T over all M, as TurboSpec and DSpark state it."""
    survival, times = np.repeat(ALIKE, 4, axis=0), UnevenLinearTimes(0.01, draft_token_s=4e-4, pass_s=pass_s)
    order = [k for k in range(3) for _ in range(4)]
    goodput = []
    for m in range(13):
        drafts = np.array([sum(1 for j in range(m) if j % 4 == i) for i in range(4)])
        goodput.append((4 + sum(ALIKE[0, k] for k in order[:m])) / seconds(times, drafts))

    best = best_draft_tokens(survival, times, Work())

    assert best.draft_tokens.sum() == int(np.argmax(goodput))


def test_free_draft_tokens_are_all_taken_and_hopeless_ones_are_not():
    free, dear = UnevenLinearTimes(0.01), UnevenLinearTimes(0.01, draft_token_s=1.0)

    assert best_draft_tokens(UNLIKE, free, Work()).draft_tokens[0] == 3
    assert best_draft_tokens(UNLIKE, dear, Work()).draft_tokens.sum() == 0


def test_a_draft_that_is_far_behind_is_left_where_it_is():
    times = UnevenLinearTimes(0.01, draft_token_s=1e-4, read_token_s=1e-3)

    near, far = (best_draft_tokens(UNLIKE, times, Work(missed_tokens=n)) for n in (0, 10_000))

    assert near.draft_tokens.sum() > 0
    assert far.draft_tokens.sum() == 0


def test_a_schedule_reads_its_own_bands_and_beyond_the_last_as_in_it():
    policy = ByBatch(kind="by_batch", schedule=((1, 16, 5), (17, 64, 3), (65, 100, 0)))

    assert [policy.draft_tokens(n) for n in (1, 16, 17, 64, 65, 100, 500)] == [5, 5, 3, 3, 0, 0, 0]


def by_the_rule(policy, accepts):
    """SGLang's rule, one step after the other, for one request; accepts: of K by round."""
    k, mean, drafted, step = policy.candidates[len(policy.candidates) // 2], None, [], 0
    mean = k - 1.0
    for raw in accepts:
        drafted.append(k)
        if k > 0:
            mean = (1 - policy.ema) * mean + policy.ema * min(raw, k)
        step += 1
        if step <= policy.warm_up_steps or (step + 1) % policy.every_steps:
            continue
        at = before = policy.candidates.index(k)
        if k == 0:
            at = min(at + 1, len(policy.candidates) - 1)
            mean = policy.candidates[at] - 1.0 if mean < 0 else mean
        else:
            while at and mean <= policy.down_margin + (
                policy.candidates[at - 1] - 0.5 if policy.candidates[at - 1] else 0.5
            ):
                at -= 1
            while (
                at >= before
                and at + 1 < len(policy.candidates)
                and mean > policy.candidates[at] - 0.5 + policy.up_margin
            ):
                at += 1
        k = policy.candidates[at]
    return drafted


@pytest.mark.parametrize("survival", [(0.9, 0.85, 0.8, 0.75), (0.5, 0.3, 0.1, 0.1), (0.1, 0.0, 0.0, 0.0)])
def test_a_request_moves_by_the_published_rule(survival):
    policy = PerRequest(kind="per_request", candidates=(0, 1, 2, 4), every_steps=3, warm_up_steps=6)
    plan = adaptive(make_plan(TIMES, survival=survival), policy, UnevenLinearTimes(0.01, positions=4))

    records = simulate(plan, poisson_chunks(0.001, fixed_lengths(100, 200)), 1)

    chunk = plan.planner.plan(np.array([0]), np.array([100]), np.array([200]), np.array([0]))
    expected = by_the_rule(policy, chunk.accepted.tolist())[: int(records.requests.steps[0])]
    assert records.requests.drafted_tokens[0] == sum(expected)
    assert len(set(expected)) > 1


def test_better_acceptance_proposes_more_by_request_and_more_load_less_by_goodput():
    rule = PerRequest(kind="per_request", candidates=(0, 1, 3))
    times = UnevenLinearTimes(0.01, sequence_s=5e-4, draft_token_s=5e-4)
    per_step = []
    for survival in ((0.3, 0.1, 0.0), (0.6, 0.4, 0.3), (0.95, 0.9, 0.85)):
        done = run(4.0, rule, times, survival, kv_blocks=4000).requests
        per_step.append(done.drafted_tokens.sum() / done.steps.sum())
    by_load = [best_draft_tokens(np.repeat(ALIKE, n, axis=0), times, Work()).draft_tokens.mean() for n in (1, 8, 64)]

    assert per_step[0] < min(per_step[1:])
    assert by_load == sorted(by_load, reverse=True)
    assert by_load[0] > by_load[-1]


def test_every_policy_of_the_scenario_that_changes_draft_tokens_has_something_that_chooses():
    assert sorted(CHOOSERS) == sorted(set(POLICIES) - {"fixed"})
