"""What each number of draft tokens brings at one context: tokens per second by sequences in flight, and the best.

Steps without prompts alone: prompts take their time whatever is proposed, and thin every gain out. Requests of all
classes run side by side as the workload mixes them, and all sequences of a step propose as many.
"""

from math import isnan, nan

from simulator.cluster.accepted import survival_over_steps
from simulator.cluster.limits import Limits
from simulator.physics.draft import Affine
from simulator.physics.drafted import DraftedStepModel
from simulator.planning.speculation_gain import without_draft
from simulator.run import step_times_of
from simulator.spec.deployment import Deployment
from simulator.spec.draft_policy import FixedPolicy
from simulator.spec.speculation import DraftSpeculation
from simulator.spec.workload import FixedLengths, Prefix, Workload

TIE = 0.03
"""Share of its tokens per second that a step may lose to a schedule of few bands: kernel tables go up and down by more
from one batch to the next, and no step time is known that well. A choice."""

Band = tuple[int, int, int]
"""From so many sequences, to so many, that many draft tokens."""


def with_draft_tokens(spec: Deployment, draft_tokens: int) -> Deployment:
    """The deployment with a chain of so many draft tokens, always."""
    speculation = spec.speculation
    assert isinstance(speculation, DraftSpeculation)
    propose = speculation.propose.model_copy(update={"draft_tokens": draft_tokens})
    changed = speculation.model_copy(update={"propose": propose, "policy": FixedPolicy(kind="fixed")})
    return spec.model_copy(update={"speculation": changed})


def all_of_length(workload: Workload, context_tokens: float) -> Workload:
    """The workload with requests that hold so many tokens, so that acceptance and draft times are those of it."""
    lengths = FixedLengths(kind="fixed", prompt_tokens=max(round(context_tokens) - 2, 1), output_tokens=3)
    return workload.model_copy(update={"lengths": lengths, "prefix": Prefix()})


class DraftRates:
    """Tokens per second of a deployment that proposes 0, 1, … draft tokens, at one context."""

    def __init__(self, spec: Deployment, workload: Workload, most: int, limits: Limits, context_tokens: float) -> None:
        """most: largest number of draft tokens K. context_tokens: of each sequence. [tokens]."""
        chosen = [with_draft_tokens(spec, k) for k in range(1, most + 1)]
        self._drafting = [step_times_of(one, workload) for one in chosen]
        self._plain = step_times_of(without_draft(spec), workload)
        self._tokens = [1.0, *(1.0 + sum(survival_over_steps(one, workload)) for one in chosen)]
        rows = [1, *(one.speculation.draft_tokens + 1 for one in chosen)]
        self._places = [_places(limits, n, context_tokens) for n in rows]
        self._context = context_tokens
        self._known: dict[int, list[float]] = {}

    @property
    def places(self) -> int:
        """Most sequences that have a place, if nothing is proposed."""
        return max(self._places[0], 1)

    def at(self, sequences: int) -> list[float]:
        """Of each sequence, by draft tokens K = 0, 1, …; nan where there is no place [tokens/s].

        K = 0 pays for having drafts, which a deployment without any does not.
        """
        if sequences not in self._known:
            first = self._drafting[0]
            idle = first.model if isinstance(first, DraftedStepModel) else first
            affine = [idle.decode_affine(sequences, 0), *(times.decode_affine(sequences) for times in self._drafting)]
            self._known[sequences] = [
                tokens / self._seconds(one, sequences) if sequences <= place else nan
                for tokens, one, place in zip(self._tokens, affine, self._places, strict=True)
            ]
        return self._known[sequences]

    def good(self, sequences: int) -> set[int]:
        """Draft tokens that are as good as the best but for TIE; none where so many have no place."""
        found = self.at(sequences)
        best = max((rate for rate in found if not isnan(rate)), default=nan)
        return {k for k, rate in enumerate(found) if rate >= (1.0 - TIE) * best}

    def gain(self, sequences: int, draft_tokens: int) -> float:
        """Tokens per second with so many draft tokens ÷ those of the deployment without any draft [ratio]."""
        plain_s = self._seconds(self._plain.decode_affine(sequences), sequences)
        return self.at(sequences)[draft_tokens] * plain_s

    def bands(self) -> tuple[Band, ...]:
        """As few bands as there can be, each with draft tokens that are good throughout; of several the fewest."""
        numbers = _numbers(self.places)
        good = [self.good(n) or {0} for n in numbers]
        starts: list[tuple[int, int]] = []
        at = 0
        while at < len(numbers):
            reach = {k: next((i for i in range(at, len(good)) if k not in good[i]), len(good)) for k in good[at]}
            longest = max(reach, key=lambda k: (reach[k], -k))
            starts.append((numbers[at], longest))
            at = reach[longest]
        ends = [*(start - 1 for start, _ in starts[1:]), self.places]
        return tuple((start, end, k) for (start, k), end in zip(starts, ends, strict=True))

    def _seconds(self, affine: Affine, sequences: int) -> float:
        return affine[0] + affine[1] * sequences * self._context


def _places(limits: Limits, rows: int, context_tokens: float) -> int:
    """Sequences of a context that run at once, each with so many rows to verify."""
    held = limits.kv_blocks // max(limits.blocks(round(context_tokens) + rows), 1)
    return min(limits.max_num_seqs, limits.max_num_batched_tokens // rows, held)


def _numbers(most: int) -> list[int]:
    """Sequences that are looked at: all of few, of many those in steps of a 32nd.

    >>> _numbers(3), _numbers(70)[-3:]
    ([1, 2, 3], [66, 68, 70])
    """
    found = [1]
    while found[-1] < most:
        found.append(min(found[-1] + max(found[-1] // 32, 1), most))
    return found
