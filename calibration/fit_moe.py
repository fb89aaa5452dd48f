"""Routed experts: latency by tokens, for each shape and split that a model of the catalog can have."""

import numpy as np
import pandas as pd

from calibration.robust import error, rising, smooth
from simulator.spec.profile import Error, ExpertsTable

KEY = ["dtype", "hidden", "intermediate", "experts", "top_k", "tp", "ep"]
SKEW = 1.01
"""Routing that is kept: a power law of this exponent, between uniform and skewed; its neighbours differ by a few %."""
TOKENS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
Shape = tuple[int, int, int, int]
"""Hidden size, intermediate size of an expert, experts, experts per token."""
SHAPES: frozenset[Shape] = frozenset(
    {
        (7168, 2048, 256, 8),  # DeepSeek-V3, R1, V3.2
        (7168, 2048, 384, 8),  # Kimi-K2
        (7168, 3072, 384, 6),  # DeepSeek-V4-Pro
        (4096, 2048, 256, 6),  # DeepSeek-V4-Flash
        (6144, 2048, 256, 8),  # GLM-5
        (5120, 1536, 160, 8),  # GLM-4.5
        (4096, 1408, 128, 8),  # GLM-4.5-Air
        (2880, 2880, 128, 4),  # gpt-oss-120b
        (2880, 2880, 32, 4),  # gpt-oss-20b
        (4096, 14336, 8, 2),  # Mixtral-8x7B
        (4096, 1536, 128, 8),  # Qwen3-235B-A22B
        (2048, 768, 128, 8),  # Qwen3-30B-A3B
        (6144, 2560, 160, 8),  # Qwen3-Coder-480B
        (2048, 512, 512, 10),  # Qwen3-Next-80B
        (4096, 1024, 512, 10),  # Qwen3.5-397B
        (3072, 1536, 256, 8),  # MiniMax-M2
    }
)
"""Shapes that are kept: the models of the catalog, and MiniMax-M2."""
SPLITS = ((1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (1, 4), (1, 8), (2, 2), (2, 4), (4, 2))
"""Tensor × expert parallelism that is kept."""


def fit_moe(moe: pd.DataFrame) -> tuple[tuple[ExpertsTable, ...], Error, int]:
    """Tables of the kept shapes, their error, and the samples."""
    tables, predicted, measured = [], [], []
    for key, group in moe[moe["skew"] == SKEW].groupby(KEY, sort=True):
        sizes = tuple(int(x) for x in key[1:])
        if sizes[:4] not in SHAPES or sizes[4:] not in SPLITS:
            continue
        best = group.groupby("tokens")["latency_us"].min()
        table = experts_table(key, best)
        tables.append(table)
        x = best.index.to_numpy(float)
        inside = x <= table.tokens[-1]
        predicted.append(np.interp(x[inside], table.tokens, table.us))
        measured.append(best.to_numpy(float)[inside])
    return tuple(tables), error(np.concatenate(predicted), np.concatenate(measured)), sum(m.size for m in measured)


def experts_table(key: tuple[object, ...], best: "pd.Series[float]") -> ExpertsTable:
    """One shape and split: spikes and falls removed, then kept at the knots."""
    x = best.index.to_numpy(float)
    clean = smooth(x, best.to_numpy(float))
    knots = [t for t in TOKENS if x[0] <= t <= x[-1]]
    values = np.exp(np.interp(np.log(knots), np.log(x), np.log(clean)))
    hidden, intermediate, experts, top_k, tp, ep = (int(str(part)) for part in key[1:])
    return ExpertsTable(
        dtype=str(key[0]),  # type: ignore[arg-type]
        hidden=hidden,
        intermediate=intermediate,
        experts=experts,
        top_k=top_k,
        tensor_parallel=tp,
        expert_parallel=ep,
        tokens=tuple(knots),
        us=rising(values),
    )
