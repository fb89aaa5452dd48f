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
        if count < PACKED_ROWS:
            rows = functional.pad(rows, (0, 0, 0, PACKED_ROWS - count))
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
