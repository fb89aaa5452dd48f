"""What a replica is given: step times, and what bounds its batch."""

from typing import NamedTuple, Protocol

from simulator.physics.step import StepShape


class StepTimes(Protocol):
    """Seconds of steps, fast."""

    def seconds(self, shape: StepShape) -> float:
        """Seconds of a step."""

    def decode_affine(self, sequences: int) -> tuple[float, float]:
        """Seconds of a step without prompts: first + second × context tokens."""


class Listener(Protocol):
    """Who is told that requests ended."""

    def finished(self, requests: list[int], time_s: float) -> None:
        """Requests ended at a replica, now."""


class Limits(NamedTuple):
    """What bounds a replica's batch, and the engine's choices."""

    kv_blocks: int
    block_tokens: int
    block_counts: tuple[int, ...]
    """Blocks that a sequence takes, by the number of token blocks that it fills."""
    max_model_len: int
    max_num_seqs: int
    max_num_batched_tokens: int
    draft_tokens: int
    chunked_prefill: bool
    step_by_step: bool = False
    """Take every step on its own: the same records, more slowly."""
    scheduler: str = "fcfs"
    prefix_cache: bool = False
    reserve_output_tokens: int | None = None
    """Output tokens that a request may ask for, whose blocks are reserved at admission (nothing is evicted then); None:
    blocks are taken as they are needed."""
    swap_block_s: float | None = None
    """Seconds to move a KV block to or from the host; None: a preempted request is computed again."""
    prefill_first: bool = False
    """Whether steps that compute prompts leave the decoding sequences out (SGLang)."""
    overlap_steps: int = 0
    """Steps by which a token reaches the client after the step that computed it: 0, or 1 where the host prepares the
    next step meanwhile."""
    batch_wait_steps: int = 0
    """Steps that prompts wait for company while others decode."""
    batch_wait_tokens: float = 0.0
    """Tokens of a step from which prompts no longer wait."""

    @property
    def longest_prompt(self) -> int:
        """Longest prompt that is not rejected: it and one output token must fit [tokens]."""
        longest = min(self.max_model_len, self.kv_blocks * self.block_tokens) - 1
        return longest if self.chunked_prefill else min(longest, self.max_num_batched_tokens)

    def blocks(self, tokens: int) -> int:
        """KV blocks of a sequence of so many tokens."""
        return self.block_counts[min(-(-tokens // self.block_tokens), len(self.block_counts) - 1)]
