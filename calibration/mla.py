"""Latent attention that was measured only as a whole module: the attention left when its projections are taken off."""

import numpy as np
import pandas as pd

from calibration.fit_linear import predict
from calibration.robust import Floats
from simulator.spec.profile import LinearTable

HIDDEN, Q_LORA, KV_LORA, ROPE, NOPE, VALUE = 7168, 1536, 512, 64, 128, 128
"""DeepSeek-V3, the only model whose module was measured."""
LEAST_SHARE = 0.2
"""Attention is taken to be at least this share of its module."""


def without_projections(rows: pd.DataFrame, bf16: LinearTable, tokens: Floats) -> pd.DataFrame:
    """Rows of kind `mla_module` as rows of kind `mla`: less the bf16 projections of so many tokens.

    tokens: rows that pass through the projections, for each measurement. [tokens]
    """
    heads = rows["heads"].to_numpy(float)
    shapes = (
        (np.full_like(heads, Q_LORA + KV_LORA + ROPE), np.full_like(heads, HIDDEN)),
        (heads * (NOPE + ROPE), np.full_like(heads, Q_LORA)),
        (heads * (NOPE + VALUE), np.full_like(heads, KV_LORA)),
        (np.full_like(heads, HIDDEN), heads * VALUE),
    )
    projections = sum(predict(bf16, n, k, tokens) for n, k in shapes)
    whole = rows["latency_us"].to_numpy(float)
    return rows.assign(kind="mla", latency_us=np.maximum(whole - projections, LEAST_SHARE * whole))
