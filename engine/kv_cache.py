"""Paged KV cache: blocks of positions handed to sequences, and the tensors that they stand for.

One pool of block numbers serves the target and its draft, each with tensors of its own: both hold the same positions.
Rejected tokens are rolled back by length alone; what lies behind a sequence's length is written over.
"""

import heapq

import torch
from torch import Tensor

from engine.architecture import Architecture


class BlockTable:
    """Blocks of one sequence, in order of position."""

    __slots__ = ("blocks", "contiguous")

    def __init__(self) -> None:
        self.blocks: list[int] = []
        self.contiguous = True
        """Whether the numbers are consecutive: then positions are a slice of the tensors, and nothing is gathered."""

    def _append(self, block: int) -> None:
        if self.blocks and block != self.blocks[-1] + 1:
            self.contiguous = False
        self.blocks.append(block)


class BlockPool:
    """Who holds which block; lowest free number first, so that sequences tend to be contiguous."""

    def __init__(self, num_blocks: int, block_tokens: int) -> None:
        self.num_blocks = num_blocks
        self.block_tokens = block_tokens
        self._free = list(range(num_blocks))

    @property
    def used(self) -> int:
        """Blocks held by sequences."""
        return self.num_blocks - len(self._free)

    @property
    def free(self) -> int:
        """Blocks that nobody holds."""
        return len(self._free)

    def blocks_for(self, tokens: int) -> int:
        """Blocks that so many positions fill."""
        return -(-tokens // self.block_tokens)

    def missing(self, table: BlockTable, tokens: int) -> int:
        """Blocks that a table lacks to hold so many positions."""
        return max(self.blocks_for(tokens) - len(table.blocks), 0)

    def extend(self, table: BlockTable, tokens: int) -> None:
        """Let a table hold so many positions; the caller has looked whether there is room."""
        missing = self.missing(table, tokens)
        assert missing <= len(self._free)
        for _ in range(missing):
            table._append(heapq.heappop(self._free))

    def release(self, table: BlockTable) -> None:
        """Take back all blocks of a table."""
        for block in table.blocks:
            heapq.heappush(self._free, block)
        table.blocks = []
        table.contiguous = True

    def check_idle(self) -> None:
        """Conservation: when no sequence runs, every block is free, once."""
        assert sorted(self._free) == list(range(self.num_blocks)), "KV blocks were lost or handed out twice"


class KvStore:
    """Keys and values of one model, by slot (block × block_tokens + offset); a last spare block takes padding."""

    def __init__(
        self,
        architecture: Architecture,
        num_blocks: int,
        block_tokens: int,
        dtype: torch.dtype,
        device: str | torch.device = "cpu",
    ) -> None:
        self.block_tokens = block_tokens
        self.spare_slot = num_blocks * block_tokens
        shape = ((num_blocks + 1) * block_tokens, architecture.num_kv_heads, architecture.head_dim)
        layers = range(architecture.num_layers)
        self.keys: list[Tensor] = [torch.zeros(shape, dtype=dtype, device=device) for _ in layers]
        """By layer: [slots, kv heads, head dim]."""
        self.values: list[Tensor] = [torch.zeros(shape, dtype=dtype, device=device) for _ in layers]

    @property
    def num_bytes(self) -> int:
        """Bytes of all tensors, the spare block included."""
        return sum(t.numel() * t.element_size() for t in (*self.keys, *self.values))
