"""Kernels of older engine releases, where published rows ran on releases older than the kernel tables.

Two differences are documented (shared/measured/README.md, "How the closed-loop rows were made") and no table shows
them. They are facts of a release, not constants of an engine: predictions of today's engines leave them out.
"""

from typing import Any

from simulator.spec.profile import AllReduceTable, LinearTable, Profile

OLD_VLLM_ROWS = (16, 64)
OLD_VLLM_FACTOR = 1.185
"""vLLM 0.10.2's FP8 product on H200 at 16 < m ≤ 64 takes 17 to 20 % longer than that of 0.24."""
OLD_TRTLLM_BYTES = 2**20
OLD_TRTLLM_EXTRA_US = 16.0
"""TensorRT-LLM 1.1's all-reduce over 8 H200 takes 16 µs more at 64 tokens of hidden size 8,192 (1 MiB), more at 128:
taken in proportion to the message from there to twice as much, beyond which another algorithm runs."""
LAST_OLD_DAY = "2025-12-15"
"""Rows of InferenceX until here ran vLLM 0.10 and TensorRT-LLM 1.1."""


def is_old(row: Any) -> bool:
    """Whether a row ran on a release with those kernels: H200, InferenceX, measured in 2025."""
    day = getattr(row, "measured_on", "")
    return isinstance(day, str) and "" < day <= LAST_OLD_DAY and row.gpu == "h200-sxm" and row.load == "closed_loop"


def older(profile: Profile) -> Profile:
    """The profile as it would have been measured with the older release of its engine."""
    if profile.engine == "vllm":
        return profile.model_copy(update={"linear": tuple(_old_products(table) for table in profile.linear)})
    if profile.engine == "trtllm":
        return profile.model_copy(update={"all_reduce": tuple(_old_reduce(table) for table in profile.all_reduce)})
    return profile


def _old_products(table: LinearTable) -> LinearTable:
    if table.dtype != "fp8":
        return table
    low, high = OLD_VLLM_ROWS
    us = tuple(
        tuple(
            tuple(t * OLD_VLLM_FACTOR if low < m <= high else t for m, t in zip(table.rows, cell, strict=True))
            for cell in row
        )
        for row in table.us
    )
    return table.model_copy(update={"us": us})


def _old_reduce(table: AllReduceTable) -> AllReduceTable:
    if table.gpus != 8:
        return table
    extra = [
        OLD_TRTLLM_EXTRA_US * size / OLD_TRTLLM_BYTES if OLD_TRTLLM_BYTES <= size <= 2 * OLD_TRTLLM_BYTES else 0.0
        for size in table.bytes
    ]
    return table.model_copy(update={"us": tuple(us + more for us, more in zip(table.us, extra, strict=True))})
