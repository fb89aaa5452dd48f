"""Matrix products with constant weights, prepared once for the device.

On a CPU, oneDNN with weights packed beforehand: a plain product of few rows falls off the fast path, so that three rows
cost more than four. The packing calls are private to torch; where they are missing, the plain product runs.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

Linear = Callable[[Tensor], Tensor]
"""[rows, input] -> [rows, output]."""

PACKED_ROWS = 4
"""Rows that the packed layout is chosen for, and that fewer are filled up to: the product of one, two or three rows
takes another path, slower than that of four. So a verify step's cost begins flat, and plain decoding gains."""


EXACT_ROWS = 64
"""Up to so many rows a product is computed as it is; more are filled up to a multiple."""


def filled(rows: int) -> int:
    """Rows that a product is computed for.

    oneDNN prepares each number of rows that it has not had for a shape of weights: 0.3 to 3.4 ms and 0.4 to 0.8 MB,
    measured on an Intel Xeon with weights of 256 × 256 to 49,152 × 576; of these it keeps 1,024 (its default). So there
    are few: beyond 64 they are filled up to a multiple of a sixteenth to a thirty-second of their number.

    >>> filled(1), filled(5), filled(65), filled(128), filled(130), filled(500)
    (4, 5, 68, 128, 136, 512)
    """
    if rows <= EXACT_ROWS:
        return max(rows, PACKED_ROWS)
    multiple = 1 << ((rows - 1).bit_length() - 5)
    return -(-rows // multiple) * multiple


def plain(weight: Tensor, bias: Tensor | None = None) -> Linear:
    """The framework's own product; weight is [output, input]."""

    def apply(rows: Tensor) -> Tensor:
        return functional.linear(rows, weight, bias)

    return apply


def onednn(weight: Tensor, bias: Tensor | None = None) -> Linear:
    """A product with weights packed for oneDNN; weight is [output, input]."""
    ops: Any = torch.ops.mkldnn
    packed = ops._reorder_linear_weight(weight.detach().contiguous(), PACKED_ROWS)
    product = ops._linear_pointwise

    def apply(rows: Tensor) -> Tensor:
        count = len(rows)
        lacking = filled(count) - count
        if lacking:
            rows = functional.pad(rows, (0, 0, 0, lacking))
        result: Tensor = product(rows, packed, bias, "none", [], "")
        return result[:count]

    return apply


LINEARS: dict[str, Callable[[Tensor, Tensor | None], Linear]] = {"onednn": onednn, "plain": plain}


def fastest_backend(device: torch.device, dtype: torch.dtype) -> str:
    """Name of the backend to use: oneDNN where it works and agrees with the plain product."""
    if device.type != "cpu" or dtype != torch.float32 or not hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        return "plain"
    weight, rows = torch.eye(16, dtype=dtype), torch.arange(48, dtype=dtype).reshape(3, 16)
    try:
        agrees = torch.equal(onednn(weight)(rows), rows)
    except (AttributeError, RuntimeError, TypeError):
        return "plain"
    return "onednn" if agrees else "plain"
