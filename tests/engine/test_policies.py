"""How many draft tokens a step gets: never more than K, and never with an effect on the output."""

from types import SimpleNamespace

import pytest

from engine.commands.drafting import POLICIES
from engine.errors import DraftError
from engine.policies import MOVE_AFTER, PROBE_EVERY, WARM_UP, ByBatch, Fixed, Goodput, PerRequest
from simulator.spec import draft_policy as planners
from tests.engine.toys import make_engine, outputs, random_prompts, tiny_weights


def sequences(count, draft_tokens=4, rounds=()):
    return [SimpleNamespace(number=n, draft_tokens=draft_tokens, rounds=list(rounds)) for n in range(count)]


def took(rows, seconds):
    shape = SimpleNamespace(sequences=1, prefill_tokens=0, verify_tokens=rows)
    return SimpleNamespace(shape=shape, cost=SimpleNamespace(total_s=seconds))


def test_k_is_fixed_or_falls_with_the_batch():
    by_batch = ByBatch([(1, 2, 9), (3, 4, 1)])

    assert Fixed().counts(sequences(2)) == [4, 4]
    assert [by_batch.counts(sequences(n)) for n in (1, 3, 5)] == [[4], [1] * 3, [0] * 5]


def test_the_planner_and_the_engine_know_the_same_policies():
    assert tuple(POLICIES) == planners.POLICIES


@pytest.mark.parametrize(("accepted", "ends"), [(4, 4), (1, 2), (0, 0)])
def test_a_sequence_moves_by_what_was_accepted_of_it(accepted, ends):
    (one,), policy = sequences(1), PerRequest([0, 1, 2, 4])
    (drafted,) = policy.counts([one])
    for _ in range(MOVE_AFTER + 4):
        one.rounds.append((drafted, min(accepted, drafted)))
        (drafted,) = policy.counts([one])

    assert drafted == ends


def test_a_sequence_that_was_off_looks_again():
    (one,), policy = sequences(1), PerRequest([0, 1])
    one.rounds = [(1, 0)] * 20
    seen = [policy.counts([one])[0] for _ in range(12)]

    assert {0, 1} <= set(seen[5:])


@pytest.mark.parametrize("wrong", [[1], [3, 1], [-1, 2]])
def test_candidates_rise(wrong):
    with pytest.raises(DraftError, match="per_request"):
        PerRequest(wrong)


@pytest.mark.parametrize("wrong", [[(2, 1, 3)], [(0, 4, 3)], [(1, 4, -1)], [(1, 4, 3), (4, 8, 1)]])
def test_ranges_that_cannot_be_are_told(wrong):
    with pytest.raises(DraftError, match="by_batch"):
        ByBatch(wrong)


def warmed(policy, states, step_s):
    """The policy after its first steps, and what it then chooses."""
    for _ in range(2 * len(WARM_UP)):
        counts = policy.counts(states)
        rows = len(states) + sum(counts)
        policy.observe(took(rows, step_s(rows)))
    return policy.counts(states)


def test_free_rows_are_all_taken_and_dear_ones_not():
    assert warmed(Goodput(), sequences(2), lambda rows: 1.0) == [4, 4]
    assert warmed(Goodput(), sequences(2), lambda rows: rows**2) == [0, 0]


def test_between_them_as_many_as_pay():
    states = sequences(1, rounds=[(4, 1)] * 30)

    assert warmed(Goodput(), states, lambda rows: 1.0 + 0.1 * rows) == [1]


def test_the_sequence_of_which_more_is_accepted_gets_more():
    good, bad = sequences(2)
    good.rounds, bad.rounds = [(4, 4)] * 30, [(4, 0)] * 30

    assert warmed(Goodput(), [good, bad], lambda rows: 1.0 + 0.2 * rows) == [4, 0]


def test_all_is_tried_again_now_and_then():
    policy, states = Goodput(), sequences(1)
    warmed(policy, states, lambda rows: rows**2)

    tried = [policy.counts(states) for _ in range(2 * PROBE_EVERY)]

    assert tried.count([4]) == 2


def test_steps_with_prompts_are_no_measure_of_rows():
    policy, row = Goodput(), took(3, 9.0)
    row.shape.prefill_tokens = 5

    policy.observe(row)

    assert policy._seconds == {}


def test_what_is_known_of_a_sequence_goes_with_it():
    policy = Goodput()
    for number in range(5):
        policy.counts([SimpleNamespace(number=number, draft_tokens=2, rounds=[(2, 1)])])

    assert list(policy._survival) == [4]


@pytest.mark.parametrize("policy", [Fixed, lambda: ByBatch([(1, 4, 2), (5, 8, 1)]), Goodput])
def test_no_policy_changes_an_output(policy):
    weights, prompts = tiny_weights(), random_prompts(30)
    engine = make_engine(weights, draft="noisy_target", epsilon=0.2, policy=policy())

    assert outputs(engine, prompts) == outputs(make_engine(weights), prompts)


def test_a_policy_is_asked_before_and_told_after_each_step():
    asked, told = [], []
    policy = SimpleNamespace(counts=lambda s: asked.append(len(s)) or [1] * len(s), observe=told.append)
    engine = make_engine(tiny_weights(), draft="noisy_target", policy=policy)

    outputs(engine, random_prompts(4))

    assert len(told) == len(asked) == len(engine.steps)
    assert {row.shape.draft_tokens for row in engine.steps} == {0, 1}
