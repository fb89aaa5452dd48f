"""Small clusters with known step times, for tests of the simulation alone."""

import copy
from collections.abc import Iterator

import numpy as np

from simulator.cluster.adaptive import AdaptiveDecoding
from simulator.cluster.cluster import Cluster, ClusterPlan, Load, simulate_cluster
from simulator.cluster.limits import Limits
from simulator.cluster.paths import PathPlanner
from simulator.cluster.records import ClusterRecords
from simulator.cluster.streams import acceptance_key
from simulator.cluster.traffic import CHUNK, RequestChunk
from simulator.physics.step import StepShape


class LinearTimes:
    """A step takes a constant, plus something for each prompt token, decoding sequence and context token."""

    def __init__(self, step_s=0.01, prompt_token_s=0.0, sequence_s=0.0, context_token_s=0.0):
        self.step_s, self.prompt_token_s = step_s, prompt_token_s
        self.sequence_s, self.context_token_s = sequence_s, context_token_s

    def seconds(self, shape: StepShape) -> float:
        return (
            self.step_s
            + self.prompt_token_s * shape.prefill_tokens
            + self.sequence_s * shape.sequences
            + self.context_token_s * shape.context_tokens
        )

    def decode_affine(self, sequences: int) -> tuple[float, float]:
        return self.step_s + self.sequence_s * sequences, self.context_token_s


class UnevenLinearTimes(LinearTimes):
    """The same with something for each draft token and pass of the draft; what it missed, it reads token by token."""

    def __init__(self, *constants, draft_token_s=0.0, pass_s=0.0, read_token_s=0.0, positions=3, **more):
        super().__init__(*constants, **more)
        self.draft_token_s, self.pass_s, self.read_token_s = draft_token_s, pass_s, read_token_s
        self.positions = positions

    def seconds(self, shape: StepShape, proposing=()) -> float:
        return super().seconds(shape) + self.draft_token_s * sum(proposing) + self.pass_s * len(proposing)

    def decode_affine(self, sequences: int, proposing=()) -> tuple[float, float]:
        constant, slope = super().decode_affine(sequences)
        return constant + self.draft_token_s * sum(proposing) + self.pass_s * len(proposing), slope

    def curve_s(self, sequences, context_tokens, prefill_tokens):
        shape = StepShape(sequences, 0, context_tokens, 0, 0, 0.0, 0)
        return super().seconds(shape) + self.draft_token_s * np.arange(self.positions * sequences + 1.0)

    def drafting_s(self, context_tokens, sequences, position, proposing):
        return np.where(proposing > 0, self.pass_s, 0.0)

    def catch_up_s(self, tokens):
        return self.read_token_s * tokens


def poisson_chunks(rate_per_s, draw_lengths, seed=0, num_classes=1) -> Iterator[RequestChunk]:
    """Chunks without end; draw_lengths(rng, count) gives prompts and outputs."""
    rng = np.random.default_rng(seed)
    last = 0.0
    while True:
        times = last + np.cumsum(rng.standard_exponential(CHUNK))
        last = float(times[-1])
        prompts, outputs = draw_lengths(rng, CHUNK)
        yield RequestChunk(times / rate_per_s, prompts, outputs, rng.integers(0, num_classes, CHUNK))


def fixed_lengths(prompt_tokens, output_tokens):
    return lambda rng, count: (np.full(count, prompt_tokens), np.full(count, output_tokens))


def uniform_lengths(prompts, outputs):
    return lambda rng, count: (rng.integers(*prompts, count), rng.integers(*outputs, count))


def make_plan(
    times=None, *, replicas=1, survival=(), kv_blocks=100_000, max_num_seqs=256, max_num_batched_tokens=8192,
    max_model_len=8192, chunked_prefill=True, step_by_step=False, router="least_outstanding_tokens", seed=0, **choices,
) -> ClusterPlan:  # fmt: skip
    draft_tokens = len(survival)
    counts = np.arange(-(-max_model_len // 16) + 1)
    planner = PathPlanner(
        draft_tokens,
        (np.array([survival]),),
        acceptance_key(seed, 0),
        16,
        counts,
        choices.get("reserve_output_tokens") is not None,
    )
    limits = Limits(
        kv_blocks,
        16,
        tuple(counts.tolist()),
        max_model_len,
        max_num_seqs,
        max_num_batched_tokens,
        draft_tokens,
        chunked_prefill,
        step_by_step,
        **choices,
    )
    return ClusterPlan(replicas, router, limits, times or LinearTimes(), planner)


def simulate(plan, chunks, requests, warmup_requests=0, check=None, **load) -> ClusterRecords:
    return simulate_cluster(plan, Load(chunks, requests, warmup_requests, **load), check)


def assert_conserved(cluster: Cluster) -> None:
    """What must hold at any moment: blocks and tokens held are those of the requests that run."""
    book = cluster.book
    for replica in cluster.replicas:
        residents = replica.residents
        held = sum(residents.own.values()) + shared_blocks(residents)
        context = 0
        for request, first in replica.started.items():
            put_out, grown = _since_its_start(replica, request, first)
            held += grown
            prompt = replica.admission.prompts.get(request) or book.prompt_tokens[request]
            context += prompt + 1 + put_out
        pool = residents.pool
        assert pool.used in (held, held + _pending_blocks(replica))
        assert 0 <= pool.used <= pool.used + pool.cache.idle_blocks <= replica.limits.kv_blocks
        assert replica.context_tokens == context
    accounted = sum(book.finish_s[r] == book.finish_s[r] for r in cluster.came)
    running = sum(len(r.started) + len(r.waiting.heap) + (r.admission.partial is not None) for r in cluster.replicas)
    in_a_step = len(cluster.came) - accounted - running - sum(r in book.rejected for r in cluster.came)
    assert in_a_step >= 0


def _since_its_start(replica, request, first):
    """Tokens that a running request has put out, and blocks that it has taken."""
    if isinstance(replica.decoding, AdaptiveDecoding):
        stopped = copy.deepcopy(replica.decoding._running).remove(request)
        return stopped.put_out, stopped.grown
    book, done = replica.book, replica.step - first
    return int(book.emitted[request][:done].sum()), int(book.new_blocks[request][:done].sum())


def shared_blocks(residents) -> int:
    """Blocks of the segments that running requests share, each counted once."""
    used = {segment for segments in residents._shared.values() for segment in segments}
    return sum(residents.pool.cache._blocks[segment] for segment in used)


def _pending_blocks(replica) -> int:
    """Blocks that the step in progress already holds."""
    index = replica.step - replica.timeline.base
    return int(replica.timeline.new_blocks[index]) if index < replica.timeline.new_blocks.size else 0
