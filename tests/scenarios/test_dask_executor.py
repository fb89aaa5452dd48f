"""A Dask cluster: what is told when it is not there, has no workers, or other ones; with Dask, that it works."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

from scenarios import dask_executor
from scenarios.dask_executor import called, differences, here, on_dask
from simulator.errors import ScenarioError

ADDRESS = "tcp://127.0.0.1:8786"


class Client:
    """A cluster of two places in this process."""

    def __init__(self, found=None, workers=True):
        self.found, self.workers, self.closed = found or {"tcp://a:1": here()}, workers, False
        self.counted = 0

    def wait_for_workers(self, n_workers, timeout):
        if not self.workers:
            raise TimeoutError

    def run(self, function):
        if isinstance(self.found, Exception):
            raise self.found
        return self.found

    def nthreads(self):
        self.counted += 1
        return {"tcp://a:1": 1, "tcp://b:1": 1}

    def get_executor(self, **kwargs):
        assert kwargs == {"pure": False, "retries": 2}
        return ThreadPoolExecutor(2)

    def close(self):
        self.closed = True


def connect(monkeypatch, client):
    monkeypatch.setattr(dask_executor, "_connected", lambda address: client)
    return on_dask(ADDRESS)


def refused(monkeypatch, client):
    with pytest.raises(ScenarioError) as told, connect(monkeypatch, client):
        pass
    assert client.closed
    return str(told.value)


def test_a_task_is_run_by_a_worker_of_the_same_version(monkeypatch):
    client = Client()

    with connect(monkeypatch, client) as executor:
        assert executor.submit(divmod, 7, 2).result(10) == (3, 1)

    assert client.closed


def test_workers_are_counted_now_and_then(monkeypatch):
    client = Client()

    with connect(monkeypatch, client) as executor:
        assert [executor.width() for _ in range(5)] == [2] * 5

    assert client.counted == 1


def test_a_worker_of_another_version_is_told_with_what_differs(monkeypatch):
    other = here() | {"specfleet": "9.0", "Python": "3.9"}

    told = refused(monkeypatch, Client({"tcp://a:1": here(), "tcp://b:1": other}))

    assert "worker tcp://b:1 differs: specfleet 9.0 instead of" in told
    assert "Python 3.9 instead of" in told


def test_a_worker_without_specfleet_is_told(monkeypatch):
    told = refused(monkeypatch, Client(ModuleNotFoundError("No module named 'scenarios'")))

    assert "cannot import specfleet" in told


def test_a_cluster_without_workers_is_told_with_the_command_that_starts_some(monkeypatch):
    assert f"start some with `dask worker {ADDRESS}" in refused(monkeypatch, Client(workers=False))


def test_a_worker_that_joins_later_is_looked_at_too():
    with pytest.raises(ScenarioError, match=r"differs: numpy .* instead of 0\.1; install the same version there"):
        called(here() | {"numpy": "0.1"}, pickle.dumps((divmod, (7, 2), {})))


def test_equal_versions_do_not_differ():
    assert differences(here(), here()) == ""
    assert set(here()) == {"specfleet", "code", "catalog", "Python", "numpy"}


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)

    with pytest.raises(ScenarioError, match=r"pip install 'specfleet\[cluster\]'"), on_dask(ADDRESS):
        pass


@pytest.mark.filterwarnings("ignore")
def test_a_scheduler_that_is_not_there_is_told(monkeypatch):
    pytest.importorskip("distributed", reason="needs the extra cluster")
    monkeypatch.setattr(dask_executor, "ANSWER_S", 0.5)

    with pytest.raises(ScenarioError, match="no Dask scheduler answers there"), on_dask("tcp://127.0.0.1:9"):
        pass
