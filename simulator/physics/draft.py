"""Cost of drafting by the way a draft is given: its passes between the target's steps, and its own prefill.

A step verifies as many draft tokens as a shape says; how many rows each pass computes for them follows from what is
proposed. What several drafts cost together is in `several`.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple, Protocol

from simulator.physics.footprint import flops_per_token
from simulator.physics.forward import HeadCost, LayersCost, Machine
from simulator.physics.hops import Hops
from simulator.physics.profiled import UNCALIBRATED, Calibration
from simulator.physics.trees import rows_by_pass
from simulator.spec.draft import AbstractDraft, Head, Ngram
from simulator.spec.model import Model
from simulator.spec.speculation import BestTree, Proposed

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
    """Sequences, draft tokens verified of each → seconds of all passes over them, affine in their context."""
    one_pass: Callable[[int], Affine]
    """Sequences → seconds of one of the passes, with one row of each: what a latency ratio is of."""
    prefill_s: Callable[[int], float]
    """Prompt tokens → seconds of the draft's prefill, without the positions attended to."""
    prefill_context_s: float
    """Seconds per pair of a prompt token and a position that it attends to."""
    flops_ratio: float
    """Draft FLOPs per token ÷ the target's, linear layers only."""
    calibration: Calibration = UNCALIBRATED
    """Where its curves come from; nothing is said of an abstract draft."""
    step_s: float = 0.0
    """What it adds once to every decoding step, whether it proposes or not [s]."""
    prompt_s: float = 0.0
    """What each prompt of a step adds: the router's time [s]."""
    pool: "PoolCost | None" = None
    """What the drafts do on GPUs of their own, of which a step waits for as much as `passes` says; None: on the
    target's."""


class AheadCost(NamedTuple):
    """Drafts that go on while the target verifies: what a step waits beyond its verification, affine in its context.

    Both by sequences and draft tokens of each.
    """

    hit: float
    """Chance that a sequence has drafts when a step begins [0 to 1]."""
    outcomes: int
    """Numbers of accepted tokens that are prepared for."""
    behind: Callable[[int, int], Affine]
    """Where any sequence has drafts."""
    again: Callable[[int, int], Affine]
    """Where none has."""


class PoolCost(NamedTuple):
    """Drafts on GPUs of their own."""

    own: DraftCost
    """Of a batch there, messages and waiting left out."""
    hops: Hops
    ahead: AheadCost | None = None


NO_DRAFT = DraftCost(lambda sequences, draft_tokens: (0.0, 0.0), lambda sequences: (0.0, 0.0), lambda tokens: 0.0, 0, 0)
"""Plain decoding."""


class Pass(NamedTuple):
    """One pass of a draft, per sequence."""

    cost: PassCost
    rows: int
    """Tokens that go through its layers."""
    logit_rows: int
    """Tokens whose successors are chosen."""


def rows_of(propose: Proposed, draft_tokens: int) -> tuple[int, ...]:
    """Rows per sequence of each pass, when so many draft tokens are verified: the whole shape, or a chain of fewer.

    >>> from simulator.spec.speculation import Tree
    >>> [rows_of(Tree(shape="tree", widths=(2, 2)), draft_tokens) for draft_tokens in (6, 2)]
    [(1, 2), (1, 1)]
    """
    assert not isinstance(propose, BestTree), "the best tree is chosen before its steps are priced"
    return rows_by_pass(propose) if draft_tokens == propose.draft_tokens else (1,) * draft_tokens


def modelled_draft(draft: PassCost, target: PassCost, propose: Proposed, shares_kv: bool = False) -> DraftCost:
    """A draft with a model's layers: each pass and its prefill are passes of a model of its own.

    The context that the passes add among themselves (K² / 2 positions) and the tokens that the last step committed are
    left out. Prompts pass through the layers, not through the head.

    shares_kv: whether the target's KV serves the draft too: there is nothing to prefill.
    """

    def passes(sequences: int, draft_tokens: int) -> Affine:
        return _in_turn([Pass(draft, rows, rows) for rows in rows_of(propose, draft_tokens)], sequences)

    ratio = flops_per_token(draft.model) / flops_per_token(target.model)
    return DraftCost(
        passes=passes,
        one_pass=lambda sequences: _pass_s(Pass(draft, 1, 1), sequences),
        prefill_s=_nothing if shares_kv else _prefill(draft, 1),
        prefill_context_s=0.0 if shares_kv else draft.prefill_context_s,
        flops_ratio=ratio,
        calibration=draft.calibration,
    )


def head_draft(head: Head, first: PassCost, later: PassCost, target: PassCost, propose: Proposed) -> DraftCost:
    """A head on the target's hidden states.

    Its first pass (of modules in a row: the first of each) extends its KV over what the last step committed; engines
    pad that to the most that it can be, depth + 1 tokens. Parallel heads do all in one pass: those tokens, and a mask
    for every further position. Prompts pass through every module.

    Where it shares the target's KV there is nothing to extend and no prompt to read.

    first, later: passes that read the target's hidden states, and passes on the head's own.

    vLLM `v1/spec_decode/eagle.py` (padded batches); SGLang `eagle_worker.py` (draft extend after verification).
    """

    def passes(sequences: int, draft_tokens: int) -> Affine:
        rows = rows_of(propose, draft_tokens)
        depth = len(rows)
        extended = 0 if head.shares_kv else depth
        if head.method == "parallel":
            return _in_turn([Pass(first, depth + extended, depth)] if depth else [], sequences)
        extending = [Pass(first, n + extended, n) for n in rows[: head.modules]]
        return _in_turn(extending + [Pass(later, n, n) for n in rows[head.modules :]], sequences)

    ratio = flops_per_token(first.model) / flops_per_token(target.model)
    return DraftCost(
        passes=passes,
        one_pass=lambda sequences: _pass_s(Pass(later, 1, 1), sequences),
        prefill_s=_nothing if head.shares_kv else _prefill(first, head.modules),
        prefill_context_s=0.0 if head.shares_kv else head.modules * first.prefill_context_s,
        flops_ratio=ratio,
        calibration=first.calibration,
    )


def abstract_draft(
    spec: AbstractDraft, target: PassCost, plain_step: Callable[[int, int], Affine], propose: Proposed
) -> DraftCost:
    """A draft known by its ratios: a pass is latency_ratio plain target steps, its prefill flops_ratio target prefills.

    plain_step: sequences, rows of each → seconds of the target's step without a draft, affine in its context.
    """

    def one_pass(sequences: int, rows: int = 1) -> Affine:
        constant, context_s = plain_step(sequences, rows)
        return spec.latency_ratio * constant, spec.latency_ratio * context_s

    def passes(sequences: int, draft_tokens: int) -> Affine:
        times = Counter(rows_of(propose, draft_tokens))
        each = {rows: one_pass(sequences, rows) for rows in times}
        return _sum([(times[rows] * constant, times[rows] * slope) for rows, (constant, slope) in each.items()])

    def prefill_s(tokens: int) -> float:
        layers = target.layers(tokens)
        return spec.flops_ratio * (layers.linear_s + layers.experts_s + target.prefill_attention_s(tokens))

    context_s = spec.flops_ratio * target.prefill_context_s
    return DraftCost(passes, one_pass, prefill_s, context_s, spec.flops_ratio)


def dealt_out(cost: DraftCost, copies: int) -> DraftCost:
    """A draft in several copies, each with its share of the sequences."""

    def share(affine: Affine) -> Affine:
        return affine[0], affine[1] / copies

    return replace(
        cost,
        passes=lambda sequences, draft_tokens: share(cost.passes(-(-sequences // copies), draft_tokens)),
        one_pass=lambda sequences: share(cost.one_pass(-(-sequences // copies))),
    )


def ngram_draft(spec: Ngram) -> DraftCost:
    """Tokens copied from text: host time of each sequence's look-up, whatever it finds."""

    def one_pass(sequences: int) -> Affine:
        return sequences * spec.host_us_per_sequence * 1e-6, 0.0

    def passes(sequences: int, draft_tokens: int) -> Affine:
        return one_pass(sequences) if draft_tokens else (0.0, 0.0)

    return DraftCost(passes, one_pass, lambda tokens: 0.0, 0.0, 0.0)


def _pass_s(one: Pass, sequences: int) -> Affine:
    """Seconds of one pass over so many sequences; nobody to draft for: nothing but what a position would add."""
    cost, rows, logit_rows = one
    if sequences <= 0:
        return 0.0, cost.decode_attention(0, rows)[1]
    attention_s, context_s = cost.decode_attention(sequences, rows)
    kernels_s = cost.layers(sequences * rows).total_s + cost.head_cost(sequences * logit_rows).total_s + attention_s
    return kernels_s + cost.machine.policy.overhead.draft_pass_s, context_s


def _in_turn(passes: Sequence[Pass], sequences: int) -> Affine:
    """Seconds of passes one after the other; those that are alike are priced once."""
    parts = []
    for _, alike in groupby(passes, key=lambda one: (id(one.cost), one.rows, one.logit_rows)):
        same = list(alike)
        constant, slope = _pass_s(same[0], sequences)
        parts.append((len(same) * constant, len(same) * slope))
    return _sum(parts)


def _nothing(tokens: int) -> float:
    """Seconds of a prefill that is not needed."""
    return 0.0


def _prefill(draft: PassCost, times: int) -> Callable[[int], float]:
    """Prompt tokens → seconds of so many modules' layers over them."""

    def prefill_s(tokens: int) -> float:
        if tokens <= 0:
            return 0.0
        kernels_s = draft.layers(tokens).total_s + draft.prefill_attention_s(tokens)
        return times * (kernels_s + draft.machine.policy.overhead.draft_pass_s)

    return prefill_s


def _sum(parts: Sequence[Affine]) -> Affine:
    return sum(constant for constant, _ in parts), sum(slope for _, slope in parts)
