"""Where tasks run: here, or on processes that are replaced when they end."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from scenarios.executors import ProcessExecutor, SerialExecutor, width, workers
from scenarios.workers import WorkerLostError
from simulator.errors import ScenarioError


def double(number):
    return 2 * number


def fail(message):
    raise ValueError(message)


def nap(seconds):
    time.sleep(seconds)


def end_once(marker):
    """End this process the first time; later, say which process it is."""
    if not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


def end_always():
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture(scope="module")
def pool():
    made = ProcessExecutor(1)
    yield made
    made.shutdown(cancel_futures=True)


@pytest.mark.parametrize("jobs", [{"jobs": 1}, {"where": "serial"}, {"where": "process:1"}])
def test_one_process_needs_no_executor(jobs):
    with workers(**jobs) as executor:
        assert executor is None


@pytest.mark.parametrize(
    "where",
    [
        "",
        "threads",
        "process:0",
        "process:x",
        "process:",
        "serial:2",
        "dask",
        "dask://",
        "dask://host",
        "http://h:1",
        "dask://a b:1",
    ],
)
def test_a_place_that_is_none_is_told_with_those_that_are(where):
    with pytest.raises(ScenarioError, match="write serial, process, process:N, dask://HOST:PORT"), workers(None, where):
        pass


@pytest.mark.parametrize("where", ["serial", "process:3", "dask://127.0.0.1:8786"])
def test_two_ways_to_say_where_are_one_too_many(where):
    with pytest.raises(ScenarioError, match="give one of them"), workers(2, where):
        pass


def test_as_many_processes_run_at_once_as_are_asked_for():
    with workers(where="process:2") as executor:
        assert executor is not None
        assert width(executor) == 2
        found = {future.result(60) for future in [executor.submit(os.getpid) for _ in range(8)]}

    assert 1 <= len(found - {os.getpid()}) == len(found) <= 2


def test_after_an_error_nothing_runs_on():
    def fail_beside_a_nap():
        with workers(2) as executor:
            assert executor is not None
            executor.submit(nap, 600)
            raise ZeroDivisionError

    begin = threading.active_count()
    with pytest.raises(ZeroDivisionError):
        fail_beside_a_nap()

    assert threading.active_count() == begin


def test_here_a_task_is_done_once_it_is_submitted():
    executor = SerialExecutor()

    assert executor.submit(double, 4).result(0) == 8
    assert isinstance(executor.submit(fail, "broken").exception(0), ValueError)
    assert width(executor) == 1


def test_an_error_of_a_task_is_its_own_and_says_where_it_was(pool):
    error = pool.submit(fail, "broken").exception(60)

    assert str(error) == "broken"
    assert "test_executors.py" in error.__notes__[0]
    assert pool.submit(double, 4).result(60) == 8


def test_what_cannot_be_sent_is_told_and_the_process_lives_on(pool):
    before = pool.submit(os.getpid).result(60)

    assert pool.submit(threading.Lock().acquire).exception(60) is not None
    assert pool.submit(os.getpid).result(60) == before


def test_a_task_whose_process_is_killed_is_tried_again_on_another(pool, tmp_path):
    before = pool.submit(os.getpid).result(60)

    assert pool.submit(end_once, str(tmp_path / "marker")).result(60) != before


def test_a_task_that_ends_every_process_is_told_and_the_others_go_on(pool):
    lost, other = pool.submit(end_always), pool.submit(double, 4)

    with pytest.raises(WorkerLostError, match=r"killed from outside, or out of memory, 3 times over; try fewer --jobs"):
        lost.result(60)
    assert other.result(60) == 8


def test_a_closed_executor_takes_nothing():
    closed = ProcessExecutor(1)
    closed.shutdown()

    with pytest.raises(RuntimeError, match="closed"):
        closed.submit(double, 4)
