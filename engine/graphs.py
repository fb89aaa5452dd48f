"""Passes of fixed shape for a GPU: sequences with equally many rows, padded to a bucket and captured as CUDA graphs.

Without a graph, a small decode step is bound by the launching of its kernels. Prompts and ragged batches go through the
ordinary pass.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from engine.attention import padded, visible
from engine.batch import FOLDED_ROWS, Batch
from engine.kv_cache import KvStore
from engine.model import Model

WARM_UP_PASSES = 3
"""Passes before a capture, so that libraries have chosen their kernels and taken their memory."""

SHORTEST_BUCKET = 128
"""Positions of the smallest bucket."""


def bucket(count: int, least: int = 1) -> int:
    """Next power of two, but not below the least.

    >>> bucket(5), bucket(3, 128)
    (8, 128)
    """
    return max(1 << (count - 1).bit_length(), least)


def fits(batch: Batch) -> bool:
    """Whether a batch is verifying sequences alone, with equally many rows, all of them asked for.

    Nodes of a tree fit where the whole tree is computed at once, as the target does.
    """
    rows = {read.num_rows for read in batch.reads}
    if any(read.seen is not None and read.seen.shape[1] != read.num_rows for read in batch.reads):
        return False
    only_decoding = batch.num_decoding == len(batch.reads) and batch.output_rows is None
    return only_decoding and len(rows) == 1 and max(rows) <= FOLDED_ROWS


class PaddedPass:
    """A pass over buffers that stay where they are. Padding rows compute token 0 in the spare block."""

    def __init__(self, model: Model, store: KvStore, sequences: int, rows: int, longest: int) -> None:
        self.model, self.store = model, store
        self.sequences, self.rows = sequences, rows
        self.inputs = torch.zeros(3, sequences * rows, dtype=torch.int64, device=model.device)
        """[token numbers, positions, slots; sequences × rows]"""
        self.read_slots = torch.full((sequences, longest), store.spare_slot, dtype=torch.int64, device=model.device)
        self.starts = torch.zeros(sequences, dtype=torch.int64, device=model.device)
        self._in_order = torch.ones(rows, rows, dtype=torch.bool, device=model.device).tril_()
        self.seen = self._in_order.repeat(sequences, 1, 1)
        """[sequences, rows, rows] which of its rows each row looks at."""

    def fill(self, batch: Batch) -> None:
        """Copy a batch into the buffers."""
        count = len(batch.token_ids)
        self.inputs[:2].zero_()
        self.inputs[2].fill_(self.store.spare_slot)
        for row, values in enumerate((batch.token_ids, batch.positions, batch.slots)):
            self.inputs[row, :count].copy_(values)
        self.read_slots.fill_(self.store.spare_slot)
        self.starts.zero_()
        lengths = [_length(read.slots) for read in batch.reads]
        self.starts[: len(lengths)].copy_(torch.tensor(lengths) - self.rows)
        for row, read in enumerate(batch.reads):
            self.seen[row].copy_(self._in_order if read.seen is None else read.seen)
            slots = read.slots
            if isinstance(slots, slice):
                slots = torch.arange(slots.start, slots.stop, device=self.read_slots.device)
            self.read_slots[row, : len(slots)].copy_(slots)

    def compute(self) -> Tensor:
        """Logits of all rows: [sequences × rows, vocabulary]."""
        attend = padded(visible(self.starts, self.seen, self.read_slots.shape[1]), self.read_slots)
        token_ids, positions, slots = self.inputs
        return self.model.logits(self.model.hidden(token_ids, positions, slots, attend, self.store))


class Graphs:
    """Captured passes by (sequences, rows, longest), made at first use."""

    def __init__(self, model: Model, store: KvStore) -> None:
        self._model, self._store = model, store
        self._captured: dict[tuple[int, int, int], tuple[PaddedPass, torch.cuda.CUDAGraph, Tensor]] = {}

    @torch.inference_mode()
    def forward(self, batch: Batch) -> Tensor:
        """Logits of the rows that are asked for, like Model.forward."""
        if not fits(batch):
            return self._model.forward(batch, self._store)
        rows = batch.reads[0].num_rows
        longest = max(_length(read.slots) for read in batch.reads)
        key = (bucket(len(batch.reads)), rows, bucket(longest, SHORTEST_BUCKET))
        if key not in self._captured:
            self._captured[key] = self._capture(*key)
        padded_pass, graph, logits = self._captured[key]
        padded_pass.fill(batch)
        graph.replay()
        return logits[: len(batch.token_ids)]

    def _capture(self, sequences: int, rows: int, longest: int) -> tuple[PaddedPass, torch.cuda.CUDAGraph, Tensor]:
        padded_pass = PaddedPass(self._model, self._store, sequences, rows, longest)
        padded_pass.inputs[2].fill_(self._store.spare_slot)
        side = torch.cuda.Stream(self._model.device)  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream(self._model.device))
        with torch.cuda.stream(side):
            for _ in range(WARM_UP_PASSES):
                padded_pass.compute()
        torch.cuda.current_stream(self._model.device).wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            logits = padded_pass.compute()
        return padded_pass, graph, logits


def _length(slots: slice | Tensor) -> int:
    return int(slots.stop - slots.start) if isinstance(slots, slice) else len(slots)


def passes(model: Model, store: KvStore) -> Callable[[Batch], Tensor]:
    """How this model's batches are computed over a store: graphs on a GPU, the ordinary pass elsewhere.

    A mixture's rows choose their experts as they go: no graph holds that.
    """
    if model.device.type == "cuda" and model.architecture.mixture is None:
        return Graphs(model, store).forward
    return lambda batch: model.forward(batch, store)
