"""Tasks of a study or a search: here one after the other, or in an executor; findings in their order, and progress."""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, as_completed
from typing import TypeVar

Task = TypeVar("Task")
Found = TypeVar("Found")

Progress = Callable[[int, int], None]
"""Called with what is done and what there is, in tasks or other units."""


class Meter:
    """How much is done, in tasks or other units; what is left may turn out to be more, or less."""

    def __init__(self, progress: Progress | None, planned: int) -> None:
        """Nothing is done yet."""
        self._progress = progress
        self._planned = planned
        self._done = 0
        self._tell()

    def expect(self, left: int) -> None:
        """So many units are left."""
        self._planned = self._done + left
        self._tell()

    def did(self, units: int = 1) -> None:
        """So many units more are done."""
        self._done += units
        self._planned = max(self._planned, self._done)
        self._tell()

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(self._done, self._planned)


def run_all(
    function: Callable[[Task], Found],
    tasks: Sequence[Task],
    executor: Executor | None,
    did: Callable[[Task], None] = lambda task: None,
) -> list[Found]:
    """Findings in the order of the tasks, wherever and in whatever order they ran.

    did: called with each task that is done, in the order in which they are.
    """
    if executor is None:
        found = []
        for task in tasks:
            found.append(function(task))
            did(task)
        return found
    futures = {executor.submit(function, task): task for task in tasks}
    for future in as_completed(futures):
        future.result()
        did(futures[future])
    return [future.result() for future in futures]
