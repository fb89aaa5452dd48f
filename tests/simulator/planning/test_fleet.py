from hypothesis import given
from hypothesis import strategies as st

from simulator.planning.fleet import fewest, guessed_replicas


class Needs:
    """Holds from a number of replicas on."""

    def __init__(self, replicas: int) -> None:
        self.replicas = replicas
        self.asked: list[int] = []

    def __call__(self, replicas: int) -> bool:
        self.asked.append(replicas)
        return replicas >= self.replicas


@given(st.integers(1, 200), st.integers(1, 200))
def test_the_fewest_that_hold_are_found_from_any_start_near_enough(needed, start):
    found = fewest(Needs(needed), start)

    assert found == (needed if needed <= 16 * start else None)


def test_a_right_guess_asks_twice():
    needs = Needs(7)

    fewest(needs, 7)

    assert needs.asked == [7, 6]


def test_a_guess_of_one_that_holds_asks_once():
    needs = Needs(1)

    assert (fewest(needs, 1), needs.asked) == (1, [1])


def test_what_is_known_is_not_asked():
    needs = Needs(7)

    found = fewest(needs, 7, {7: True, 6: False})

    assert (found, needs.asked) == (7, [])


def test_no_number_is_asked_twice():
    needs = Needs(37)

    fewest(needs, 5)

    assert len(needs.asked) == len(set(needs.asked))


def test_a_load_that_nothing_holds_is_given_up():
    assert fewest(Needs(10**9), 3) is None


def test_an_exact_multiple_needs_no_spare_replica():
    assert guessed_replicas(20.0, 10.0, replicas=2) == 4
    assert guessed_replicas(20.1, 10.0, replicas=2) == 5
    assert guessed_replicas(0.1, 10.0, replicas=2) == 1
