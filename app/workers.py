"""Processes that simulate side by side, and that an interrupt ends at once."""

import multiprocessing
import os
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager


@contextmanager
def workers(jobs: int | None) -> Iterator[Executor | None]:
    """An executor of so many processes (None: one a core); None where one process is enough.

    Workers are started when the first task comes. After an error those that still work are ended.
    """
    wanted = jobs or cores()
    if wanted == 1:
        yield None
        return
    pool = ProcessPoolExecutor(wanted, mp_context=multiprocessing.get_context("spawn"), initializer=_leave_interrupts)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    pool.shutdown()


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _leave_interrupts() -> None:
    """Ctrl-C is for the main process, which then ends the workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
