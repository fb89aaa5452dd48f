"""Time of routed experts: the distinct experts that the tokens touch set the bytes, the tokens set the FLOPs."""

from collections.abc import Sequence
from dataclasses import dataclass

from simulator.physics.formats import WeightFormat
from simulator.spec.model import Model

PERMUTE_PASSES = 4
"""Times that each routed token's hidden vector crosses HBM: gather read and write, expert output write, reduce read.

Assumption, checked on aiconfigurator MoE tables (Qwen3-235B, 2.4 M-weight experts): 3.7 to 4.5 passes.
"""


def distinct_experts(num_experts: int, top_k: int, tokens: float) -> float:
    r"""Experts of a layer that a batch touches, with uniform and independent routing.

    .. math:: U(n) = N (1 - (1 - k / N)^n)

    num_experts: routed experts N of the layer. [experts]
    top_k: experts k per token. [experts]
    tokens: tokens n of the step. [tokens]

    >>> round(distinct_experts(256, 8, 4) / distinct_experts(256, 8, 1), 1)
    3.8

    MoESD, arXiv:2505.19645. Routing in practice repeats experts: an upper bound, see `overlapping_experts`.
    """
    return float(num_experts * (1.0 - (1.0 - top_k / num_experts) ** tokens))


def overlapping_experts(
    num_experts: int, top_k: int, sequences: float, tokens_per_sequence: float, overlap: float
) -> float:
    r"""Experts of a layer that a batch touches when neighbouring tokens of a sequence share some of theirs.

    .. math:: u = \max(k, \rho\, U(t)), \quad U_{eff} = N (1 - (1 - u / N)^B)

    num_experts, top_k: N and k of `distinct_experts`. [experts]
    sequences: B, whose routing is independent of each other's. [sequences]
    tokens_per_sequence: t, draft tokens + 1. [tokens]
    overlap: ρ, experts that the tokens of a sequence touch ÷ those of independent ones; 1: `distinct_experts` of all
    tokens. Measured: 0.69 to 1. [ratio]

    >>> round(overlapping_experts(256, 8, 1, 4, overlap=0.7) / distinct_experts(256, 8, 4), 2)
    0.7
    >>> round(overlapping_experts(256, 8, 16, 4, overlap=0.7) / distinct_experts(256, 8, 64), 2)
    0.87

    ρ: Cohere, "Why MoE models get more from speculative decoding", 21 April 2026 (up to 31 % fewer experts). That only
    tokens of one sequence share them is this project's assumption.
    """
    own = max(float(top_k), overlap * distinct_experts(num_experts, top_k, tokens_per_sequence))
    return float(num_experts * (1.0 - (1.0 - own / num_experts) ** sequences))


def touched_share(
    num_experts: int, top_k: int, sequences: int, verify_tokens: int, prefill_tokens: int, overlap: float
) -> float:
    r"""Distinct experts that a step touches ÷ those that as many independent tokens would touch [0 to 1].

    .. math:: (1 - (1 - k/N)^p (1 - U_{eff}/N)) / (1 - (1 - k/N)^{n + p})

    num_experts, top_k, overlap: N, k and ρ of `overlapping_experts`.
    sequences: that are verified. [sequences]
    verify_tokens: n of all sequences; one of each is independent of the others' in any case. [tokens]
    prefill_tokens: p, taken to be independent. [tokens]

    >>> touched_share(256, 8, 1, 4, 0, overlap=0.7)
    0.7
    >>> round(touched_share(256, 8, 1, 4, 1000, overlap=0.7), 6)
    1.0

    The definition; U_eff of `overlapping_experts`.
    """
    if overlap >= 1.0 or verify_tokens <= sequences or not sequences:
        return 1.0
    missed = 1.0 - top_k / num_experts
    verified = overlapping_experts(num_experts, top_k, sequences, verify_tokens / sequences, overlap) / num_experts
    return float((1.0 - missed**prefill_tokens * (1.0 - verified)) / (1.0 - missed ** (verify_tokens + prefill_tokens)))


@dataclass(frozen=True, slots=True)
class ExpertLayers:
    """Routed experts of the MoE layers that share one weight format, as one GPU holds and multiplies them."""

    layers: int
    num_experts: int
    """Of a whole layer."""
    top_k: int
    expert_parallel: int
    """Groups over which whole experts are spread."""
    matrices: tuple[float, ...]
    """Elements of each matrix product of one expert on one GPU (gate and up are one product)."""
    hidden_size: int
    weights: WeightFormat

    def seconds(self, tokens: int) -> float:
        """Seconds of all layers at `tokens` tokens of the whole replica.

        The touched experts of a GPU are one grouped product: it reads their bytes together, at the rate of a matrix of
        that size, and each expert has tokens × k ÷ touched rows. Experts are taken to be used evenly over the groups.
        """
        if tokens <= 0:
            return 0.0
        touched = distinct_experts(self.num_experts, self.top_k, tokens)
        rows = tokens * self.top_k / touched
        local = touched / self.expert_parallel
        products = sum(self.weights.gemm_s(matrix * local, rows) for matrix in self.matrices)
        moved_bytes = tokens * self.top_k / self.expert_parallel * self.hidden_size * 2.0 * PERMUTE_PASSES
        return self.layers * (products + moved_bytes / self.weights.curve.bandwidth_bytes_per_s)

    def reading_s(self, tokens: int) -> float:
        """Seconds of the same if it had no more to do than read the touched experts."""
        if tokens <= 0:
            return 0.0
        local = distinct_experts(self.num_experts, self.top_k, tokens) / self.expert_parallel
        return self.layers * sum(self.weights.reading_s(matrix * local) for matrix in self.matrices)


def expert_layers(
    model: Model, num_gpus: int, expert_parallel: int, formats: Sequence[tuple[int, WeightFormat]]
) -> tuple[ExpertLayers, ...]:
    """The routed experts of a model over a replica of num_gpus GPUs, by (layers, format); none for a dense model."""
    if model.moe is None:
        return ()
    down = model.hidden_size * model.moe.expert_intermediate / (num_gpus / expert_parallel)
    return tuple(
        ExpertLayers(
            layers=layers,
            num_experts=model.moe.num_experts,
            top_k=model.moe.top_k,
            expert_parallel=expert_parallel,
            matrices=(down * (model.mlp_matrices - 1), down),
            hidden_size=model.hidden_size,
            weights=weights,
        )
        for layers, weights in formats
        if layers
    )
