"""How a benchmark was run, and what its client measured."""

from dataclasses import dataclass
from typing import NamedTuple


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
    graphs: tuple[int, ...] = ()
    """Sequences of the CUDA graphs that decoding batches are padded to; empty: they are not padded."""
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
