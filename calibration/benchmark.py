"""Replay of a benchmark on one replica: the client as it was, the engine by the simulator, steps priced by a model."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

import numpy as np

from simulator.cluster.cluster import ClusterPlan, Load, simulate_cluster
from simulator.cluster.limits import Limits, StepTimes
from simulator.cluster.paths import PathPlanner
from simulator.cluster.records import ClusterRecords
from simulator.cluster.traffic import RequestChunk

BLOCK_TOKENS = 16


@dataclass(frozen=True, slots=True)
class Protocol:
    """How the benchmark was run and how the engine was configured."""

    prompt_tokens: int
    output_tokens: int
    requests: int
    concurrency: int | None
    """Requests in flight; None: all queued at the start."""
    max_num_seqs: int
    token_budget: int
    """Tokens of a step, decoding sequences included."""
    kv_tokens: int
    """Tokens of KV in the replica."""
    chunked: bool
    """Whether a prompt may be split over steps."""
    reserve_output: bool
    """Whether a request is admitted only with KV for its whole output."""
    prefill_first: bool = False
    """Whether steps with prompts leave decoding sequences out (SGLang)."""
    wait_iterations: int = 0
    """Steps that new prompts wait for company while others decode."""
    wait_tokens: int = 0
    """Prompt tokens at which the wait ends early."""
    overlap_steps: int = 1
    """Steps by which a token reaches the client after the step that computed it."""
    shortest: float = 0.8
    """Lengths are uniform from this share of the nominal to the nominal."""
    request_host_s: float = 0.0
    """Time from a client's request to the scheduler's seeing it."""
    skip_burst: bool = False
    """Leave the opening burst out of the means."""
    seed: int = 0


class Measured(NamedTuple):
    """What the client measured."""

    ttft_s: float
    tpot_s: float
    output_tokens_per_s: float
    mean_batch: float


def replay(protocol: Protocol, times: StepTimes) -> Measured:
    """Run the benchmark to the end of its last request."""
    limits = _limits(protocol)
    counts = np.asarray(limits.block_counts)
    reserved = limits.reserve_output_tokens is not None
    planner = PathPlanner(0, (np.empty((1, 0)),), np.uint64(0), BLOCK_TOKENS, counts, reserved)
    plan = ClusterPlan(1, "round_robin", limits, times, planner, protocol.request_host_s)
    load = Load(
        chunks=_requests(protocol),
        requests=protocol.requests,
        warmup_requests=0,
        concurrency=protocol.concurrency,
        queued_at_once=protocol.concurrency is None,
        endless=False,
    )
    return _measured(protocol, simulate_cluster(plan, load))


def _limits(protocol: Protocol) -> Limits:
    longest = protocol.prompt_tokens + protocol.output_tokens + 1
    mean_output = ceil(protocol.output_tokens * (1.0 + protocol.shortest) / 2)
    return Limits(
        kv_blocks=max(protocol.kv_tokens // BLOCK_TOKENS, ceil(longest / BLOCK_TOKENS)),
        block_tokens=BLOCK_TOKENS,
        block_counts=tuple(range(ceil(longest / BLOCK_TOKENS) + 1)),
        max_model_len=longest,
        max_num_seqs=protocol.max_num_seqs,
        max_num_batched_tokens=protocol.token_budget,
        draft_tokens=0,
        chunked_prefill=protocol.chunked,
        prefill_first=protocol.prefill_first,
        reserve_output_tokens=mean_output if protocol.reserve_output else None,
        overlap_steps=protocol.overlap_steps,
        batch_wait_steps=protocol.wait_iterations,
        batch_wait_tokens=float(protocol.wait_tokens),
    )


def _requests(protocol: Protocol) -> Iterator[RequestChunk]:
    """All requests at once, drawn as the client drew them."""
    rng = np.random.RandomState(protocol.seed)

    def lengths(nominal: int) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
        low = max(1, int(nominal * protocol.shortest))
        return np.asarray(rng.randint(low, nominal + 1, protocol.requests), np.int64)

    prompts, outputs = lengths(protocol.prompt_tokens), lengths(protocol.output_tokens)
    yield RequestChunk(np.full(prompts.size, np.nan), prompts, outputs, np.zeros(prompts.size, np.int64))


def _measured(protocol: Protocol, records: ClusterRecords) -> Measured:
    requests, steps = records.requests, records.steps
    counted = slice((protocol.concurrency or 0) if protocol.skip_burst else 0, None)
    later = requests.output_tokens - 1
    tpot = (requests.finish_s - requests.first_token_s)[later > 0] / later[later > 0]
    return Measured(
        ttft_s=float((requests.first_token_s - requests.arrival_s)[counted].mean()),
        tpot_s=float(tpot[counted].mean()) if tpot.size else float("nan"),
        output_tokens_per_s=float(requests.output_tokens.sum() / requests.finish_s.max()),
        mean_batch=float(steps.sequences @ steps.duration_s / steps.duration_s.sum()),
    )
