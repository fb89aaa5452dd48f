"""Forced acceptance: exact, and apart from what the target thinks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import DraftError
from engine.sequence import Request
from engine.summary import acceptance
from engine.synthetic import accepted_drafts, evenly_spread, forced_by_length, forced_by_survival
from tests.engine.toys import make_engine, random_prompts, tiny_weights


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6), st.integers(1, 9))
def test_a_survival_vector_is_forced_exactly(survival, power):
    survival, rounds = sorted(survival, reverse=True), 2**power
    forced = forced_by_survival(survival)

    counts = [forced(0, nth, len(survival)) for nth in range(rounds)]

    for position, s in enumerate(survival):
        assert sum(c > position for c in counts) == np.ceil(s * rounds)


@given(st.floats(0, 1), st.integers(1, 3000))
def test_after_any_number_of_rounds_it_is_off_by_little(survival, rounds):
    uniform = evenly_spread()

    count = sum(uniform(0, n) < survival for n in range(rounds))

    assert abs(count - survival * rounds) <= np.log2(rounds) + 1


def test_the_loop_commits_what_is_forced_whatever_the_drafter():
    survival = (0.875, 0.5, 0.25)
    for draft in ("lookup", "model"):
        engine = make_engine(tiny_weights(), draft=draft, draft_tokens=3, forced=forced_by_survival(survival))
        sequences = [engine.submit(Request(p, 50, stop_tokens=frozenset(range(12)))) for p in random_prompts(16)]
        list(engine.run())
        found = acceptance(sequences)

        assert found["survival"] == pytest.approx(survival, abs=8 / found["steps"])
        assert found["tokens_per_step"] == pytest.approx(1 + sum(survival), abs=12 / found["steps"])
        assert all(s.num_output == 50 for s in sequences)


def test_a_length_is_a_survival_vector():
    forced = forced_by_length(3.25, 5)

    assert sum(forced(0, n, 5) for n in range(64)) / 64 == 2.25
    assert forced_by_length(6, 5)(0, 0, 5) == 5
    assert forced_by_length(1, 5)(0, 0, 5) == 0


def test_more_positions_than_draft_tokens_are_not_accepted():
    assert accepted_drafts([1.0, 1.0, 1.0], 0.5, 2) == 2


@pytest.mark.parametrize("wrong", [[], [0.5, 0.6], [1.2], [-0.1]])
def test_vectors_that_are_none_are_refused(wrong):
    with pytest.raises(DraftError, match="survival vector"):
        forced_by_survival(wrong)


def test_lengths_out_of_reach_are_refused():
    with pytest.raises(DraftError, match="not between 1 and 4"):
        forced_by_length(4.5, 3)
