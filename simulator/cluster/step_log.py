"""What replicas note of their steps, run by run, and the columns that this becomes."""

from array import array
from collections.abc import Sequence

import numpy as np

from simulator.cluster.records import Floats, Ints, StepColumns

COLUMNS = 12
"""Columns of a log beside its times, in the order of records.StepColumns after the duration."""


class StepLog:
    """The runs of steps of one replica."""

    def __init__(self) -> None:
        self.times, self.rest = array("d"), array("f")
        """Of each run: start and duration [s]; and COLUMNS more, to seven digits."""

    def add(self, start_s: float, seconds: float, *columns: float) -> None:
        """Note a run of steps, in the order of records.StepColumns."""
        self.times.extend((start_s, seconds))
        self.rest.extend(columns)

    def empty(self) -> None:
        """Forget all runs."""
        self.times, self.rest = array("d"), array("f")


def step_columns(logs: Sequence[StepLog]) -> StepColumns:
    """The logs of all replicas as columns; the logs are emptied."""
    sizes = [len(log.times) // 2 for log in logs]
    times = np.concatenate([np.asarray(log.times).reshape(-1, 2) for log in logs])
    rest = np.concatenate([np.asarray(log.rest).reshape(-1, COLUMNS) for log in logs])
    for log in logs:
        log.empty()

    def number(index: int) -> Floats:
        return rest[:, index].astype(np.float64)

    def whole(index: int) -> Ints:
        return rest[:, index].astype(np.int32)

    return StepColumns(
        replica=np.repeat(np.arange(len(logs), dtype=np.int32), sizes),
        start_s=times[:, 0].copy(),
        duration_s=times[:, 1].copy(),
        num_steps=whole(0),
        sequences=whole(1),
        context_tokens=number(2),
        prefill_sequences=whole(3),
        prefill_tokens=whole(4),
        prefill_context_tokens=number(5),
        emitted_tokens=whole(6),
        kv_blocks=number(7),
        waiting=whole(8),
        blocked_by=whole(9),
        stalled_s=number(10),
        draft_tokens=whole(11),
    )
