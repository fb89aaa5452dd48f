"""Where tasks run, behind `concurrent.futures.Executor`: here, on processes of this machine, or on a Dask cluster.

Results are the same wherever they run: a task is given all that it follows from, its random streams included.
"""

import os
import queue
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from scenarios.dask_executor import on_dask
from scenarios.workers import Call, Worker, WorkerLostError
from simulator.errors import ScenarioError

MOST_TRIES = 3
"""Times that a task is tried whose worker process ends under it."""


@contextmanager
def workers(jobs: int | None = None, where: str = "process") -> Iterator[Executor | None]:
    """An executor; None where this process alone is enough. After an error what still runs on it is ended.

    jobs: processes; None: one a core. where: serial, process[:N], dask://HOST:PORT or dask+tls://HOST:PORT.

    Raises ScenarioError for another place, or one that does not answer.
    """
    kind, rest = _place(where)
    if jobs is not None and (rest or kind != "process"):
        raise ScenarioError(f"--jobs {jobs} and --executor {where} both say where to run: give one of them")
    with EXECUTORS[kind](str(jobs or rest)) as executor:
        yield executor


def _place(where: str) -> tuple[str, str]:
    """Kind of an executor and what stands behind it."""
    found = re.fullmatch(r"(serial|process)(?::([1-9][0-9]{0,3}))?|(dask|dask\+tls)://([^\s/]+:[0-9]{1,5})/?", where)
    kind, number, cluster, address = found.groups() if found else (None,) * 4
    if kind == "serial" and number:
        kind = None
    if not (kind or cluster):
        raise ScenarioError(
            f"--executor {where!r}: write serial, process, process:N, dask://HOST:PORT or dask+tls://HOST:PORT"
        )
    return str(kind or cluster), number or address or ""


@contextmanager
def _serial(_: str) -> Iterator[None]:
    yield None


@contextmanager
def _processes(number: str) -> Iterator[Executor | None]:
    """So many processes, by default one a core; None where that is one."""
    wanted = int(number) if number else cores()
    if wanted == 1:
        yield None
        return
    pool = ProcessExecutor(wanted)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


EXECUTORS: dict[str, Callable[[str], AbstractContextManager[Executor | None]]] = {
    "serial": _serial,
    "process": _processes,
    "dask": lambda address: on_dask(f"tcp://{address}"),
    "dask+tls": lambda address: on_dask(f"tls://{address}"),
}


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def width(executor: Executor) -> int:
    """Tasks that an executor runs at once, as far as it says."""
    asked = getattr(executor, "width", None)
    return int(asked()) if asked is not None else 1


class SerialExecutor(Executor):
    """Runs a task here, when it is submitted."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Call a function; the future that is returned is done."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


Waiting = tuple["Future[Any]", Call]


class ProcessExecutor(Executor):
    """So many worker processes, each started when there is a task for it.

    A process that ends under a task is started anew, and the task tried again.
    """

    def __init__(self, processes: int, most_tries: int = MOST_TRIES) -> None:
        self._processes = processes
        self._most_tries = most_tries
        self._waiting: queue.SimpleQueue[Waiting | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._busy = 0
        self._closed = False
        self._ended = False

    def width(self) -> int:
        """Tasks that run at once."""
        return self._processes

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Have a function called in a worker process."""
        future: Future[Any] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError("a closed executor takes no tasks")
            self._busy += 1
            self._waiting.put((future, (fn, args, kwargs)))
            if len(self._threads) < min(self._busy, self._processes):
                thread = threading.Thread(target=self._serve, name="specfleet-process", daemon=True)
                self._threads.append(thread)
                thread.start()
        return future

    def _serve(self) -> None:
        worker = Worker()
        while (waiting := self._waiting.get()) is not None:
            future, call = waiting
            if self._ended:
                future.cancel()
            if future.set_running_or_notify_cancel():
                self._settle(future, call, worker)
            with self._lock:
                self._busy -= 1
        worker.end()

    def _settle(self, future: "Future[Any]", call: Call, worker: Worker) -> None:
        """Give a task its result or its error, whatever that is."""
        for left in range(self._most_tries - 1, -1, -1):
            try:
                future.set_result(worker.run(call, lambda: self._ended))
                return
            except WorkerLostError as error:
                if not left:
                    future.set_exception(WorkerLostError(f"{error}, {self._most_tries} times over; try fewer --jobs"))
            except BaseException as error:
                future.set_exception(error)
                return

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more tasks; with cancel_futures, drop those that wait and end those that run."""
        with self._lock:
            self._ended = self._ended or cancel_futures
            if not self._closed:
                self._closed = True
                for _ in self._threads:
                    self._waiting.put(None)
        if wait:
            for thread in self._threads:
                thread.join()
