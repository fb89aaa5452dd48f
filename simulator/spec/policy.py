"""A serving engine's policy: its defaults, its memory rule and the host time that no kernel table holds."""

from typing import Literal, Self

from pydantic import model_validator

from simulator.spec.acceptance import Acceptance
from simulator.spec.base import Count, CountOrZero, Flag, Fraction, Name, NotNegative, Positive, Spec, Text
from simulator.spec.hardware import ComputeDtype
from simulator.spec.sources import Sources


class SchedulerDefaults(Spec):
    """What the engine does when the scenario says nothing."""

    max_num_seqs: Count
    max_num_batched_tokens: Count
    kv_block_tokens: Count
    chunked_prefill: Flag
    """Whether a prompt may be split over steps; otherwise a prompt waits until it fits into one step's budget."""
    prefill_first: Flag = False
    """Whether steps that compute prompts leave the decoding sequences out."""
    prefix_cache: Flag = True
    """Whether KV is kept for later prompts that begin alike."""
    admission: Literal["max_utilisation", "no_eviction"] = "max_utilisation"
    """Whether the blocks of the longest output are reserved when a request is admitted."""
    cuda_graph_max_tokens: CountOrZero
    """Steps with more rows than this run eagerly."""
    source: str


class MemoryRule(Spec):
    """How the engine divides a GPU's memory."""

    kind: Literal["fraction_of_visible", "fraction_of_free"]
    """fraction_of_visible: the fraction caps all use (vLLM, SGLang); fraction_of_free: the fraction applies to what the
    weights leave, and is given to KV (TensorRT-LLM)."""
    memory_fraction: Fraction
    activation_bytes_per_vocab_entry: NotNegative
    """Activation peak ÷ vocabulary size: the sampler's logits of the profiled sequences [bytes]."""
    activation_bytes_per_batched_token_per_hidden: NotNegative
    """Activation peak of the layers ÷ (token budget × hidden size) [bytes]."""
    fixed_gib: NotNegative
    """Reserved whatever the model [GiB]."""
    non_torch_gib: dict[Literal["one_gpu", "several_gpus"], NotNegative]
    """Memory outside the engine's allocator: CUDA context beyond the visible total, NCCL buffers [GiB]."""
    source: str


class UnfittedStep(Spec):
    """Host time of a step, where no measured profile has fitted it."""

    seconds: NotNegative
    """Scheduler, sampler launch, input preparation, per target step [s]."""
    source: str


class StepOverhead(Spec):
    """Time of a step that kernels do not explain."""

    unfitted_step: UnfittedStep
    draft_pass_s: NotNegative
    """The same per draft pass [s]."""
    speculative_step_s: NotNegative
    """What having drafts adds to every decoding step, whether they propose or not: bookkeeping, rejection sampling
    [s]."""
    tree_layer_us: NotNegative
    """What a tree adds to each layer of the target: attention over context and tree apart, merged [µs]."""
    expert_overlap: Fraction
    """Distinct experts that the tokens verified of a sequence touch ÷ those of independent tokens; 1: as many."""
    kernel_floor_us: Positive
    """Shortest time of a kernel inside a CUDA graph [µs]."""
    eager_kernel_us: Positive
    """Host time to launch a kernel outside a graph [µs]."""
    sampling_us_per_step: NotNegative
    """Fixed time of the sampler [µs]."""
    all_reduce: Text
    """Collective kernel inside graphs (a key of the link files)."""
    all_reduce_eager: Text
    """Collective kernel outside graphs."""
    source: str


class EnginePolicy(Spec):
    """One engine of the catalog."""

    name: Name
    title: Text
    scheduler: SchedulerDefaults
    memory: MemoryRule
    overhead: StepOverhead
    linear_from: Name
    """Engine whose measured linear layers are used (an engine without tables of its own borrows another's)."""
    sources: Sources


class Quantisation(Spec):
    """A weight format: bits with scales, and the dtype that its matrix products run in."""

    name: Name
    bits_per_weight: Positive
    """Bits per quantised weight, scales and zeros included."""
    compute: dict[str, ComputeDtype]
    """GPU architecture, or `default` → dtype of the tensor cores that serve it."""
    experts_only: Flag = False
    """Whether the format leaves everything but the experts in bf16 (models that are released that way)."""
    source: str
    sources: Sources


class PriceEntry(Spec):
    """One listed price."""

    gpu: Name
    usd_per_gpu_hour: Positive
    sku: Text
    as_of: Text
    """Date as the source states it."""
    source: str


class PriceList(Spec):
    """Prices of one provider on one basis."""

    name: Name
    provider: Text
    basis: Literal["on_demand", "spot", "reserved", "owned"]
    prices: tuple[PriceEntry, ...]
    sources: Sources


class AcceptancePreset(Spec):
    """Measured acceptance: a curve over K, or what one K was seen to accept and propose."""

    name: Name
    title: Text
    tokens_per_step: dict[Count, Positive] | None = None
    """Draft tokens K → mean committed tokens per step, bonus included; each K was measured on its own."""
    histogram: dict[CountOrZero, CountOrZero] | None = None
    """Steps that accepted exactly 0, 1, … draft tokens."""
    drafted: dict[CountOrZero, CountOrZero] | None = None
    """Steps that proposed exactly 0, 1, … draft tokens; without it all proposed K."""
    spread: NotNegative = 0.0
    """Standard deviation of a request's log-odds of acceptance around the mean."""
    source: str
    sources: Sources

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.tokens_per_step is None) == (self.histogram is None):
            raise ValueError("a preset holds either tokens_per_step by K or a histogram, exactly one of the two")
        if self.histogram is not None:
            self.as_acceptance()
        return self

    def as_acceptance(self) -> Acceptance:
        """What a scenario would say of a histogram."""
        return Acceptance(histogram=self.histogram, drafted=self.drafted, spread=self.spread)


class LengthTable(Spec):
    """A joint table of prompt and output lengths: quantiles of the prompt, and of the output given the prompt's bin."""

    name: Name
    title: Text
    prompt_quantiles: tuple[Positive, ...]
    """Prompt tokens at evenly spaced quantiles, from the lowest to the highest."""
    output_quantiles: tuple[tuple[Positive, ...], ...]
    """One row per equally likely prompt bin: output tokens at evenly spaced quantiles."""
    source: str
    sources: Sources
