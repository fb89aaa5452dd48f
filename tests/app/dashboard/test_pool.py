"""Worker processes: fair, and ended when they must be."""

import os
import threading
import time
from concurrent.futures import CancelledError

import pytest

from app.dashboard.pool import FairPool, Owner


def order(_):
    return time.monotonic()


def nap(seconds):
    time.sleep(seconds)
    return seconds


def fail(message):
    raise ValueError(message)


@pytest.fixture
def pool():
    made = FairPool(1, most_s=30.0)
    yield made
    made.close()


def test_owners_take_turns(pool):
    many, few = Owner(pool), Owner(pool)

    long = [many.submit(order, n) for n in range(6)]
    short = [few.submit(order, n) for n in range(2)]

    assert max(f.result(30) for f in short) < sorted(f.result(30) for f in long)[4]


def test_a_cancelled_task_is_ended_and_the_next_one_runs(pool):
    slow, quick = Owner(pool), Owner(pool)
    running, waiting = slow.submit(nap, 600), slow.submit(nap, 600)
    while not running.running():
        time.sleep(0.01)

    slow.cancel()

    with pytest.raises(CancelledError):
        running.result(30)
    assert waiting.cancelled()
    assert slow.submit(nap, 0).cancelled()
    assert quick.submit(nap, 0).result(30) == 0


def test_a_task_that_takes_too_long_is_ended():
    pool = FairPool(1, most_s=0.2)

    with pytest.raises(TimeoutError, match=r"longer than 0\.2 s"):
        Owner(pool).submit(nap, 600).result(30)
    pool.close()


def test_an_error_of_a_task_is_its_own(pool):
    owner = Owner(pool)

    with pytest.raises(ValueError, match="broken"):
        owner.submit(fail, "broken").result(30)
    assert owner.submit(nap, 0).result(30) == 0


def test_an_answer_that_cannot_be_handed_over_is_told_and_the_process_lives_on(pool):
    owner = Owner(pool)
    before = owner.submit(os.getpid).result(timeout=30)

    with pytest.raises(RuntimeError, match="cannot be handed over"):
        owner.submit(threading.Lock).result(timeout=30)

    assert owner.submit(os.getpid).result(timeout=30) == before


def test_a_closed_pool_takes_nothing(pool):
    pool.close()

    assert Owner(pool).submit(nap, 0).cancelled()
