"""A progress bar on stderr, for what takes longer than a moment and a person waits for."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

SHOWN_AFTER_S = 2.0
SPEED_OVER_S = 3600.0
"""Span over which the speed is taken that says how much time is left."""


class ProgressBar:
    """Tasks done, with the time left; silent off a terminal and for the first two seconds."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._wanted = not quiet and sys.stderr.isatty()
        self._start_s = time.monotonic()
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._text = ""

    def describe(self, text: str) -> None:
        """Say what is being done."""
        self._text = text
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=text)

    def update(self, done: int, total: int) -> None:
        """Say how much is done."""
        if not self._wanted:
            return
        if self._bar is None:
            if time.monotonic() - self._start_s < SHOWN_AFTER_S:
                return
            self._open()
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=total)

    @contextmanager
    def away(self) -> Iterator[None]:
        """Take the bar off the screen while something else is printed."""
        if self._bar is not None:
            self._bar.stop()
        try:
            yield
        finally:
            if self._bar is not None:
                self._bar.start()

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("tasks,"),
            TimeRemainingColumn(),
            TextColumn("left"),
        )
        console = Console(stderr=True)
        self._bar = Progress(*columns, console=console, transient=True, speed_estimate_period=SPEED_OVER_S)
        self._task = self._bar.add_task(self._text, total=None)
        self._bar.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
