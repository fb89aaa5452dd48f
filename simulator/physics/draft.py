"""Cost of drafting: the passes of a chain draft between the target's steps, and the draft's own prefill."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from simulator.physics.footprint import flops_per_token
from simulator.physics.forward import HeadCost, LayersCost, Machine
from simulator.physics.profiled import UNCALIBRATED, Calibration
from simulator.spec.draft import AbstractDraft
from simulator.spec.model import Model

Affine = tuple[float, float]
"""A constant [s], and seconds per position of context."""


class PassCost(Protocol):
    """What is asked of a model's passes, from curves of their parts or measured whole."""

    @property
    def model(self) -> Model:
        """The architecture."""

    @property
    def machine(self) -> Machine:
        """Where it runs."""

    @property
    def calibration(self) -> Calibration:
        """Where its curves come from."""

    @property
    def prefill_context_s(self) -> float:
        """Seconds per pair of a prompt token and a position that it attends to."""

    def layers(self, rows: int) -> LayersCost:
        """Seconds of all layers."""

    def head_cost(self, logit_rows: int) -> HeadCost:
        """Seconds of the head."""

    def decode_attention(self, sequences: int, queries: int) -> Affine:
        """Seconds of decode attention: a constant, and per position of context."""

    def prefill_attention_s(self, tokens: int) -> float:
        """Seconds of prompt attention that do not depend on the positions attended to."""


@dataclass(frozen=True, slots=True)
class DraftCost:
    """What a draft adds to a step."""

    passes: Callable[[int, int], Affine]
    """Sequences, draft tokens K → seconds of all K passes over them, affine in their context."""
    prefill_s: Callable[[int], float]
    """Prompt tokens → seconds of the draft's prefill, without the positions attended to."""
    prefill_context_s: float
    """Seconds per pair of a prompt token and a position that it attends to."""
    flops_ratio: float
    """Draft FLOPs per token ÷ the target's, linear layers only."""
    calibration: Calibration = UNCALIBRATED
    """Where its curves come from; nothing is said of an abstract draft."""


NO_DRAFT = DraftCost(lambda sequences, draft_tokens: (0.0, 0.0), lambda tokens: 0.0, 0.0, 0.0)
"""Plain decoding."""


def modelled_draft(draft: PassCost, target: PassCost) -> DraftCost:
    """A draft from the catalog: each pass and its prefill are passes of a model of its own.

    A pass takes one token per sequence; the context that the K passes add among themselves (K² / 2 positions) and the
    tokens that the last step committed are left out. Prompts pass through the layers, not through the head.
    """
    host_s = draft.machine.policy.overhead.draft_pass_s

    def one_pass(sequences: int) -> Affine:
        if sequences <= 0:
            return 0.0, draft.decode_attention(0, 1)[1]
        attention_s, context_s = draft.decode_attention(sequences, 1)
        constant = draft.layers(sequences).total_s + draft.head_cost(sequences).total_s + attention_s + host_s
        return constant, context_s

    def prefill_s(tokens: int) -> float:
        return draft.layers(tokens).total_s + draft.prefill_attention_s(tokens) + host_s if tokens > 0 else 0.0

    ratio = flops_per_token(draft.model) / flops_per_token(target.model)
    return DraftCost(_repeated(one_pass), prefill_s, draft.prefill_context_s, ratio, draft.calibration)


def abstract_draft(spec: AbstractDraft, target: PassCost, plain_step: Callable[[int], Affine]) -> DraftCost:
    """A draft known by its ratios: a pass is latency_ratio plain target steps, its prefill flops_ratio target prefills.

    plain_step: sequences → seconds of the target's plain decode step, affine in their context.
    """
    ratio = spec.latency_ratio

    def one_pass(sequences: int) -> Affine:
        constant, context_s = plain_step(sequences)
        return ratio * constant, ratio * context_s

    def prefill_s(tokens: int) -> float:
        layers = target.layers(tokens)
        return spec.flops_ratio * (layers.linear_s + layers.experts_s + target.prefill_attention_s(tokens))

    return DraftCost(_repeated(one_pass), prefill_s, spec.flops_ratio * target.prefill_context_s, spec.flops_ratio)


def _repeated(one_pass: Callable[[int], Affine]) -> Callable[[int, int], Affine]:
    """All passes of a step, of which each takes as long as the first."""

    def passes(sequences: int, draft_tokens: int) -> Affine:
        constant, slope = one_pass(sequences)
        return draft_tokens * constant, draft_tokens * slope

    return passes
