"""CPU threads of the target, and the cores that it leaves to a draft with a process of its own."""

import os

import torch

from engine.errors import DraftError


def take_threads(threads: int | None, draft_core: int | None) -> None:
    """Set torch's threads; the target leaves the draft its core, and has a thread at most for each core that is left.

    threads: of the target; None: torch's own choice. Raises DraftError for a core that this process does not have.
    """
    if draft_core is not None:
        left = cores_beside(draft_core, _allowed())
        os.sched_setaffinity(0, left)
        torch.set_num_threads(min(torch.get_num_threads(), len(left)))
    if threads is not None:
        torch.set_num_threads(threads)


def cores_beside(draft_core: int, allowed: set[int]) -> set[int]:
    """Cores of the target beside a draft's own: all others, or the same where there is but one.

    >>> cores_beside(0, {0, 1, 2}), cores_beside(0, {0})
    ({1, 2}, {0})
    """
    if draft_core not in allowed:
        raise DraftError(f"--draft-core {draft_core}: this process may run on {', '.join(map(str, sorted(allowed)))}")
    return allowed - {draft_core} or allowed


def _allowed() -> set[int]:
    if not hasattr(os, "sched_getaffinity"):
        raise DraftError("--draft-core: this system binds no process to a core; leave it out")
    return os.sched_getaffinity(0)
