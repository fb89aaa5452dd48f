"""Linear layers: a small monotone table of latency by outputs, inputs and rows, from all measured matrix products."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calibration.robust import Floats, digits, error, monotone_along, smooth
from simulator.spec.profile import Error, LinearDtype, LinearTable

SIZES = (256, 1024, 2048, 4096, 5120, 7168, 8192, 10240, 12288, 16384, 51200, 65536)
"""Outputs and inputs that are kept of what was measured."""
ROWS = (
    1, 8, 16, 17, 32, 48, 64, 65, 96, 128, 129, 192, 256, 257, 512, 513,
    768, 1024, 1536, 2048, 3072, 4096, 8192, 16384,
)  # fmt: skip
"""Rows that are kept: on both sides of the tile sizes at which libraries change kernels, latency jumps there."""
LEAST_GAP_US = 4.0
"""A smaller difference may be work: quantising into a blockwise format takes longer than a tiny product [µs]."""
LONG_US = (5e3, 50e3)
"""Latencies of products that run at the rate that the power limit allows for long [µs]."""


def fit_linear(gemm: pd.DataFrame) -> tuple[tuple[LinearTable, ...], Error, int]:
    """Tables of all weight formats, their error against every measurement within their range, and the samples."""
    tables, predicted, measured = [], [], []
    floors = launch_floors(gemm)
    for dtype, rows in gemm.groupby("dtype", sort=True):
        gap = launch_gap_us(floors[dtype], floors.get("bf16", np.inf))
        table = fit_table(rows, dtype).model_copy(update={"launch_gap_us": gap})
        tables.append(table)
        inside = rows[(rows["n"] >= SIZES[0]) & (rows["k"] >= SIZES[0]) & (rows["m"] <= ROWS[-1])]
        inside = inside[(inside["n"] <= table.outputs[-1]) & (inside["k"] <= table.inputs[-1])]
        predicted.append(predict(table, *(inside[c].to_numpy(float) for c in ("n", "k", "m"))))
        measured.append(inside["latency_us"].to_numpy(float))
    return tuple(tables), error(np.concatenate(predicted), np.concatenate(measured)), len(gemm)


def launch_floors(gemm: pd.DataFrame) -> dict[str, float]:
    """Latency of the tiniest products of each weight format [µs]."""
    tiny = gemm[(gemm["n"] <= 256) & (gemm["k"] <= 256) & (gemm["m"] <= 8)]
    floors = tiny.groupby("dtype")["latency_us"].median()
    return {dtype: float(floors.get(dtype, 0.0)) for dtype in gemm["dtype"].unique()}


def launch_gap_us(floor_us: float, bf16_floor_us: float) -> float:
    """Launch gap in the latency of a quantised product [µs].

    A quantised layer is two kernels, quantising its input and multiplying. What its tiniest product takes beyond two
    tiny bf16 products is neither's work: the host had not launched the second yet. A CUDA graph has no such gap.

    >>> launch_gap_us(12.2, 2.8), launch_gap_us(4.6, 2.8)
    (6.6, 0.0)
    """
    gap = floor_us - 2.0 * bf16_floor_us
    return round(gap, 1) if gap >= LEAST_GAP_US else 0.0


def fit_table(rows: pd.DataFrame, dtype: LinearDtype) -> LinearTable:
    """The table of one weight format: smoothed along rows, gaps filled by scaling, monotone along every axis."""
    all_rows = np.array(sorted(rows["m"].unique()), float)
    sizes = [size for size in SIZES if size in set(rows["n"]) and size in set(rows["k"])]
    kept = [m for m in ROWS if m <= all_rows[-1]]
    cells = {
        key: group.set_index("m").reindex(all_rows)["latency_us"].to_numpy(float)
        for key, group in rows.groupby(["n", "k", "m"], as_index=False)["latency_us"].min().groupby(["n", "k"])
    }
    values = np.full((len(sizes), len(sizes), len(kept)), np.nan)
    for i, n in enumerate(sizes):
        for j, k in enumerate(sizes):
            if (n, k) in cells:
                values[i, j] = at_knots(all_rows, smooth(all_rows, cells[n, k]), kept)
    filled = fill(values, np.array(sizes, float), np.array(kept, float))
    for _ in range(3):
        for axis in (0, 1, 2):
            filled = monotone_along(filled, axis)
    for axis in (0, 1, 2):
        filled = np.maximum.accumulate(filled, axis=axis)
    us = tuple(tuple(tuple(digits(v) for v in cell) for cell in row) for row in filled.tolist())
    return LinearTable(
        dtype=dtype,
        outputs=tuple(sizes),
        inputs=tuple(sizes),
        rows=tuple(kept),
        us=us,
        sustained_tflops=sustained_tflops(rows),
    )


def sustained_tflops(rows: pd.DataFrame) -> float:
    """Rate of long products: the upper quartile of those that take 5 to 50 ms (of the longest tenth without any)."""
    latency = rows["latency_us"]
    long = rows[(latency > LONG_US[0]) & (latency < LONG_US[1])]
    if long.empty:
        long = rows[latency >= latency.quantile(0.9)]
    rate = 2e-6 * long["m"].astype(float) * long["n"] * long["k"] / long["latency_us"]
    return digits(float(rate.quantile(0.75)), 4)


def at_knots(x: Floats, y: Floats, knots: list[int]) -> Floats:
    """The curve at the knots: the measurement, or from 3,000 rows on the geometric mean with that of one row more."""
    out = np.full(len(knots), np.nan)
    for i, knot in enumerate(knots):
        near = (np.abs(x - knot) <= (1.0 if knot > 3000 else 0.0)) & np.isfinite(y)
        if near.any():
            out[i] = float(np.exp(np.mean(np.log(y[near]))))
    return out


def fill(values: Floats, sizes: Floats, rows: Floats) -> Floats:
    """Gaps filled: along rows in proportion to the last known, then whole cells from the next smaller inputs."""
    out = values.copy()
    for cell in out.reshape(-1, rows.size):
        known = np.flatnonzero(np.isfinite(cell))
        if known.size:
            inner = np.exp(np.interp(np.log(rows), np.log(rows[known]), np.log(cell[known])))
            beyond = rows > rows[known[-1]]
            inner[beyond] = cell[known[-1]] * rows[beyond] / rows[known[-1]]
            cell[:] = inner
    for axis in (1, 0):
        moved = np.moveaxis(out, axis, 0)
        for i in range(1, sizes.size):
            empty = ~np.isfinite(moved[i])
            moved[i][empty] = moved[i - 1][empty] * (sizes[i] / sizes[i - 1])
    return out


def predict(table: LinearTable, n: Floats, k: Floats, m: Floats) -> Floats:
    """Trilinear interpolation of the table, as the simulator does it [µs]."""
    us = np.array(table.us)
    (i, a), (j, b), (r, c) = (
        _place(np.array(knots, float), x) for knots, x in ((table.outputs, n), (table.inputs, k), (table.rows, m))
    )
    total = np.zeros_like(n)
    for di, wa in ((0, 1 - a), (1, a)):
        for dj, wb in ((0, 1 - b), (1, b)):
            for dr, wc in ((0, 1 - c), (1, c)):
                total += wa * wb * wc * us[i + di, j + dj, r + dr]
    return total


def _place(knots: Floats, x: Floats) -> tuple[NDArray[np.int64], Floats]:
    i = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, knots.size - 2)
    return i, (x - knots[i]) / (knots[i + 1] - knots[i])
