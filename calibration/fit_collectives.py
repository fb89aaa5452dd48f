"""Collectives: all-reduce by message size in bytes, for each number of GPUs and mode."""

import numpy as np
import pandas as pd

from calibration.robust import digits, error, smooth
from simulator.spec.profile import AllReduceTable, Error

MAX_BYTES = 2**28
"""Largest message that is kept: 16,384 tokens of a hidden size of 8,192 [bytes]."""


def fit_all_reduce(rows: pd.DataFrame) -> tuple[tuple[AllReduceTable, ...], Error, int]:
    """Tables by GPUs and mode, their error, and the samples."""
    tables, predicted, measured = [], [], []
    for (gpus, mode), group in rows[rows["bytes"] <= MAX_BYTES].groupby(["gpus", "mode"], sort=True):
        best = group.groupby("bytes")["latency_us"].median()
        x = best.index.to_numpy(float)
        clean = np.maximum.accumulate([digits(v) for v in smooth(x, best.to_numpy(float))])
        table = AllReduceTable(gpus=int(gpus), mode=mode, bytes=tuple(int(b) for b in x), us=tuple(clean.tolist()))
        tables.append(table)
        predicted.append(clean)
        measured.append(best.to_numpy(float))
    return tuple(tables), error(np.concatenate(predicted), np.concatenate(measured)), len(rows)
