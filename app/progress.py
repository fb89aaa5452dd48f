"""A progress bar on stderr, for what takes longer than a moment and a person waits for."""

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

SHOWN_AFTER_S = 2.0


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

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task(self._text, total=None)
        self._bar.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
