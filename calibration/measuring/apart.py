"""Jobs in a process of their own, one after the other, and in a new one after each that failed.

A fault on a GPU spoils every later call of its process; so may a crash or a hang. It knows nothing of what is done.
"""

from collections.abc import Callable
from multiprocessing import get_context
from types import TracebackType
from typing import Any

from calibration.measuring.store import MeasurementError

GRACE_S = 5.0
"""Time that a process gets to end by itself [s]."""
LONGEST_LINE = 200
"""Characters of a message, at most."""


class Apart:
    """Does jobs elsewhere."""

    def __init__(self, work: Callable[..., Any], limit_s: float) -> None:
        """Keep what is needed to begin.

        work: a function of a module.
        limit_s: longest time of a job, the start of its process included [s].
        """
        self._work, self._limit_s = work, limit_s
        self._process: Any = None
        self._connection: Any = None

    def __enter__(self) -> "Apart":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __call__(self, *job: Any) -> Any:
        """What the work makes of a job; MeasurementError with one line where it fails, crashes or does not end."""
        if self._process is None:
            self._start()
        try:
            self._connection.send(job)
            if not self._connection.poll(self._limit_s):
                raise self._failed(f"not done within {self._limit_s:g} s", grace_s=0.0)
            done, found = self._connection.recv()
        except (EOFError, OSError):
            self._process.join(GRACE_S)
            raise self._failed(f"its process ended with exit code {self._process.exitcode}") from None
        if not done:
            raise self._failed(found)
        return found

    def close(self, grace_s: float = GRACE_S) -> None:
        """End the process; after this time by force."""
        if self._process is not None:
            self._connection.close()
            self._process.join(grace_s)
            self._process.kill()
            self._process.join()
            self._process = None

    def _start(self) -> None:
        context = get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self._work))
        self._process.start()
        theirs.close()

    def _failed(self, why: str, grace_s: float = GRACE_S) -> MeasurementError:
        self.close(grace_s)
        return MeasurementError(why)


def one_line(error: Exception) -> str:
    """What went wrong, in one line.

    >>> one_line(RuntimeError("CUDA error: out of memory\\nCompile with …"))
    'RuntimeError: CUDA error: out of memory'
    """
    first = next(iter(str(error).splitlines()), "")
    told = first if isinstance(error, MeasurementError) else f"{type(error).__name__}: {first}"
    return told[:LONGEST_LINE]


def _serve(connection: Any, work: Callable[..., Any]) -> None:
    """The process: do what comes, end when the pipe does or a job has failed."""
    try:
        while True:
            job = connection.recv()
            try:
                found = work(*job)
            except Exception as error:
                connection.send((False, one_line(error)))
                return
            connection.send((True, found))
    except (EOFError, OSError, KeyboardInterrupt):
        return
