"""How many draft tokens a deployment should propose, by sequences in flight and context: what an engine is told.

The rates that it goes by are in `draft_rates`; how a schedule is written for an engine is not known here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simulator.catalog.presets import stated
from simulator.cluster.accepted import expected_context
from simulator.cluster.plan import limits_of
from simulator.physics.survival import measured_positions
from simulator.planning.demand import SEQUENCES
from simulator.planning.draft_rates import Band, DraftRates, all_of_length
from simulator.planning.draft_words import placement_words
from simulator.planning.speculation_gain import MOST_DRAFT_TOKENS
from simulator.spec.combine import Union
from simulator.spec.deployment import Deployment
from simulator.spec.scenario import Scenario
from simulator.spec.speculation import DraftSpeculation

CONTEXTS_TOKENS = (1024, 4096, 16384, 65536)
"""Contexts beside the workload's own, up to the longest sequence."""
NEAR = 1.25
"""Ratio to the workload's own context below which another one would say the same."""


@dataclass(frozen=True, slots=True)
class AtContext:
    """The best draft tokens at one context."""

    context_tokens: float
    """Of every sequence."""
    best: tuple[int | None, ...]
    """Draft tokens of the band, by sequences of the table; None: so many have no place."""
    gain: tuple[float | None, ...]
    """Tokens per second with them ÷ those of the deployment without any draft."""
    bands: tuple[Band, ...]
    """From one sequence on and without a gap, up to the last that has a place."""

    @property
    def pays_up_to(self) -> int:
        """Most sequences at which it drafts; 0: it never does."""
        return max((last for _, last, draft_tokens in self.bands if draft_tokens), default=0)

    @property
    def places(self) -> int:
        """Most sequences that have a place."""
        return self.bands[-1][1]

    def as_json(self) -> dict[str, Any]:
        """For scripts and screens."""
        return {
            "context_tokens": self.context_tokens,
            "best_draft_tokens": list(self.best),
            "gain": list(self.gain),
            "bands": [list(band) for band in self.bands],
            "pays_up_to": self.pays_up_to,
            "places": self.places,
        }


@dataclass(frozen=True, slots=True)
class DraftSchedule:
    """The best draft tokens of a deployment by sequences in flight (a whole replica's) and context."""

    deployment: str
    why_not: str = ""
    """Why there is no schedule; empty: there is one."""
    sequences: tuple[int, ...] = ()
    columns: tuple[AtContext, ...] = ()
    """By context, rising."""
    own: int = 0
    """Which of them is the workload's own context."""
    most_draft_tokens: int = 0
    """Largest K that was looked at."""
    fixed: str = ""
    """Why K cannot change while it serves; empty: it can."""

    @property
    def here(self) -> AtContext:
        """At the workload's own context."""
        return self.columns[self.own]

    @property
    def draft_tokens(self) -> int:
        """Most draft tokens at the workload's own context: for them KV and token budget are reserved."""
        return max(k for _, _, k in self.here.bands)

    def policy(self) -> dict[str, Any] | None:
        """The schedule as a deployment's `speculation.policy`; None where K cannot change."""
        if self.why_not or self.fixed:
            return None
        return {"kind": "by_batch", "schedule": [list(band) for band in self.here.bands]}

    def says(self) -> str:
        """The schedule at the workload's own context, in a sentence."""
        if self.why_not:
            return self.why_not
        here = self.here
        parts = [f"K = {k} for {a:,} to {b:,}" if k else f"none for {a:,} to {b:,}" for a, b, k in here.bands]
        told = f"{', '.join(parts)} sequences of {here.context_tokens:,.0f} tokens"
        if not here.pays_up_to:
            return f"{told}: drafting pays at no batch"
        if here.pays_up_to == here.places:
            return f"{told}: drafting pays as far as there is place"
        return f"{told}: beyond {here.pays_up_to:,} sequences drafting no longer pays"

    def as_json(self) -> dict[str, Any]:
        """For scripts and screens; `num_speculative_tokens…` are vLLM's."""
        found: dict[str, Any] = {"deployment": self.deployment, "why_not": self.why_not or None, "says": self.says()}
        if self.why_not:
            return found
        here = self.here.as_json()
        return found | {
            "context_tokens": here["context_tokens"],
            "pays_up_to": here["pays_up_to"],
            "places": here["places"],
            "most_draft_tokens": self.most_draft_tokens,
            "num_speculative_tokens": self.draft_tokens,
            "num_speculative_tokens_per_batch_size": here["bands"],
            "policy": self.policy(),
            "fixed": self.fixed or None,
            "sequences": list(self.sequences),
            "contexts": [column.as_json() | {"own": column is self.here} for column in self.columns],
        }


def draft_schedule(
    scenario: Scenario, deployment: str, contexts_tokens: Sequence[int] = CONTEXTS_TOKENS
) -> DraftSchedule:
    """The schedule of a deployment; one that cannot have any says why.

    contexts_tokens: columns beside the workload's own context. [tokens]

    Raises ScenarioError when it does not fit into its GPUs.
    """
    spec, workload = scenario.deployments[deployment], scenario.workload
    why = why_no_schedule(spec)
    if why:
        return DraftSchedule(deployment, why)
    assert isinstance(spec.speculation, DraftSpeculation)
    most, limits = most_draft_tokens(spec.speculation), limits_of(deployment, spec, workload)
    own = expected_context(workload)
    others = [c for c in contexts_tokens if c <= limits.max_model_len and not 1 / NEAR <= c / own <= NEAR]
    contexts = sorted([own, *others])
    sequences = (*(n for n in SEQUENCES if 0 < n < limits.max_num_seqs), limits.max_num_seqs)
    columns = []
    for context in contexts:
        asked = workload if context == own else all_of_length(workload, context)
        columns.append(_column(DraftRates(spec, asked, most, limits, context), sequences, context))
    fixed = _why_fixed(spec.speculation)
    return DraftSchedule(deployment, "", sequences, tuple(columns), contexts.index(own), most, fixed)


def why_no_schedule(spec: Deployment) -> str:
    """Why draft tokens cannot follow the batch; empty: they can."""
    speculation = spec.speculation
    if speculation.kind == "none":
        return "it has no drafts"
    if speculation.propose.shape != "chain":
        return f"it proposes a {speculation.propose.shape}, which stays whole: only a chain can be shorter"
    if not speculation.propose.draft_tokens:
        return "it proposes nothing (draft_tokens: 0)"
    if speculation.placement.kind == "dedicated" and speculation.placement.overlap.kind == "draft_ahead":
        return "its drafts are made ahead, all of one length"
    return ""


def _why_fixed(speculation: DraftSpeculation) -> str:
    if speculation.combine.kind == "union":
        return "a union verifies a tree of its drafts' chains, all of one length"
    if speculation.placement.kind == "dedicated":
        return f"its drafts run{placement_words(speculation.placement)}, where K is fixed"
    return ""


def most_draft_tokens(speculation: DraftSpeculation) -> int:
    """Largest K that is looked at: the deployment's own, or as far as acceptance was measured, up to 8 [tokens]."""
    own, combine = speculation.propose.draft_tokens, speculation.combine
    if isinstance(combine, Union) and combine.survival is not None:
        measured = min(map(len, combine.survival.values()))
    else:
        measured = min(measured_positions(acceptance) for acceptance in speculation.acceptances)
    drafted = [stated(acceptance).drafted for acceptance in speculation.acceptances]
    return min([max(own, min(measured, MOST_DRAFT_TOKENS)), *(max(counts) for counts in drafted if counts)])


def _column(rates: DraftRates, sequences: Sequence[int], context_tokens: float) -> AtContext:
    bands = rates.bands()
    best = tuple(next((k for _, last, k in bands if n <= last), None) for n in sequences)
    gain = tuple(None if k is None else rates.gain(n, k) for n, k in zip(sequences, best, strict=True))
    return AtContext(context_tokens, best, gain, bands)
