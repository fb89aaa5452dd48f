"""The drafts of a deployment: each is given in one of six ways, from a whole model to a list of words."""

from typing import Literal, Self

from pydantic import model_validator

from simulator.spec.acceptance import Acceptance
from simulator.spec.base import Count, CountOrZero, Flag, Fraction, ModelName, Name, NotNegative, Positive, Spec

WeightDtype = Literal["fp32", "bf16", "fp8", "fp8_block", "int8", "awq_int4", "mxfp4", "nvfp4"]
KvDtype = Literal["fp32", "bf16", "fp8", "int8"]


class AbstractDraft(Spec):
    """A draft known by its costs only."""

    flops_ratio: Positive
    """Draft FLOPs per token ÷ target FLOPs per token: prices the draft's prefill."""
    latency_ratio: Positive
    """Time of one draft pass ÷ time of one plain target step at the same batch and context. Measure it: it is not the
    FLOP ratio."""
    weights_gb: NotNegative
    """Draft weights [10^9 bytes], over the whole replica."""
    kv_bytes_per_token: CountOrZero
    """Draft KV bytes per token of context, over the whole replica."""


class Window(Spec):
    """What a draft keeps of a sequence: its first tokens and its last ones (StreamingLLM, arXiv:2309.17453)."""

    sinks: CountOrZero = 4
    """First tokens of the sequence that stay [tokens]."""
    recent: Count
    """Last tokens of the sequence [tokens]."""

    @property
    def tokens(self) -> int:
        """Most tokens of a sequence that the draft holds and reads."""
        return self.sinks + self.recent


class Head(Spec):
    """Layers trained on the target's hidden states (EAGLE, MTP, DSpark and the like); its shapes are the target's."""

    method: Literal["eagle", "eagle3", "mtp", "parallel"]
    """eagle: one hidden state and an embedding go in; eagle3: three hidden states; mtp: the model's own module, with
    the target's embedding and output head; parallel: all draft tokens in one pass (DSpark, P-EAGLE, DFlash)."""
    layers: Count = 1
    """Decoder layers of a pass."""
    modules: Count = 1
    """Modules in a row, one a position (MTP-n); with fewer than draft tokens the last is used again."""
    dense: Flag = True
    """Whether its MLP is dense where the target is a mixture of experts; false: it has the target's experts."""
    intermediate_size: Count | None = None
    """Width of its MLP (default: the target's dense one, else that of the experts that a token uses)."""
    vocab_size: Count | None = None
    """Reduced draft vocabulary with an output head of its own (default: the target's vocabulary and head)."""
    shares_kv: Flag = False
    """Whether it was trained to read the target's own KV (frozen-KV MTP): it keeps none and reads no prompt."""


class Ngram(Spec):
    """Tokens copied from what stands in the prompt, the output or a table: no weights, no KV, no pass of a GPU."""

    host_us_per_sequence: NotNegative = 0.0
    """Host time of a look-up, which nothing hides [µs]."""


class MoeSubset(Spec):
    """The target itself with few of its experts."""

    resident_experts: Count
    """Experts of each layer that the draft can use."""
    active_experts: Count
    """Experts of them that a token uses."""
    shares_weights: Flag = True
    """Whether attention and experts are the target's own bytes; false: the draft holds a copy of what it uses."""
    shares_kv: Flag = False
    """Whether it reads and writes the target's KV, which the target's pass then overwrites."""
    routing_mismatch: Fraction = 0.0
    """Share of tokens that the target routes outside the subset although the acceptance given does not know it; they
    count as rejected."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.active_experts > self.resident_experts:
            raise ValueError(
                f"{self.active_experts} active experts of {self.resident_experts} resident ones: at most as many"
            )
        return self


WAYS = ("model", "abstract", "measured", "head", "ngram", "moe_subset")
"""How a draft is given, exactly one of these."""
OWN_CHECKPOINT = ("model", "head")
"""Ways with weights, KV and a split that are chosen here."""
KEEPS_KV = ("model", "head", "moe_subset")
"""Ways that read KV of a known size, which a window can cap."""
WHO_SHARES = {
    "head": "a head that was trained on the target's KV says head.shares_kv",
    "moe_subset": "a subset of the target's experts says moe_subset.shares_kv",
} | dict.fromkeys(("abstract", "measured", "ngram"), "this draft has no KV of a known layout: leave it out")
"""Way other than a model → how such a draft shares the target's KV."""


class Draft(Spec):
    """One draft, given in exactly one way."""

    model: ModelName | None = None
    """A model of the catalog, or the path of a Hugging Face config.json."""
    abstract: AbstractDraft | None = None
    """The draft's costs, when no architecture is known."""
    measured: Name | None = None
    """A draft without a model whose cost was measured with the target on this device: `lookup`. It holds no memory."""
    head: Head | None = None
    """Layers on the target's hidden states."""
    ngram: Ngram | None = None
    """Tokens copied from text."""
    moe_subset: MoeSubset | None = None
    """The target with a part of its experts; its KV has the target's dtype."""
    weights: WeightDtype = "bf16"
    kv: KvDtype = "bf16"
    tensor_parallel: Count = 1
    """GPUs over which the draft is split; below the target's, the other GPUs wait for it."""
    window: Window | None = None
    """Cap on the draft's KV of a sequence; what it costs in acceptance at long contexts is for `by_context` to say."""
    shares_target_kv: Flag = False
    """Whether a `model` reads the target's KV in place of its own: only one whose catalog file says that it was trained
    to. A head or a subset of experts says so itself, by its `shares_kv`."""
    acceptance: dict[Name, Acceptance]
    """By class of the workload; `all` stands for every class that is not named."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        ways = [way for way in WAYS if getattr(self, way) is not None]
        if len(ways) != 1:
            raise ValueError(
                f"a draft is given in exactly one way of {', '.join(WAYS)}; got {', '.join(ways) or 'none'}"
            )
        if ways[0] not in OWN_CHECKPOINT:
            unused = {"weights", "kv", "tensor_parallel"} & self.model_fields_set
            if unused:
                raise ValueError(f"a draft by `{ways[0]}` has no {', '.join(sorted(unused))}: its costs follow from it")
        if self.window is not None and ways[0] not in KEEPS_KV:
            raise ValueError(f"a draft by `{ways[0]}` has no KV of its own to cap: leave window out")
        if self.shares_target_kv and ways[0] != "model":
            raise ValueError(f"shares_target_kv is for drafts by `model`; {WHO_SHARES[ways[0]]}")
        return self

    @property
    def way(self) -> str:
        """How it is given: a name in WAYS."""
        return next(way for way in WAYS if getattr(self, way) is not None)

    @property
    def shares_kv(self) -> bool:
        """Whether it reads the target's KV and holds none."""
        by_part = any(part is not None and part.shares_kv for part in (self.head, self.moe_subset))
        return self.shares_target_kv or by_part

    def acceptance_of(self, class_name: str) -> Acceptance:
        """What is accepted of it in requests of a class of the workload."""
        return self.acceptance[class_name] if class_name in self.acceptance else self.acceptance["all"]
