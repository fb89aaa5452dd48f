"""Tasks on a Dask cluster that somebody has started: its workers must be of the same version, or nothing runs.

Dask hands pickles over, which run whatever they hold: only for networks whose every member is trusted, or with TLS.
"""

import importlib
import pickle
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from typing import Any

from scenarios.workers import Call
from simulator.errors import ScenarioError

RETRIES = 2
"""Times that a task is tried again; a worker that is lost counts by Dask's own `allowed-failures`."""
ANSWER_S = 10.0
"""Seconds in which a scheduler must answer."""
WORKERS_S = 60.0
"""Seconds in which the first worker must be there."""
RECOUNT_S = 5.0
"""Seconds after which workers are counted again: clusters grow and shrink."""


@contextmanager
def on_dask(address: str) -> Iterator[Executor]:
    """An executor of the cluster whose scheduler has an address, such as tcp://127.0.0.1:8786.

    Raises ScenarioError when Dask is not installed, nothing answers, or a worker is of another version.
    """
    client = _connected(address)
    executor = DaskExecutor(client)
    try:
        _check_workers(client, address)
        yield executor
    finally:
        executor.shutdown(wait=False)
        client.close()


def _connected(address: str) -> Any:
    try:
        distributed = importlib.import_module("distributed")
    except ImportError:
        raise ScenarioError("--executor dask needs an extra: pip install 'specfleet[cluster]'") from None
    try:
        return distributed.Client(address, timeout=ANSWER_S, set_as_default=False)
    except (OSError, ValueError, RuntimeError) as error:
        why = str(error) or type(error).__name__
        raise ScenarioError(
            f"--executor {address}: no Dask scheduler answers there ({why}); start one with `dask scheduler`, and its "
            f"workers with `dask worker {address} --nthreads 1`"
        ) from None


class DaskExecutor(Executor):
    """The workers of a cluster; a task of theirs may take what it was given only if its version is ours."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._inner: Executor = client.get_executor(pure=False, retries=RETRIES)
        self._counted_s = float("-inf")
        self._width = 1

    def width(self) -> int:
        """Tasks that run at once, as counted some seconds ago at most."""
        now_s = time.monotonic()
        if now_s - self._counted_s > RECOUNT_S:
            self._counted_s, self._width = now_s, max(1, sum(self._client.nthreads().values()))
        return self._width

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Have a function called by a worker.

        What it is called with goes as one pickle: Dask would look for its own futures in it otherwise.
        """
        call: Call = (fn, args, kwargs)
        return self._inner.submit(called, here(), pickle.dumps(call))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more tasks; without waiting, those that are left are dropped."""
        self._inner.shutdown(wait=wait and not cancel_futures)


def called(expected: Mapping[str, str], pickled: bytes) -> Any:
    """The result of a pickled call, in a worker; ScenarioError if that is not of the expected version."""
    found = differences(expected, here())
    if found:
        raise ScenarioError(f"a Dask worker on {platform.node()} differs: {found}; install the same version there")
    fn, args, kwargs = pickle.loads(pickled)
    return fn(*args, **kwargs)


@cache
def here() -> dict[str, str]:
    """What results follow from besides a scenario: versions, and hashes of code and catalog."""
    from scenarios.store import catalog_hash, code_hash
    from simulator.planning.provenance import package_version

    return {
        "specfleet": package_version(),
        "code": code_hash(),
        "catalog": catalog_hash(),
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "numpy": version("numpy"),
    }


def differences(ours: Mapping[str, str], theirs: Mapping[str, str]) -> str:
    """What differs between two processes, in words.

    >>> differences({"Python": "3.13", "numpy": "2.4"}, {"Python": "3.12", "numpy": "2.4"})
    'Python 3.12 instead of 3.13'
    """
    return ", ".join(
        f"{name} {theirs.get(name)} instead of {at}" for name, at in ours.items() if theirs.get(name) != at
    )


def _check_workers(client: Any, address: str) -> None:
    """ScenarioError unless there are workers, and each is of our version."""
    try:
        client.wait_for_workers(1, timeout=WORKERS_S)
    except (TimeoutError, OSError):
        raise ScenarioError(
            f"--executor {address}: the scheduler has no worker; start some with `dask worker {address} --nthreads 1`"
        ) from None
    try:
        found: Mapping[str, Mapping[str, str]] = client.run(here)
    except Exception as error:
        raise ScenarioError(
            f"--executor {address}: a worker cannot import specfleet ({type(error).__name__}: {error}); install the "
            "same version there"
        ) from None
    for worker, theirs in found.items():
        if differing := differences(here(), theirs):
            raise ScenarioError(
                f"--executor {address}: the worker {worker} differs: {differing}; install the same version there"
            )
