"""Replay of a benchmark on one replica: the client as it was, the engine by the simulator, steps priced by a model."""

from collections.abc import Callable, Iterator
from math import ceil

import numpy as np

from calibration.protocol import Measured, Protocol
from calibration.queued import padded
from simulator.cluster.cluster import ClusterPlan, Load, simulate_cluster
from simulator.cluster.limits import Limits, StepTimes
from simulator.cluster.paths import PathPlanner
from simulator.cluster.records import ClusterRecords
from simulator.cluster.traffic import RequestChunk
from simulator.errors import ScenarioError
from simulator.physics.step import StepShape
from simulator.physics.step_model import CatalogStepModel

BLOCK_TOKENS = 16


class PaddedTimes:
    """Steps without prompts run as the CUDA graph that holds their batch; the others run as they are."""

    def __init__(self, model: CatalogStepModel, graphs: tuple[int, ...]) -> None:
        """Price by the model."""
        self.seconds: Callable[[StepShape], float] = model.seconds
        self._model = model
        self._graphs = graphs

    def decode_affine(self, sequences: int) -> tuple[float, float]:
        """Seconds of a step without prompts: first + second × context tokens."""
        return self._model.decode_affine(sequences, padded_to=padded(sequences, self._graphs))


def replay_model(protocol: Protocol, model: CatalogStepModel) -> Measured:
    """Replay with a model's steps, in the graphs that the benchmark ran."""
    return replay(protocol, PaddedTimes(model, protocol.graphs) if protocol.graphs else model)


def replay(protocol: Protocol, times: StepTimes) -> Measured:
    """Run the benchmark to the end of its last request.

    Raises ScenarioError when a prompt fits into no step.
    """
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
    records = simulate_cluster(plan, load)
    if records.requests.rejected.any():
        raise ScenarioError(
            f"prompts of up to {int(records.requests.prompt_tokens.max())} tokens never fit a step of "
            f"{protocol.token_budget}: the engine does not split them"
        )
    return _measured(protocol, records)


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
