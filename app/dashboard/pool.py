"""Worker processes that many owners share fairly: turn by turn, whoever asked how much.

A task that is cancelled or takes too long ends its process, which is then started anew; nothing else is touched.
"""

import multiprocessing
import signal
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pickle import PicklingError
from typing import Any

POLL_S = 0.05
"""How often a worker that computes is looked after [s]."""

Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
"""A function and what it is called with; all of it picklable."""


@dataclass(slots=True, eq=False)
class _Task:
    owner: "Owner"
    call: Call
    future: "Future[Any]" = field(default_factory=Future)


class FairPool:
    """So many worker processes, started when the first task comes."""

    def __init__(self, workers: int, most_s: float) -> None:
        """most_s: seconds after which a task is ended."""
        self._workers = workers
        self._most_s = most_s
        self._waiting: dict[Owner, deque[_Task]] = {}
        self._changed = threading.Condition()
        self._closed = False
        self._threads: list[threading.Thread] = []

    def submit(self, owner: "Owner", call: Call) -> "Future[Any]":
        """Put a call behind the owner's others."""
        task = _Task(owner, call)
        with self._changed:
            if owner.cancelled or self._closed:
                _drop(task)
            else:
                self._waiting.setdefault(owner, deque()).append(task)
                self._start()
                self._changed.notify()
        return task.future

    def cancel(self, owner: "Owner") -> None:
        """Drop what the owner waits for, end what is computed for it, take nothing more of it."""
        with self._changed:
            owner.cancelled = True
            dropped = self._waiting.pop(owner, deque())
        for task in dropped:
            _drop(task)

    def close(self) -> None:
        """End all workers; what waits is dropped."""
        with self._changed:
            self._closed = True
            owners = list(self._waiting)
            self._changed.notify_all()
        for owner in owners:
            self.cancel(owner)
        for thread in self._threads:
            thread.join()

    def _start(self) -> None:
        while len(self._threads) < self._workers:
            thread = threading.Thread(target=self._serve, name="specfleet-worker", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _next(self) -> _Task | None:
        """The first task of the owner whose turn it is; None once the pool is closed."""
        with self._changed:
            while not self._waiting and not self._closed:
                self._changed.wait()
            if self._closed:
                return None
            owner = next(iter(self._waiting))
            queue = self._waiting.pop(owner)
            task = queue.popleft()
            if queue:
                self._waiting[owner] = queue
            return task

    def _serve(self) -> None:
        worker = _Worker(self._most_s)
        while (task := self._next()) is not None:
            if task.future.set_running_or_notify_cancel():
                self._settle(task, worker)
        worker.end()

    def _settle(self, task: _Task, worker: "_Worker") -> None:
        """Give a task its result or its error, whatever that is."""
        try:
            task.future.set_result(worker.run(task.call, lambda: task.owner.cancelled or self._closed))
        except BaseException as error:
            task.future.set_exception(error)


def _drop(task: _Task) -> None:
    """Tell whoever waits for a task that it will not be done."""
    task.future.cancel()
    task.future.set_running_or_notify_cancel()


class Owner(Executor):
    """The pool as one of those sees it who share it."""

    def __init__(self, pool: FairPool) -> None:
        self._pool = pool
        self.cancelled = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Have a function called in a worker process, when it is this owner's turn."""
        return self._pool.submit(self, (fn, args, kwargs))

    def cancel(self) -> None:
        """Drop and end all that was submitted, and whatever will be."""
        self._pool.cancel(self)


class _Worker:
    """One process, and the pipe to it."""

    def __init__(self, most_s: float) -> None:
        self._most_s = most_s
        self._process: Any = None
        self._pipe: Connection | None = None

    def run(self, call: Call, unwanted: Callable[[], bool]) -> Any:
        """The result of a call; CancelledError or TimeoutError when its process had to be ended."""
        pipe = self._pipe if self._pipe is not None and self._process.is_alive() else self._begin()
        try:
            pipe.send(call)
            self._wait(pipe, unwanted)
            good, value = pipe.recv()
        except (CancelledError, TimeoutError):
            self.end()
            raise
        except (EOFError, OSError) as error:
            self.end()
            raise RuntimeError("a worker process ended; it may have run out of memory") from error
        if good:
            return value
        raise value

    def _wait(self, pipe: Connection, unwanted: Callable[[], bool]) -> None:
        deadline_s = time.monotonic() + self._most_s
        while not pipe.poll(POLL_S):
            if unwanted():
                raise CancelledError
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"a part of it took longer than {self._most_s:g} s")

    def _begin(self) -> Connection:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        self._process = context.Process(target=work, args=(theirs,), name="specfleet-worker", daemon=True)
        self._process.start()
        theirs.close()
        self._pipe = ours
        return ours

    def end(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None


def work(pipe: Connection) -> None:
    """What a worker process does until the other end of the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            call, args, kwargs = pipe.recv()
        except EOFError:
            return
        try:
            answer = True, call(*args, **kwargs)
        except Exception as error:
            answer = False, error
        _send(pipe, answer)


def _send(pipe: Connection, answer: tuple[bool, Any]) -> None:
    """An answer to the other end; one that cannot be pickled is told, and does not end the process."""
    try:
        pipe.send(answer)
    except (PicklingError, TypeError, AttributeError) as error:
        pipe.send((False, RuntimeError(f"what was computed cannot be handed over: {error}")))
