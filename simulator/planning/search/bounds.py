"""What a candidate can do at the very best: from the cost of a step and the room for sequences alone, nothing queues.

Each figure is optimistic, so a candidate that fails by it fails, whatever the load does:

- a latency is that of a request which is alone in its replica;
- a replica never idles, its batch is always the best that there is room for, and decoding and prompts cost nothing
  beside each other: the dearer of the two alone is the time of a request.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.outcome.slo import limits
from simulator.physics.step import StepShape
from simulator.planning.demand import Demand
from simulator.spec.workload import Slo

Floats = NDArray[np.float64]

SAMPLING = 0.95
"""Factor on every bound: the demand is a sample of a thousand requests, and a run draws others."""

CROWDED = 1.25
"""KV blocks that a sequence holds on average ÷ those that are counted here, for batches of shorter ones."""

PROMPTS = (1, 8, 64)
"""Prompts of a step that are tried: data-parallel ranks share out whole ones."""

CONTEXT_TOKENS = 1024.0
"""Context over which a step's seconds per position are taken; they do not depend on it."""


@dataclass(frozen=True, slots=True)
class Bound:
    """The best that a candidate can do."""

    ratios: dict[str, float]
    """Latency of a lone request ÷ its limit, by `ttft_s.p95`: above 1, no cluster of it holds."""
    replica_req_per_s: float
    """No replica serves more."""

    @property
    def misses(self) -> str | None:
        """The limit that it misses most, alone; None where it misses none."""
        name = max(self.ratios, key=lambda of: self.ratios[of], default=None)
        return name if name is not None and self.ratios[name] > 1.0 else None


def bound_of(demand: Demand, slo: Slo | None) -> Bound:
    """The best that a replica can do with these requests."""
    ratios = {
        f"{metric}.{percentile}": SAMPLING * LONE[metric](demand, int(percentile[1:]) / 100.0) / limit
        for metric, of in limits(slo).items()
        for percentile, limit in of.items()
    }
    return Bound(ratios, _replica_req_per_s(demand) / SAMPLING)


def _ttft_s(demand: Demand, share: float) -> float:
    """Prompt steps of nobody else; they last the longer the prompt is, so the percentile of prompts is theirs."""
    seconds, _ = demand.prompt_step_s(0, float(np.quantile(demand.new_tokens, share)))
    return seconds + demand.request_host_s


def _tpot_s(demand: Demand, share: float) -> float:
    later = demand.output_tokens - 1.0
    decoded = later > 0
    if not decoded.any():
        return 0.0
    return float(np.quantile(_decode_s(demand)[decoded] / later[decoded], share))


def _itl_s(demand: Demand, share: float) -> float:
    """A step at the shortest context; a gap is never shorter."""
    return float(_step_alone_s(demand, np.zeros(1))[0]) if demand.mean_steps > 0 else 0.0


def _e2e_s(demand: Demand, share: float) -> float:
    """Decoding, and the prompt steps of the shortest prompt."""
    shortest_s, _ = demand.prompt_step_s(0, float(demand.new_tokens.min()))
    return float(np.quantile(_decode_s(demand), share)) + shortest_s + demand.request_host_s


LONE: dict[str, Callable[[Demand, float], float]] = {
    "ttft_s": _ttft_s,
    "tpot_s": _tpot_s,
    "itl_s": _itl_s,
    "e2e_s": _e2e_s,
}
"""Latency → what a percentile of it (0 to 1) is at least [s]."""


def _decode_s(demand: Demand) -> Floats:
    """First to last token of each sampled request alone, each step at the request's mean context."""
    middle = demand.prompt_tokens + 1.0 + (demand.output_tokens - 1.0) / 2.0
    return np.asarray(demand.steps * _step_alone_s(demand, middle))


def _step_alone_s(demand: Demand, context_tokens: Floats) -> Floats:
    """Seconds of a step of one sequence, less where a larger batch would be faster (drafts that are made ahead)."""
    k = demand.limits.draft_tokens
    near, far = (demand.seconds(StepShape(1, k + 1, context, 0, 0, 0.0, k)) for context in (0.0, CONTEXT_TOKENS))
    alone_s = demand.one_step_s(1)
    faster = float(demand.decode_s[1:].min()) / alone_s if alone_s > 0 else 1.0
    return np.asarray((near + (far - near) / CONTEXT_TOKENS * context_tokens) * min(faster, 1.0))


def _replica_req_per_s(demand: Demand) -> float:
    """Requests per second of a batch that is never short of work, without regard to latency."""
    busy_s = max(_decoding_s(demand), _prompt_s(demand))
    return 1.0 / busy_s if busy_s > 0 else np.inf


def _decoding_s(demand: Demand) -> float:
    """Seconds of decoding per request at the best batch; between two batches of the grid it is one of them."""
    places = _places(demand)
    batches: list[float] = [n for n in demand.sequences.tolist() if 0 < n < places] + [float(places)]
    return demand.mean_steps * min(demand.one_step_s(n) / n for n in batches)


def _places(demand: Demand) -> int:
    """Sequences that there may be room for: by the engine's limits, and by KV unless sequences share some of it."""
    own = demand.limits
    places = min(own.max_num_seqs, own.max_num_batched_tokens // (own.draft_tokens + 1))
    if not own.prefix_cache:
        places = min(places, int(CROWDED * own.kv_blocks / max(demand.blocks, 1e-9)))
    return max(places, 1)


def _prompt_s(demand: Demand) -> float:
    """Seconds of prompts per request: as many of its tokens as a request brings, each at the cost in the best step."""
    return float(demand.new_tokens.mean()) * min(_prompt_token_s(demand))


def _prompt_token_s(demand: Demand) -> Iterator[float]:
    """Seconds of a prompt token in steps of nothing but prompts, of many sizes up to the token budget."""
    tokens = demand.limits.max_num_batched_tokens
    while tokens >= 1:
        for prompts in (count for count in PROMPTS if count <= tokens):
            shape = StepShape(0, 0, 0.0, prompts, tokens, 0.0, demand.limits.draft_tokens)
            yield demand.seconds(shape) / tokens
        tokens //= 2
