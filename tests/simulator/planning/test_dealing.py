"""What a request meets at the replica that a router sends it to."""

from itertools import pairwise
from random import Random

import numpy as np
import pytest

from simulator.cluster.routing import Ask, least_outstanding_tokens
from simulator.planning.dealing import SPACING, dealing, prompts_of

PROMPTS = -1000.0 * np.log1p(-(np.arange(256) + 0.5) / 256)
EVERY = np.arange(256)
WINDOWS = np.linspace(0.01, 0.5, 256)
SHORT, LONG = np.array([20]), np.array([254])


def levelled(in_flight=20.0, replicas=4, prompts=PROMPTS, router="least_outstanding_tokens"):
    return dealing(router, 3.0, replicas, prompts_of(prompts), in_flight).counted()


@pytest.mark.parametrize("router", list(SPACING))
def test_a_lone_replica_gets_a_poisson_stream(router):
    alone = levelled(replicas=1, router=router)

    assert alone.earlier(WINDOWS) == pytest.approx(3.0 * WINDOWS)
    assert alone.later(EVERY, WINDOWS) == pytest.approx(3.0 * WINDOWS)
    assert alone.weight(0.2) == pytest.approx(0.6)
    assert alone.decoding == 1.0


def test_arrivals_that_are_dealt_out_in_turn_keep_apart():
    seen = [levelled(replicas=n, router="round_robin").seen(0.1) for n in (1, 2, 4, 8)]

    assert seen == sorted(seen, reverse=True)
    assert seen[-1] < 0.05


def test_in_the_long_run_each_replica_gets_its_share():
    for router in SPACING:
        came = levelled(router=router).between(LONG, np.array([5.0]), np.array([6.0]))

        assert came == pytest.approx(3.0, rel=0.02)


@pytest.mark.parametrize("replicas", [2, 4, 16])
def test_a_long_prompt_keeps_others_away_and_a_short_one_does_not(replicas):
    dealt, window = levelled(replicas=replicas), np.array([0.1])

    assert dealt.later(LONG, window) < 0.2 * 0.3
    assert dealt.later(SHORT, window) > 0.9 * 0.3


def test_prompts_together_keep_others_away_as_one_of_their_length():
    dealt = levelled()

    assert PROMPTS[dealt.together(SHORT, np.array([2.0]))] == pytest.approx(2090.0, rel=0.05)
    assert dealt.together(LONG, np.array([9.0])) == 255


def test_few_requests_in_flight_leave_an_empty_replica_for_the_next():
    idle, busy = (levelled(in_flight, replicas=8) for in_flight in (0.1, 50.0))

    assert idle.seen(0.1) < 0.4 * busy.seen(0.1)
    assert idle.decoding < 0.2 < 0.9 < busy.decoding


class Level:
    """A replica as the router sees it."""

    def __init__(self):
        self.prompts = []

    @property
    def outstanding_tokens(self):
        return sum(self.prompts)

    def cached_tokens(self, ids, ends):
        return 0


def routed(replicas, in_flight, events):
    """Prompts in the order of arrival and their replicas: arrivals by the router, departures anywhere."""
    rng, levels, came = Random(7), [Level() for _ in range(replicas)], []
    for _ in range(events):
        running = [(level, at) for level in levels for at in range(len(level.prompts))]
        if rng.random() * (replicas * in_flight + len(running)) < len(running):
            level, at = running[rng.randrange(len(running))]
            level.prompts.pop(at)
        else:
            prompt = PROMPTS[rng.randrange(256)]
            chosen = least_outstanding_tokens(levels, Ask(0, prompt, 0, lambda _: ((), ())), rng)
            levels[chosen].prompts.append(prompt)
            came.append((prompt, chosen))
    return came[len(came) // 5 :]


@pytest.mark.parametrize(("replicas", "in_flight"), [(2, 12), (4, 12), (8, 6)])
def test_a_replica_is_chosen_again_as_often_as_the_router_does(replicas, in_flight):
    came = routed(replicas, in_flight, events=5000)
    dealt = levelled(in_flight, replicas)

    again = [(prompt, chosen == after) for (prompt, chosen), (_, after) in pairwise(came)]
    long = np.mean([same for prompt, same in again if prompt > 1500.0])
    assert np.mean([same for _, same in again]) == pytest.approx(dealt.again, abs=0.1)
    assert long == pytest.approx(dealt.filling[PROMPTS > 1500.0].mean() * (1.0 - dealt.again), abs=0.1)
