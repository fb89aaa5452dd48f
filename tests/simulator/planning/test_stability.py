"""Draws of all inputs, and what they say of a winner."""

import numpy as np
import pytest

from simulator.planning.comparison import BY_CAPACITY, BY_LOAD
from simulator.planning.inputs import Input
from simulator.planning.moved_costs import Costs
from simulator.planning.stability import distance, latin_hypercube, stability, turned_by
from simulator.planning.swing import Bar, End, leader, stays_cheapest, winner_at


def costs(**usd):
    return {name: Costs(cost, cost, None if cost is None else 1) for name, cost in usd.items()}


def an_input(name):
    return Input(name, name, 0.5, 2.0, "assumption", "a guess", "rate")


def test_every_slice_of_every_input_is_drawn_once():
    found = latin_hypercube(50, 3, seed=7)

    assert (np.sort((found * 50).astype(int), axis=0) == np.arange(50)[:, None]).all()
    assert ((found > 0) & (found < 1)).all()


def test_inputs_are_drawn_apart():
    found = latin_hypercube(400, 2, seed=7)

    assert abs(np.corrcoef(found.T)[0, 1]) < 0.15


def test_a_seed_gives_its_draws_again():
    assert (latin_hypercube(20, 2, seed=7) == latin_hypercube(20, 2, seed=7)).all()
    assert (latin_hypercube(20, 2, seed=7) != latin_hypercube(20, 2, seed=8)).any()


def test_nothing_to_draw_gives_rows_of_nothing():
    assert latin_hypercube(5, 0, seed=7).shape == (5, 0)


def test_the_winner_is_the_cheapest_that_holds():
    assert leader(costs(a=2.0, b=1.0, c=None), BY_LOAD) == "b"
    assert leader(costs(a=None), BY_CAPACITY) is None


def test_as_cheap_is_no_reason_to_change_ones_mind():
    assert winner_at("b", costs(a=1.0, b=1.0), BY_LOAD) == "b"
    assert winner_at("b", costs(a=0.9, b=1.0), BY_LOAD) == "a"


def test_a_winner_that_does_not_hold_has_lost():
    assert not stays_cheapest("a", costs(a=None, b=9.0), BY_LOAD)
    assert winner_at("a", costs(a=None, b=None), BY_LOAD) is None


def test_draws_are_counted_by_who_wins():
    draws = [costs(a=1.0, b=2.0)] * 6 + [costs(a=3.0, b=2.0)] * 3 + [costs(a=None, b=None)]

    found = stability("a", BY_LOAD, [an_input("x")], latin_hypercube(10, 1, 0), draws)

    assert (found.chance, found.winners, found.none_holds) == (0.6, {"a": 6, "b": 3}, 1)
    assert found.interval[0] < 0.6 < found.interval[1]


def test_a_winner_that_cannot_turn_stays_with_certainty():
    found = stability("a", BY_LOAD, [an_input("x")], latin_hypercube(9, 1, 0), [costs(a=1.0, b=2.0)] * 9)

    assert (found.chance, found.interval[1], found.turned_by) == (1.0, 1.0, [])


def test_the_input_that_turns_the_winner_is_told_from_one_that_does_not():
    chances = latin_hypercube(200, 2, seed=3)

    found = turned_by(["idle", "guilty"], chances, chances[:, 1] < 0.8)

    assert found[0] == ("guilty", 1.0)
    assert found[1][1] < 0.35


def test_few_draws_that_turn_tell_nothing():
    chances = latin_hypercube(100, 1, seed=3)

    assert turned_by(["x"], chances, chances[:, 0] < 0.97) == []


def test_the_distance_is_that_of_scipy():
    stats = pytest.importorskip("scipy.stats")
    some, others = np.random.default_rng(1).random((2, 30))

    assert distance(some.tolist(), others.tolist()) == pytest.approx(stats.ks_2samp(some, others).statistic)


def bar(low, base, high):
    ends = End(0.5, costs(a=low)), End(2.0, costs(a=high))
    return Bar("x", "x", "assumption", "a guess", ends, costs(a=base), ("a", "a"))


def test_a_bar_is_as_wide_as_its_ends_are_apart():
    assert bar(1.0, 2.0, 4.0).swing("a", BY_LOAD) == 1.5
    assert bar(1.0, 2.0, None).swing("a", BY_LOAD) == float("inf")
    assert bar(1.0, None, 4.0).swing("a", BY_LOAD) == bar(1.0, 2.0, 3.0).swing("b", BY_LOAD) == 0.0
