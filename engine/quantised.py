"""Keys or values of one layer in eight bits, with one scale per slot and head; read and written like a tensor.

For a draft's cache: whatever the draft sees, the target decides, so nothing that is committed depends on the rounding.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

ELEMENTS = {"int8": torch.int8, "fp8": torch.float8_e4m3fn}
"""Elements in eight bits, by the names of the command line. fp8: 4 bits of exponent, 3 of mantissa (OCP MX, e4m3)."""

LARGEST = {"int8": 127.0, "fp8": 448.0}
"""Largest number that each can hold: what the largest of a head is scaled to."""


class QuantisedPlane:
    """[slots, heads, head dim] numbers in eight bits each."""

    __slots__ = ("_bits", "_dtype", "_kind", "_scales", "shape")

    def __init__(self, shape: Sequence[int], kind: str, dtype: torch.dtype, device: str | torch.device) -> None:
        self.shape = torch.Size(shape)
        self._kind, self._dtype = kind, dtype
        self._bits = torch.zeros(shape, dtype=torch.uint8, device=device)
        self._scales = torch.zeros((*shape[:2], 1), dtype=torch.float32, device=device)

    @property
    def num_bytes(self) -> int:
        """Bytes of the numbers and of their scales."""
        return self._bits.numel() + 4 * self._scales.numel()

    def index_copy_(self, dim: int, slots: Tensor, numbers: Tensor) -> "QuantisedPlane":
        """Round numbers [count, heads, head dim] and put them into some slots."""
        largest = LARGEST[self._kind]
        scales = numbers.abs().amax(-1, keepdim=True).to(torch.float32) / largest
        scaled = (numbers / scales.clamp(min=torch.finfo(torch.float32).tiny)).clamp(-largest, largest)
        rounded = scaled.round() if self._kind == "int8" else scaled.to(torch.float32)
        self._bits.index_copy_(dim, slots, rounded.to(ELEMENTS[self._kind]).view(torch.uint8))
        self._scales.index_copy_(dim, slots, scales)
        return self

    def index_select(self, dim: int, slots: Tensor) -> Tensor:
        """Numbers of some slots: [count, heads, head dim]."""
        return self._read(self._bits.index_select(dim, slots), self._scales.index_select(dim, slots))

    def __getitem__(self, slots: slice) -> Tensor:
        return self._read(self._bits[slots], self._scales[slots])

    def _read(self, bits: Tensor, scales: Tensor) -> Tensor:
        numbers = bits.view(ELEMENTS[self._kind])
        if self._dtype == torch.float64:
            return numbers.to(torch.float64) * scales
        return (numbers.to(torch.float32) * scales).to(self._dtype)


Plane = Tensor | QuantisedPlane
"""Keys or values of one layer: [slots, kv heads, head dim]."""
