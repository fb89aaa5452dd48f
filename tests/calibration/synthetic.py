"""Kernels with known laws, as measurement tables."""

import itertools

import numpy as np
import pandas as pd

from calibration.fit_linear import ROWS, SIZES

FLOOR_US, READ_US_PER_M, COMPUTE_US = 4.0, 0.3, 2e-9
"""Launch floor, µs per 10^6 weights read, µs per multiply-add."""
DECODE_FLOOR_US, DECODE_TOKEN_US = 8.0, 0.0005
PREFILL_TOKEN_US, PREFILL_PAIR_US = 0.05, 3e-5


def gemm_us(n, k, m):
    """A linear layer: a floor, weights to read, arithmetic at many rows."""
    return FLOOR_US + max(READ_US_PER_M * n * k / 1e6, COMPUTE_US * n * k * m)


def gemm(dtype="bf16", noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    rows = [
        (dtype, m, n, k, gemm_us(n, k, m) * float(np.exp(noise * rng.standard_normal())))
        for n, k, m in itertools.product(SIZES, SIZES, ROWS)
    ]
    return pd.DataFrame(rows, columns=["dtype", "m", "n", "k", "latency_us"])


def heads(**values):
    return {"kind": "gqa", "kv": "fp8", "heads": 64, "kv_heads": 8, "head_dim": 128, "window": 0} | values


def decode():
    """Decode attention: affine in the context, proportional to the batch."""
    points = itertools.product((1, 2, 4, 8, 16, 32, 64), (128, 256, 512, 1024, 2048, 4096, 8192, 16384))
    return pd.DataFrame(
        [heads(batch=b, context=c, latency_us=DECODE_FLOOR_US + DECODE_TOKEN_US * b * c) for b, c in points]
    )


def prefill():
    """Prompt attention: linear in tokens and in pairs."""
    points = itertools.product((1, 2, 4, 8), (128, 256, 512, 1024, 2048, 4096, 8192, 16384))
    return pd.DataFrame(
        [
            heads(batch=b, prompt=p, latency_us=b * (PREFILL_TOKEN_US * p + PREFILL_PAIR_US * p * (p + 1) / 2))
            for b, p in points
        ]
    )


def plant(table, share=0.02, factor=3.0, seed=1):
    """The table with spikes in some rows, up and down."""
    rng = np.random.default_rng(seed)
    hit = rng.random(len(table)) < share
    up = np.where(rng.random(len(table)) < 0.5, factor, 1.0 / factor)
    return table.assign(latency_us=np.where(hit, table["latency_us"] * up, table["latency_us"]))
