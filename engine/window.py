"""A window on the context: the first tokens and the latest, for a draft that reads no more of its cache.

The first tokens are kept because attention rests on them (sinks: Xiao et al. 2023, arXiv:2309.17453). Positions stay as
they are. The window bounds what is read in a pass, not what is held: the cache has all slots.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.batch import Batch, Read
from engine.errors import DraftError


@dataclass(frozen=True, slots=True)
class Window:
    """What a row looks at."""

    sinks: int
    """Tokens at the start."""
    recent: int
    """Latest tokens, its own included."""

    def __post_init__(self) -> None:
        if self.sinks < 0 or self.recent < 1:
            raise DraftError(
                f"draft window {self.sinks},{self.recent}: sinks of 0 or more and 1 or more of the latest tokens"
            )


def narrow(batch: Batch, window: Window) -> Batch:
    """The same batch, each row of which looks at the window alone."""
    batch.reads = [_narrowed(read, window, batch.slots.device) for read in batch.reads]
    return batch


def _narrowed(read: Read, window: Window, device: torch.device) -> Read:
    slots, rows = read.slots, read.num_rows
    length = slots.stop - slots.start if isinstance(slots, slice) else len(slots)
    if length <= window.sinks + window.recent:
        return read
    own, seen = torch.arange(length - rows, length), torch.arange(length)
    seen = seen[(seen < window.sinks) | (seen > int(own[0]) - window.recent)]
    mask = None if read.mask is None else read.mask.index_select(1, seen.to(read.mask.device))
    if mask is not None:
        behind = (seen >= window.sinks) & (seen <= own[:, None] - window.recent)
        mask = mask.masked_fill(behind.repeat(len(mask) // rows, 1).to(mask.device), -torch.inf)
    return read._replace(slots=_chosen(slots, seen).to(device), mask=mask)


def _chosen(slots: slice | Tensor, places: Tensor) -> Tensor:
    return places + slots.start if isinstance(slots, slice) else slots.index_select(0, places.to(slots.device))
