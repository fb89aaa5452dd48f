"""A worker process and the pipe to it.

Its end is noticed at once, and it ends with whoever started it, however that ends: the pipe then closes.
"""

import multiprocessing
import signal
import time
import traceback
from collections.abc import Callable
from concurrent.futures import CancelledError
from math import inf
from multiprocessing.connection import Connection
from pickle import PicklingError
from typing import Any

from simulator.errors import ScenarioError

POLL_S = 0.05
"""How often a worker that computes is looked after [s]."""

Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
"""A function and what it is called with; all of it picklable."""


class WorkerLostError(ScenarioError):
    """A worker ended before it had answered."""


class Worker:
    """One process, started when it is first needed, and anew after its end."""

    def __init__(self, most_s: float = inf) -> None:
        """most_s: seconds after which a call is ended."""
        self._most_s = most_s
        self._process: Any = None
        self._pipe: Connection | None = None

    def run(self, call: Call, unwanted: Callable[[], bool]) -> Any:
        """The result of a call; CancelledError, TimeoutError or WorkerLostError when its process has ended instead."""
        pipe = self._pipe if self._pipe is not None and self._process.is_alive() else self._begin()
        try:
            pipe.send(call)
            self._wait(pipe, unwanted)
            good, value = pipe.recv()
        except (CancelledError, TimeoutError):
            self.end()
            raise
        except (EOFError, OSError):
            self.end()
            raise WorkerLostError("a worker process ended: killed from outside, or out of memory") from None
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
        self.end()
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
    """What a worker process does until the other end of the pipe closes; Ctrl-C is for the main process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            call, args, kwargs = pipe.recv()
        except EOFError:
            return
        try:
            answer = True, call(*args, **kwargs)
        except Exception as error:
            error.add_note(f"in a worker process:\n{traceback.format_exc()}")
            answer = False, error
        if not _sent(pipe, answer):
            return


def _sent(pipe: Connection, answer: tuple[bool, Any]) -> bool:
    """Whether an answer reached the other end; one that cannot be pickled is told, and does not end the process."""
    try:
        try:
            pipe.send(answer)
        except (PicklingError, TypeError, AttributeError) as error:
            pipe.send((False, RuntimeError(f"what was computed cannot be handed over: {error}")))
    except OSError:
        return False
    return True
