"""Seconds of an engine step of one deployment, by cause: the step model of the seam.

It does not know the clock, the queue or which tokens are accepted.
"""

from collections.abc import Callable, Mapping
from math import ceil
from typing import Generic, Literal, TypeVar

from simulator.catalog.load import load_engine, load_gpu, load_links, load_model, load_profile
from simulator.physics.draft import NO_DRAFT, Affine, DraftCost
from simulator.physics.drafting import Served, drafting_cost, forward_of, quantisation_of
from simulator.physics.experts import touched_share
from simulator.physics.forward import Checkpoint, Forward, HeadCost, LayersCost, Machine, Split, per_rank
from simulator.physics.measured import MeasuredForward
from simulator.physics.placement import dedicated_cost
from simulator.physics.step import StepCost, StepShape
from simulator.physics.tiers import with_host_kv
from simulator.physics.windows import without_idle_windows
from simulator.spec.deployment import Deployment
from simulator.spec.profile import Profile

Bound = Literal["weight_bandwidth", "compute", "kv_bandwidth", "prefill_compute", "collectives", "draft", "host"]
K = TypeVar("K")
V = TypeVar("V")


class Memo(dict[K, V], Generic[K, V]):
    """A function of one key that remembers its values; a hit is one dictionary look-up."""

    def __init__(self, compute: Callable[[K], V]) -> None:
        """Remember nothing yet."""
        super().__init__()
        self._compute = compute

    def __missing__(self, key: K) -> V:
        """Compute a value that is asked for the first time."""
        value = self[key] = self._compute(key)
        return value


class CatalogStepModel:
    """The `StepModel` of a deployment, from measured curves or from the catalog's efficiencies."""

    def __init__(self, target: Forward | MeasuredForward, draft: DraftCost, draft_tokens: int) -> None:
        """Nothing is computed before it is asked for."""
        self.target = target
        self.draft = draft
        self.draft_tokens = draft_tokens
        """Draft tokens that the deployment verifies of a sequence."""
        self.calibration = target.calibration.with_draft(draft.calibration)
        """Profile, and which parts are extrapolated or uncalibrated."""
        self._step_s = target.step_s
        self._sampler_s = target.sampler_s
        self._prefill_slope_s = target.prefill_context_s
        self._both_prefill_slope_s = target.prefill_context_s + draft.prefill_context_s
        self._ranks = target.split.data_parallel
        overhead = target.machine.policy.overhead
        self._speculative_s = draft.step_s
        self._moe = None if draft is NO_DRAFT or overhead.expert_overlap >= 1.0 else target.model.moe
        self._layers: Memo[int, LayersCost] = Memo(target.layers)
        self._uneven: Memo[tuple[int, int], LayersCost] = Memo(self._uneven_layers)
        self._head: Memo[int, HeadCost] = Memo(target.head_cost)
        self._attention: Memo[tuple[int, int], Affine] = Memo(lambda key: target.decode_attention(key[0], key[1] + 1))
        self._drafting: Memo[tuple[int, int], Affine] = Memo(self._drafting_s)
        self._prefill: Memo[int, tuple[float, float]] = Memo(
            lambda tokens: (target.prefill_attention_s(tokens), draft.prefill_s(tokens))
        )
        self._rows_s: Memo[int, float] = Memo(lambda rows: self._layers[rows].total_s + (self._step_s if rows else 0.0))
        self._logits_s: Memo[int, float] = Memo(
            lambda rows: self._head[rows].total_s + (self._sampler_s if rows else 0.0)
        )
        self._host_s: Memo[tuple[int, int], float] = Memo(self._hosting_s)
        self._decode_s: Memo[tuple[int, int], Affine] = Memo(self._decoding_s)
        self._prompt_s: Memo[int, float] = Memo(lambda tokens: sum(self._prefill[tokens]))

    def seconds(self, shape: StepShape) -> float:
        """`cost(shape).total_s` up to rounding, in a few look-ups."""
        sequences, verify_tokens, context, prompts, prefill_tokens, prefill_context, draft_tokens = shape
        if prompts and self._ranks > 1:
            return self.cost(shape).total_s
        constant, slope = self._decode_s[sequences, draft_tokens]
        return (
            self._rows_s[verify_tokens + prefill_tokens]
            + self._logits_s[verify_tokens + prompts]
            + constant
            + slope * context
            + self._prompt_s[prefill_tokens]
            + self._both_prefill_slope_s * prefill_context
            + self.draft.prompt_s * prompts
            - self._shared_experts_s(sequences, verify_tokens, prefill_tokens)
        )

    def cost(self, shape: StepShape) -> StepCost:
        """Seconds of a step by cause."""
        sequences, verify_tokens, context, prompts, prefill_tokens, prefill_context, draft_tokens = shape
        crowding = self._crowding(prompts)
        dealt_tokens = ceil(prefill_tokens * crowding)
        rows = verify_tokens + prefill_tokens
        even = dealt_tokens == prefill_tokens
        layers = self._layers[rows] if even else self._uneven[rows, verify_tokens + dealt_tokens]
        prefill_context *= crowding
        head = self._head[verify_tokens + prompts]
        attention_s, context_s = self._attention[sequences, draft_tokens]
        draft_s, draft_context_s = self._drafting[sequences, draft_tokens]
        prefill_s, draft_prefill_s = self._prefill[dealt_tokens]
        return StepCost(
            linear_s=layers.linear_s + head.linear_s,
            experts_s=layers.experts_s - self._shared_experts_s(sequences, verify_tokens, prefill_tokens),
            attention_s=attention_s + context_s * context,
            prefill_attention_s=prefill_s + self._prefill_slope_s * prefill_context,
            collectives_s=layers.collectives_s + head.collectives_s,
            sampling_s=head.sampling_s + (self._sampler_s if verify_tokens + prompts else 0.0),
            overhead_s=layers.launch_s
            + (self._step_s if verify_tokens + prefill_tokens else 0.0)
            + self._host_s[sequences, draft_tokens],
            draft_s=draft_s
            + draft_context_s * context
            + draft_prefill_s
            + self.draft.prefill_context_s * prefill_context
            + self.draft.prompt_s * prompts,
        )

    def decode_affine(self, sequences: int, draft_tokens: int | None = None, padded_to: int = 0) -> Affine:
        """Seconds of a decode-only step as (a, b): a + b × context_tokens; by default with the deployment's K.

        padded_to: sequences of the CUDA graph that runs the step; 0: as many as there are.
        """
        k = self.draft_tokens if draft_tokens is None else draft_tokens
        verify_tokens = (padded_to or sequences) * (k + 1)
        constant, slope = self._decode_s[sequences, k]
        constant -= self._shared_experts_s(padded_to or sequences, verify_tokens, 0)
        return self._rows_s[verify_tokens] + self._logits_s[verify_tokens] + constant, slope

    def draft_ratios(self, sequences: int, context_tokens: float) -> tuple[float, float]:
        """Draft ÷ target: FLOPs per token, and time of one draft pass ÷ of one plain step at this batch and context.

        Both are 0 without a draft.
        """
        constant, slope = self.draft.one_pass(sequences)
        plain_constant, plain_slope = CatalogStepModel(self.target, NO_DRAFT, 0).decode_affine(sequences)
        pass_s, plain_s = constant + slope * context_tokens, plain_constant + plain_slope * context_tokens
        return self.draft.flops_ratio, pass_s / plain_s

    def outside(self, shape: StepShape) -> tuple[str, ...]:
        """Which inputs of a step lie beyond what was measured: there its cost is extrapolated."""
        ranks = self.target.split.data_parallel
        sequences = per_rank(shape.sequences, ranks)
        rows = per_rank(shape.verify_tokens + shape.prefill_tokens, ranks)
        return self.calibration.outside(rows, sequences, shape.context_tokens / ranks, shape.draft_tokens + 1)

    def bound_by(self, cost: StepCost, shape: StepShape) -> Bound:
        """What the largest part of a step waits for.

        Linear layers and experts count as bound by bandwidth while reading their weights explains half of their time;
        beyond, by compute, which is the prompts' when they are most of the rows.
        """
        layers = self._layers[shape.verify_tokens + shape.prefill_tokens]
        prompts = shape.prefill_tokens > shape.verify_tokens
        reads = layers.linear_s + layers.experts_s <= 2.0 * layers.reading_s
        flops = self.target.bound_by_flops(shape.draft_tokens + 1)
        parts: dict[Bound, float] = dict.fromkeys(
            ("weight_bandwidth", "compute", "kv_bandwidth", "prefill_compute", "collectives", "draft", "host"), 0.0
        )
        parts["weight_bandwidth" if reads else "prefill_compute" if prompts else "compute"] += (
            cost.linear_s + cost.experts_s
        )
        parts["compute" if flops else "kv_bandwidth"] += cost.attention_s
        parts["prefill_compute"] += cost.prefill_attention_s
        parts["collectives"] += cost.collectives_s
        parts["draft"] += cost.draft_s
        parts["host"] += cost.overhead_s + cost.sampling_s
        return max(parts, key=lambda name: parts[name])

    def _crowding(self, prompts: int) -> float:
        """Prompt tokens of the fullest data-parallel rank ÷ those of an even share: a prompt is computed by one rank.

        1 prompt on 8 ranks: 8; 8 prompts: 1; 9: 16/9.
        """
        return -(-prompts // self._ranks) * self._ranks / prompts if prompts else 1.0

    def _uneven_layers(self, key: tuple[int, int]) -> LayersCost:
        assert isinstance(self.target, Forward), "whole steps are measured on one GPU, which has no ranks"
        return self.target.layers(*key)

    def _drafting_s(self, key: tuple[int, int]) -> Affine:
        sequences, draft_tokens = key
        return self.draft.passes(sequences, draft_tokens) if draft_tokens else (0.0, 0.0)

    def _hosting_s(self, key: tuple[int, int]) -> float:
        sequences, draft_tokens = key
        speculative_s = self._speculative_s if sequences else 0.0
        return self.target.hosting_s(sequences, draft_tokens + 1) + speculative_s

    def _shared_experts_s(self, sequences: int, verify_tokens: int, prefill_tokens: int) -> float:
        """Time of experts that a step saves because the tokens of a sequence share some of theirs.

        It takes as long as its distinct experts' share of a step of independent tokens, at least as one without
        verified tokens.
        """
        if self._moe is None or verify_tokens <= sequences:
            return 0.0
        overlap = self.target.machine.policy.overhead.expert_overlap
        experts, top_k = self._moe.num_experts, self._moe.top_k
        share = touched_share(experts, top_k, sequences, verify_tokens, prefill_tokens, overlap)
        independent_s = self._layers[verify_tokens + prefill_tokens].experts_s
        least_s = self._layers[sequences + prefill_tokens].experts_s
        return independent_s - max(share * independent_s, least_s)

    def _decoding_s(self, key: tuple[int, int]) -> Affine:
        (attention_s, context_s), (draft_s, draft_context_s) = self._attention[key], self._drafting[key]
        return attention_s + draft_s + self._host_s[key], context_s + draft_context_s


def build_step_model(
    deployment: Deployment, draft_shares: Mapping[str, float] | None = None, context_tokens: float | None = None
) -> CatalogStepModel:
    """The step model of one replica of a deployment, from the profile of its GPU and engine where there is one.

    draft_shares: of the sequences that each routed draft works for; None: equal, where no workload is known. [0 to 1]
    context_tokens: of a sequence, mean over its steps, at which drafts on GPUs of their own are awaited. [tokens]
    """
    profile = load_profile(deployment.gpu, deployment.engine.policy)
    return step_model_with(profile, deployment, draft_shares, context_tokens)


def step_model_with(
    profile: Profile | None,
    deployment: Deployment,
    draft_shares: Mapping[str, float] | None = None,
    context_tokens: float | None = None,
) -> CatalogStepModel:
    """The step model from these measured curves; each part that they lack, or all without any, from the catalog."""
    deployment = without_idle_windows(deployment)
    gpu = load_gpu(deployment.gpu)
    policy = load_engine(deployment.engine.policy)
    graphs = deployment.engine.cuda_graph_max_tokens
    machine = Machine(
        gpu,
        load_links(gpu.links),
        policy,
        policy.scheduler.cuda_graph_max_tokens if graphs is None else graphs,
        profile,
    )
    served = deployment.target
    checkpoint = Checkpoint(load_model(served.model), quantisation_of(served.weights), served.kv, served.unquantised)
    split = Split(served.tensor_parallel, served.data_parallel, served.expert_parallel)
    forward = with_host_kv(forward_of(checkpoint, machine, split), checkpoint.kv, deployment)
    plain = CatalogStepModel(forward, NO_DRAFT, 0)
    speculation = deployment.speculation
    if speculation.kind == "none":
        return plain
    beside = Served(
        checkpoint, machine, plain.target, lambda n, rows: plain.decode_affine(n, rows - 1), speculation.propose
    )
    if deployment.draft_pool is not None:
        cost = dedicated_cost(deployment, beside, draft_shares, context_tokens)
    else:
        cost = drafting_cost(speculation, beside, draft_shares)
    return CatalogStepModel(plain.target, cost, speculation.draft_tokens)
