"""From one step that has been taken to its row in the trace."""

from collections.abc import Callable, Sequence

from engine.batch import Batch
from engine.drafters import Draft
from engine.scheduler import Plan
from engine.sequence import Emission
from engine.trace import StepCost, StepRow, StepShape
from engine.verification import Verdict


class Marks:
    """When the parts of a step ended, by one clock."""

    __slots__ = ("clock", "drafted_s", "kv_blocks", "laid_out_s", "planned_s", "sampled_s", "started_s", "verified_s")

    def __init__(self, clock: Callable[[], float], now_s: float | None = None) -> None:
        self.clock = clock
        self.started_s = clock() if now_s is None else now_s
        self.planned_s = self.drafted_s = self.laid_out_s = self.verified_s = self.sampled_s = self.started_s
        self.kv_blocks = 0
        """Blocks held during the step."""


def step_row(
    plan: Plan,
    drafts: Sequence[Draft],
    verdicts: Sequence[Verdict],
    emissions: Sequence[Emission],
    batch: Batch | None,
    marks: Marks,
) -> StepRow:
    """The row of a step whose tokens have just been committed; its end is now."""
    shape = _shape(plan, drafts, emissions)
    return StepRow(
        start_s=marks.started_s,
        shape=shape,
        cost=_cost(batch, marks),
        schedule_s=marks.planned_s - marks.started_s,
        committed_tokens=sum(verdict.accepted + 1 for verdict in verdicts),
        emitted_tokens=sum(len(emission.tokens) for emission in emissions),
        kv_blocks=marks.kv_blocks,
        waiting=plan.waiting,
        blocked_by=plan.blocked_by,
        preempted=len(plan.preempted),
    )


def _shape(plan: Plan, drafts: Sequence[Draft], emissions: Sequence[Emission]) -> StepShape:
    """What was computed. The first emissions are those of the decoding sequences, in order."""
    before = [len(e.sequence.tokens) - len(e.tokens) for e in emissions[: len(plan.decoding)]]
    chunks = plan.chunks
    return StepShape(
        sequences=len(plan.decoding),
        verify_tokens=sum(len(draft.tokens) + 1 for draft in drafts),
        context_tokens=sum(before),
        prefill_sequences=len(chunks),
        prefill_tokens=sum(chunk.num_tokens for chunk in chunks),
        prefill_context_tokens=sum(c.num_tokens * (c.start + (c.num_tokens + 1) * 0.5) for c in chunks),
        draft_tokens=max((len(draft.tokens) for draft in drafts), default=0),
    )


def _cost(batch: Batch | None, marks: Marks) -> StepCost:
    """Seconds by cause; what no part explains is overhead."""
    attention_s, prefill_attention_s = (0.0, 0.0) if batch is None else batch.attention_s
    draft_s = marks.drafted_s - marks.planned_s
    verify_s = marks.verified_s - marks.laid_out_s
    sampling_s = marks.sampled_s - marks.verified_s
    return StepCost(
        linear_s=verify_s - attention_s - prefill_attention_s,
        attention_s=attention_s,
        prefill_attention_s=prefill_attention_s,
        sampling_s=sampling_s,
        overhead_s=marks.clock() - marks.started_s - draft_s - verify_s - sampling_s,
        draft_s=draft_s,
    )
