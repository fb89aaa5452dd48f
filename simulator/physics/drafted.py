"""Steps whose sequences propose fewer draft tokens than K, or none: look-ups, and drafts that stop when unsure.

A step then verifies the sum of drafted + 1 rows over its sequences, which is random: it is priced at its expectation.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from simulator.errors import ScenarioError
from simulator.physics.draft import Affine
from simulator.physics.step import CAUSES, StepCost, StepShape
from simulator.physics.step_model import Bound, CatalogStepModel, Memo
from simulator.spec.acceptance import Acceptance

EXACT_SEQUENCES = 32
"""Up to so many sequences the distribution of a step's rows is exact; beyond, its mean stands for it."""

FAR = 1e6
"""Context at which a step is priced a second time: what it takes is affine in its context. [tokens]"""


def drafted_shares(acceptance: Acceptance, draft_tokens: int) -> tuple[float, ...]:
    """Share of steps that propose exactly 0, 1, … K draft tokens; all propose K where nothing else is said [0 to 1].

    acceptance: of a class; what it drafts beyond K is cut there, and K beyond what was measured is a ScenarioError.
    draft_tokens: K of the deployment. [tokens]

    >>> drafted_shares(Acceptance(survival=(0.5, 0.2, 0.1), drafted={0: 5, 2: 3, 3: 2}), draft_tokens=2)
    (0.5, 0.0, 0.5)
    """
    drafted = acceptance.drafted or {draft_tokens: 1}
    if draft_tokens > max(drafted):
        raise ScenarioError(
            f"drafted goes up to {max(drafted)} tokens, draft_tokens is {draft_tokens}: propose at most "
            f"{max(drafted)}, or measure what the draft proposes at {draft_tokens}"
        )
    counts = [0] * (draft_tokens + 1)
    for tokens, steps in drafted.items():
        counts[min(tokens, draft_tokens)] += steps
    return tuple(count / sum(counts) for count in counts)


def rows_distribution(shares: Sequence[float], sequences: int) -> dict[int, float]:
    """Rows that so many sequences verify in a step → probability; each has its root and what it drafted.

    shares: by sequence, chance to draft exactly 0, 1, … tokens, independent of the others. [0 to 1]
    sequences: beyond EXACT_SEQUENCES the two whole numbers around the mean, so that the mean stays.

    >>> rows_distribution((0.5, 0.5), 2)
    {2: 0.25, 3: 0.5, 4: 0.25}
    """
    if sequences > EXACT_SEQUENCES:
        mean = sequences * (1.0 + mean_drafted(shares))
        low = int(mean)
        return {low: low + 1 - mean, low + 1: mean - low} if mean > low else {low: 1.0}
    total = np.ones(1)
    for _ in range(sequences):
        total = np.convolve(total, shares)
    return {sequences + extra: float(chance) for extra, chance in enumerate(total) if chance > 0.0}


def mean_drafted(shares: Sequence[float]) -> float:
    """Draft tokens that a step proposes, mean [tokens]."""
    return float(sum(tokens * share for tokens, share in enumerate(shares)))


class DraftedStepModel:
    """A step model for drafts that do not always propose K tokens.

    Its shapes hold the rows that a scheduler sets aside, K + 1 for each sequence; it prices those that are expected.
    The draft itself is taken to work through its K passes, whatever it proposes.
    """

    def __init__(self, model: CatalogStepModel, shares: tuple[float, ...]) -> None:
        """shares: of steps that propose exactly 0, 1, … K draft tokens. [0 to 1]."""
        self.model, self.shares = model, shares
        self.target, self.draft, self.draft_tokens = model.target, model.draft, model.draft_tokens
        self.calibration = model.calibration
        self._rows: Memo[int, dict[int, float]] = Memo(lambda sequences: rows_distribution(shares, sequences))
        self._constant: Memo[tuple[int, int, int], float] = Memo(lambda key: self.cost(self._shape(*key)).total_s)
        self._slope: Memo[int, float] = Memo(self._slope_of)
        self._prefill_slope: Memo[int, float] = Memo(self._prefill_slope_of)

    def seconds(self, shape: StepShape) -> float:
        """`cost(shape).total_s` up to rounding, in a few look-ups."""
        sequences, _, context, prompts, prefill_tokens, prefill_context, _ = shape
        prefilling_s = self._prefill_slope[prompts] * prefill_context if prompts else 0.0
        return self._constant[sequences, prompts, prefill_tokens] + self._slope[sequences] * context + prefilling_s

    def cost(self, shape: StepShape) -> StepCost:
        """Expected seconds of a step by cause.

        Rows are those of all sequences together; attention and the host's work are counted sequence by sequence.
        """
        if not shape.sequences:
            return self.model.cost(shape)
        rows, each = self._rows[shape.sequences], [(d, s) for d, s in enumerate(self.shares) if s > 0]
        whole = self.model.cost(shape)
        by_rows = _mean([(self.model.cost(shape._replace(verify_tokens=n)), chance) for n, chance in rows.items()])
        by_sequence = _mean([(self.model.cost(shape._replace(draft_tokens=d)), share) for d, share in each])
        return replace(
            by_rows,
            attention_s=by_sequence.attention_s,
            overhead_s=by_rows.overhead_s + by_sequence.overhead_s - whole.overhead_s,
        )

    def decode_affine(self, sequences: int) -> Affine:
        """Expected seconds of a decode-only step as (a, b): a + b × context_tokens."""
        return self._constant[sequences, 0, 0], self._slope[sequences]

    def draft_ratios(self, sequences: int, context_tokens: float) -> tuple[float, float]:
        """See CatalogStepModel."""
        return self.model.draft_ratios(sequences, context_tokens)

    def outside(self, shape: StepShape) -> tuple[str, ...]:
        """See CatalogStepModel; at the mean rows."""
        return self.model.outside(self._typical(shape))

    def bound_by(self, cost: StepCost, shape: StepShape) -> Bound:
        """See CatalogStepModel; at the mean rows."""
        return self.model.bound_by(cost, self._typical(shape))

    def _typical(self, shape: StepShape) -> StepShape:
        rows = round(shape.sequences * (1.0 + mean_drafted(self.shares)))
        return shape._replace(verify_tokens=rows, draft_tokens=min(round(mean_drafted(self.shares)), self.draft_tokens))

    def _shape(self, sequences: int, prompts: int = 0, prefill_tokens: int = 0) -> StepShape:
        k = self.draft_tokens
        return StepShape(sequences, sequences * (k + 1), 0.0, prompts, prefill_tokens, 0.0, k)

    def _slope_of(self, sequences: int) -> float:
        """Seconds per position of the sequences' context."""
        near = self._shape(sequences)
        return (self.cost(near._replace(context_tokens=FAR)).total_s - self.cost(near).total_s) / FAR

    def _prefill_slope_of(self, prompts: int) -> float:
        """Seconds per position that prompt tokens attend to; data-parallel ranks share more prompts more evenly."""
        near = self._shape(0, prompts, prompts)
        return (self.cost(near._replace(prefill_context_tokens=FAR)).total_s - self.cost(near).total_s) / FAR


def _mean(costs: Sequence[tuple[StepCost, float]]) -> StepCost:
    return StepCost(**{name: sum(share * getattr(cost, name) for cost, share in costs) for name in CAUSES})


DeploymentSteps = CatalogStepModel | DraftedStepModel
"""The step model of a deployment under the requests that it serves."""
