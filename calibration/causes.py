"""What a large error of a row most likely comes from, by the circumstances of its run. A guess, and said as one."""

from typing import NamedTuple

from calibration.protocol import Protocol
from calibration.serving_csv import ServingRow

KV_BOUND = 0.85
"""Mean batch below this share of the clients while the KV cannot hold them all: the cache decides."""
LONG_PROMPT = 4096
"""Tokens from which prompts dominate the steps that they are in."""
FEW_CLIENTS = 4


class Circumstances(NamedTuple):
    """How a row was run, and what its replay showed."""

    row: ServingRow
    protocol: Protocol
    mean_batch: float
    ranks: int
    """Data-parallel ranks of the attention."""
    experts: bool
    """Whether the model is a mixture of experts."""
    outside: bool
    """Whether its decode step lies beyond what was measured of the kernels."""


def likely_cause(at: Circumstances) -> str:
    """The first circumstance that usually explains an error.

    >>> row = ServingRow("a", 2, "trtllm", "h200-sxm", "m", "fp8", "closed_loop", 1, 1024, 1024, 8, *([0.0] * 7), "")
    >>> protocol = Protocol(1024, 1024, 80, 8, 8, 16384, 10**6, False, True, wait_iterations=20)
    >>> likely_cause(Circumstances(row, protocol, 7.0, 1, False, False))
    'batch wait'
    """
    held = {
        "attention data-parallel: ranks wait for each other": at.ranks > 1,
        "extrapolated shape": at.outside,
        "KV-bound": _kv_bound(at),
        "queue at once: batch by memory, prompts in every step": at.protocol.concurrency is None,
        "batch wait": at.protocol.wait_iterations > 0,
        "long prefill": at.row.isl >= LONG_PROMPT,
        "experts: routing skew, launches, collectives": at.experts,
        "host-bound steps": at.row.engine == "sglang",
        "small batch: per-step constants": at.mean_batch <= FEW_CLIENTS,
    }
    return next((cause for cause, holds in held.items() if holds), "step cost at its batch")


def _kv_bound(at: Circumstances) -> bool:
    clients = at.protocol.concurrency
    if clients is None:
        return False
    needed = clients * (at.protocol.prompt_tokens + at.protocol.output_tokens)
    return needed > at.protocol.kv_tokens and at.mean_batch < KV_BOUND * clients
