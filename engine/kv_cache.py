"""Paged KV cache: blocks of positions handed to sequences, and the tensors that they stand for.

One pool of block numbers serves the target and its draft, each with tensors of its own: both hold the same positions.
Rejected tokens are rolled back by length alone; what lies behind a sequence's length is written over. Of a tree, the
path that was accepted is moved to consecutive slots.
"""

import heapq
from collections.abc import Sequence

import torch
from torch import Tensor

from engine.architecture import Architecture
from engine.quantised import ELEMENTS, Plane, QuantisedPlane


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


class Room:
    """Where keys and values that lie scattered are gathered, in the same memory at every step.

    It stays in the processor's caches. In a process whose memory is in pieces, new room for each sequence is another
    place each time: attention then took 1.7 times as long on a CPU.
    """

    __slots__ = ("_keys", "_values")

    def __init__(self) -> None:
        self._keys = self._values = torch.empty(0)

    def gathered(self, keys: Plane, values: Plane, slots: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of some slots, [slots, kv heads, head dim] each, valid until the next call."""
        if isinstance(keys, QuantisedPlane) or isinstance(values, QuantisedPlane):
            return keys.index_select(0, slots), values.index_select(0, slots)
        count, own = len(slots), self._keys
        if len(own) < count or own.shape[1:] != keys.shape[1:] or own.dtype != keys.dtype:
            self._keys, self._values = (keys.new_empty(count, *keys.shape[1:]) for _ in range(2))
        room = self._keys[:count], self._values[:count]
        return torch.index_select(keys, 0, slots, out=room[0]), torch.index_select(values, 0, slots, out=room[1])


class KvStore:
    """Keys and values of one model, by slot (block × block_tokens + offset); a last spare block takes padding."""

    def __init__(
        self,
        architecture: Architecture,
        num_blocks: int,
        block_tokens: int,
        dtype: torch.dtype,
        device: str | torch.device = "cpu",
        element: str = "same",
    ) -> None:
        """Allocate.

        element: `same` as the model's, or eight bits by a name of ELEMENTS.
        """
        self.block_tokens = block_tokens
        self.spare_slot = num_blocks * block_tokens
        shape = ((num_blocks + 1) * block_tokens, architecture.num_kv_heads, architecture.head_dim)
        layers = range(architecture.num_layers)

        def plane() -> Plane:
            if element in ELEMENTS:
                return QuantisedPlane(shape, element, dtype, device)
            return torch.zeros(shape, dtype=dtype, device=device)

        self.keys: list[Plane] = [plane() for _ in layers]
        """By layer: [slots, kv heads, head dim]."""
        self.values: list[Plane] = [plane() for _ in layers]
        self.room = Room()
        self.hidden: Tensor | None = None
        """[slots, hidden size] last hidden states; None: nobody asked for them."""
        self._num_slots, self._dtype, self._device = shape[0], dtype, device

    def keep_hidden(self, size: int) -> None:
        """Let passes leave their last hidden states here too, slot by slot, for a head that drafts from them."""
        if self.hidden is None:
            self.hidden = torch.zeros(self._num_slots, size, dtype=self._dtype, device=self._device)

    def move(self, sources: Sequence[int], targets: Sequence[int]) -> None:
        """Copy what lies in some slots to others; all are read before any is written."""
        if not sources:
            return
        read, write = torch.tensor((sources, targets), device=self._device)
        for tensor in (*self.keys, *self.values, *([] if self.hidden is None else [self.hidden])):
            tensor.index_copy_(0, write, tensor.index_select(0, read))

    @property
    def num_bytes(self) -> int:
        """Bytes of all tensors, the spare block included."""
        planes = (*self.keys, *self.values, *([] if self.hidden is None else [self.hidden]))
        return sum(p.numel() * p.element_size() if isinstance(p, Tensor) else p.num_bytes for p in planes)
