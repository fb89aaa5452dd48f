"""Worker processes that many owners share fairly: turn by turn, whoever asked how much.

A task that is cancelled or takes too long ends its process, which is then started anew; nothing else is touched.
"""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any

from scenarios.workers import Call, Worker


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
        worker = Worker(self._most_s)
        while (task := self._next()) is not None:
            if task.future.set_running_or_notify_cancel():
                self._settle(task, worker)
        worker.end()

    def _settle(self, task: _Task, worker: Worker) -> None:
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
