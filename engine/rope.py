"""Rotary position embedding, half-split: dimension i turns with dimension i + head_dim / 2."""

import math

import torch
from torch import Tensor

from engine.architecture import Architecture, RopeScaling


def frequencies(architecture: Architecture) -> Tensor:
    """Angle per position of each pair of dimensions: [head dim / 2], in float64.

    Su et al. 2021, arXiv:2104.09864, section 3.4.2; the `llama3` stretch as in the Llama 3.1 reference code.
    """
    dim = architecture.head_dim
    plain = architecture.rope_theta ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    scaling = architecture.rope_scaling
    if scaling is None:
        return plain
    return plain / scaling.factor if scaling.kind == "linear" else _llama3(plain, scaling)


def _llama3(plain: Tensor, scaling: RopeScaling) -> Tensor:
    """Slow frequencies are divided by the factor, fast ones kept, those between blended."""
    turns = scaling.original_max_position * plain / (2 * math.pi)
    low, high = scaling.low_freq_factor, scaling.high_freq_factor
    keep = ((turns - low) / (high - low)).clamp(0.0, 1.0)
    return plain * keep + plain / scaling.factor * (1.0 - keep)


def rotation_tables(architecture: Architecture, length: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Cosines and signed sines for positions below a length: two of [length, 1, head dim].

    With x = (a, b) in halves, x × cosines + (b, a) × signed sines = (a cos − b sin, b cos + a sin).
    """
    angles = torch.outer(torch.arange(length, dtype=torch.float64), frequencies(architecture))
    cosines, sines = angles.cos(), angles.sin()
    both = (torch.cat((cosines, cosines), dim=1), torch.cat((-sines, sines), dim=1))
    return both[0].to(dtype).unsqueeze(1), both[1].to(dtype).unsqueeze(1)


def rotate(heads: Tensor, cosines: Tensor, signed_sines: Tensor) -> Tensor:
    """Turn [rows, heads, head dim] by the tables' rows for their positions."""
    first, second = heads.chunk(2, dim=-1)
    return torch.addcmul(heads * cosines, torch.cat((second, first), dim=-1), signed_sines)
