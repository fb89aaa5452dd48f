"""Tasks of many jobs: few in flight, findings in order, errors to whom they belong."""

import os
import signal
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from scenarios.executors import ProcessExecutor
from scenarios.schedule import TASKS_A_PLACE, run_jobs
from scenarios.workers import WorkerLostError


@dataclass(eq=False)
class Sums:
    """A job of numbers."""

    name: str
    tasks: list[int]

    def describe(self, task):
        return f"{self.name}, number {task}"


class Threads(ThreadPoolExecutor):
    """Two threads that say that they are two."""

    def __init__(self):
        super().__init__(2)

    def width(self):
        return 2


class GivenUp(Executor):
    """Cancels whatever it is given."""

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        future.cancel()
        future.set_running_or_notify_cancel()
        return future


def square(number):
    """The smaller a number, the longer it takes."""
    time.sleep(0.02 / (1 + number))
    return number * number


def root(number):
    if number < 0:
        raise ValueError(f"{number} is below zero")
    return number**0.5


def refuse(number):
    time.sleep(0.02)
    raise ValueError(str(number))


def end(_):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture
def threads():
    with Threads() as executor:
        yield executor


def test_findings_are_in_the_order_of_the_tasks_whatever_their_end(threads):
    (outcome,) = run_jobs([Sums("a", [0, 1, 2, 3])], square, threads)

    assert outcome.found == [0, 1, 4, 9]
    assert outcome.error is None
    assert outcome.seconds > 0


def test_here_and_elsewhere_the_same_is_found(threads):
    jobs = [Sums("a", [1, 2]), Sums("b", []), Sums("c", [3])]

    here = [(of.job.name, of.found) for of in run_jobs(jobs, square)]

    assert here == [("a", [1, 4]), ("b", []), ("c", [9])]
    assert sorted((of.job.name, of.found) for of in run_jobs(jobs, square, threads)) == sorted(here)


def test_jobs_are_asked_for_when_there_is_room(threads):
    asked, ended, ahead = [], [], []

    def jobs():
        for number in range(60):
            asked.append(number)
            ahead.append(len(asked) - len(ended))
            yield Sums(str(number), [number])

    for outcome in run_jobs(jobs(), square, threads):
        ended += [outcome]

    assert len(ended) == 60
    assert max(ahead) <= TASKS_A_PLACE * 2 + 2


def test_here_a_job_is_put_away_before_the_next_is_asked_for():
    log = []

    def jobs():
        for name in ("a", "b"):
            log.append(f"asked for {name}")
            yield Sums(name, [1, 2])

    log += [f"got {of.job.name}" for of in run_jobs(jobs(), lambda number: log.append(number))]

    assert log[:4] == ["asked for a", 1, 2, "asked for b"]


def test_every_task_ticks_when_it_has_ended(threads):
    ticks = []

    list(run_jobs([Sums("a", [1, 2]), Sums("b", [3])], square, threads, lambda: ticks.append(1)))

    assert len(ticks) == 3


def test_an_error_is_its_jobs_own_and_its_other_tasks_are_dropped(threads):
    jobs = [Sums("bad", [-1, *range(50)]), Sums("good", [4])]

    found = {of.job.name: of for of in run_jobs(jobs, root, threads)}

    assert str(found["bad"].error) == "-1 is below zero"
    assert None in found["bad"].found
    assert found["good"].found == [2.0]


def test_a_job_whose_tasks_all_fail_is_told_once(threads):
    (outcome,) = run_jobs([Sums("bad", [1, 2, 3, 4])], refuse, threads)

    assert str(outcome.error) in ("1", "2")


def test_an_executor_that_gives_up_is_told_with_the_task():
    (outcome,) = run_jobs([Sums("a", [1])], square, GivenUp())

    assert isinstance(outcome.error, WorkerLostError)
    assert str(outcome.error) == "a, number 0: its executor gave it up"


def test_a_task_that_ends_its_process_is_named():
    pool = ProcessExecutor(1, most_tries=1)

    (outcome,) = run_jobs([Sums("a", [5])], end, pool)

    assert str(outcome.error).startswith("a, number 0: a worker process ended")
    pool.shutdown(cancel_futures=True)
