"""How a deployment speculates: the draft, what is accepted of it, and how much it proposes."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from simulator.spec.base import Count, CountOrZero, Fraction, Name, NotNegative, Positive, Spec

WeightDtype = Literal["fp32", "bf16", "fp8", "fp8_block", "int8", "awq_int4", "mxfp4", "nvfp4"]
KvDtype = Literal["fp32", "bf16", "fp8"]


class Acceptance(Spec):
    """What the target keeps of a draft's tokens, for one class of requests; given in exactly one way."""

    survival: tuple[Fraction, ...] | None = None
    """Chance that draft position 1, 2, … is accepted at all (vLLM's per-position acceptance rate). Never rises."""
    tokens_per_step: Annotated[float, Field(strict=True, ge=1, le=1000)] | None = None
    """Mean committed tokens per step, bonus token included (vLLM's acceptance length); needs `at`."""
    at: Count | None = None
    """Draft tokens K at which tokens_per_step was measured."""
    histogram: dict[CountOrZero, CountOrZero] | None = None
    """Steps that accepted exactly 0, 1, … draft tokens."""
    preset: Name | None = None
    """Name of a measured acceptance curve in the catalog."""
    drafted: dict[CountOrZero, CountOrZero] | None = None
    """Steps that proposed exactly 0, 1, … draft tokens, where a draft does not always propose all K (a look-up)."""
    averaged_over: Literal["steps", "requests"] = "steps"
    """Whether tokens_per_step is a mean over steps (engine counters) or over requests."""
    spread: Annotated[float, Field(strict=True, ge=0, le=3)] = 0.0
    """Standard deviation of a request's own log-odds of acceptance around its class; 0: all requests alike."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        ways = [n for n in ("survival", "tokens_per_step", "histogram", "preset") if getattr(self, n) is not None]
        if len(ways) != 1:
            raise ValueError(
                "acceptance is never assumed: give exactly one of survival, tokens_per_step (with at), histogram, "
                f"preset; got {', '.join(ways) or 'none'}"
            )
        if (self.at is None) != (self.tokens_per_step is None):
            raise ValueError("tokens_per_step and at belong together")
        if self.averaged_over == "requests" and self.tokens_per_step is None:
            raise ValueError("averaged_over: requests goes with tokens_per_step only")
        return self._check_values()

    def _check_values(self) -> Self:
        if self.survival is not None:
            if not self.survival:
                raise ValueError("survival needs at least one position")
            for before, after in zip(self.survival, self.survival[1:], strict=False):
                if after > before:
                    raise ValueError(f"survival never rises from one position to the next, but {before:g} → {after:g}")
        if self.tokens_per_step is not None and self.at is not None and self.tokens_per_step > self.at + 1:
            raise ValueError(f"{self.at} draft tokens commit at most {self.at + 1} tokens a step")
        if self.histogram is not None and sum(self.histogram.values()) == 0:
            raise ValueError("the histogram holds no step")
        return self._check_drafted()

    def _check_drafted(self) -> Self:
        """What is accepted was drafted; shares are compared to the third decimal, as they are printed."""
        if self.drafted is None:
            return self
        if self.preset is not None:
            raise ValueError(
                "a preset says itself what it drafts: drafted goes with survival, histogram, tokens_per_step"
            )
        if sum(self.drafted.values()) == 0:
            raise ValueError("drafted holds no step")
        if self.tokens_per_step is not None and self.at is not None:
            most = 1.0 + sum(self.reach(i) for i in range(1, self.at + 1))
            if self.tokens_per_step > most + 1e-3:
                raise ValueError(f"{self.tokens_per_step:g} tokens per step, but drafts as in drafted allow {most:.4g}")
        for position, share in enumerate(self._accepted_shares(), start=1):
            if share > self.reach(position) + 1e-3:
                raise ValueError(
                    f"position {position} is accepted in {share:.4g} of the steps, but drafted in "
                    f"{self.reach(position):.4g} of them"
                )
        return self

    def _accepted_shares(self) -> tuple[float, ...]:
        """Survival, where it is given by position."""
        if self.histogram is None:
            return self.survival or ()
        steps, most = sum(self.histogram.values()), max(self.histogram)
        return tuple(sum(n for j, n in self.histogram.items() if j >= i) / steps for i in range(1, most + 1))

    def reach(self, position: int) -> float:
        """Share of steps that propose a draft token at this position [0 to 1]."""
        if self.drafted is None:
            return 1.0
        return sum(n for tokens, n in self.drafted.items() if tokens >= position) / sum(self.drafted.values())


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


class Draft(Spec):
    """One draft model, from the catalog or abstract."""

    model: Name | None = None
    """A model of the catalog; give this, `abstract` or `measured`."""
    abstract: AbstractDraft | None = None
    """The draft's costs, when no architecture is known."""
    measured: Name | None = None
    """A draft without a model whose cost was measured with the target on this device: `lookup`. It holds no memory."""
    weights: WeightDtype = "bf16"
    kv: KvDtype = "bf16"
    tensor_parallel: Count = 1
    """GPUs over which the draft is split; below the target's, the other GPUs wait for it."""
    acceptance: dict[Name, Acceptance]
    """By class of the workload; `all` stands for every class that is not named."""

    @model_validator(mode="after")
    def _model_or_abstract(self) -> Self:
        ways = [way for way in ("model", "abstract", "measured") if getattr(self, way) is not None]
        if len(ways) != 1:
            raise ValueError("a draft is a catalog `model`, `abstract` or `measured`, exactly one of the three")
        if self.model is None:
            unused = {"weights", "kv", "tensor_parallel"} & self.model_fields_set
            if unused:
                what = "an abstract" if self.abstract is not None else "a measured"
                raise ValueError(f"{what} draft has no {', '.join(sorted(unused))}: its costs are given as they are")
        return self

    def acceptance_of(self, class_name: str) -> Acceptance:
        """What is accepted of it in requests of a class of the workload."""
        return self.acceptance[class_name] if class_name in self.acceptance else self.acceptance["all"]


class Chain(Spec):
    """A chain: each draft token follows the one before."""

    shape: Literal["chain"] = "chain"
    draft_tokens: CountOrZero
    """Draft tokens K proposed per step, the root not counted."""


class SingleDraft(Spec):
    """One draft serves all requests."""

    kind: Literal["single"] = "single"


class Colocated(Spec):
    """The draft runs on the target's GPUs, between its steps."""

    kind: Literal["colocated"] = "colocated"


class FixedPolicy(Spec):
    """K never changes."""

    kind: Literal["fixed"] = "fixed"


class NoSpeculation(Spec):
    """Plain decoding."""

    kind: Literal["none"]


class DraftSpeculation(Spec):
    """Speculation by a separate draft model."""

    kind: Literal["drafts"]
    drafts: dict[Name, Draft]
    """The draft, by a name of your own."""
    propose: Chain
    combine: SingleDraft = SingleDraft()
    placement: Colocated = Colocated()
    policy: FixedPolicy = FixedPolicy()

    @model_validator(mode="after")
    def _one_draft(self) -> Self:
        if len(self.drafts) != 1:
            raise ValueError(f"combine: single takes exactly one draft, got {len(self.drafts)}")
        return self

    @property
    def draft(self) -> Draft:
        """The only draft."""
        return next(iter(self.drafts.values()))


Speculation = Annotated[NoSpeculation | DraftSpeculation, Field(discriminator="kind")]
