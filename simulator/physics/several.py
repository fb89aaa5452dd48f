"""Cost of several drafts in a step: a router deals the sequences out to them, or all draft for each sequence.

Which draft a sequence has is random: a step is priced at its expectation.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from math import factorial, lgamma, log, log1p

import numpy as np
from numpy.typing import NDArray

from simulator.physics.draft import Affine, DraftCost
from simulator.physics.profiled import UNCALIBRATED, Calibration
from simulator.spec.combine import ParallelStreams, Routed, Series
from simulator.spec.speculation import DraftSpeculation

Floats = NDArray[np.float64]
Streams = Series | ParallelStreams

EXACT_SEQUENCES = 32
"""Up to so many sequences the longest of routed drafts is exact; beyond, the drafts' loads are taken as independent."""


def together(seconds: Sequence[float], streams: Streams) -> float:
    """Seconds of drafts that share a GPU: one after the other, or on streams that get in each other's way.

    series: Σ t_d. parallel: max t_d + contention · (Σ t_d − max t_d).

    seconds: of each draft alone. [s]

    >>> together([3.0, 1.0], ParallelStreams(kind="parallel", contention=0.25))
    3.25

    The definition of `contention`; it is to be measured.
    """
    total = sum(seconds)
    if streams.kind == "series":
        return total
    longest = max(seconds)
    return longest + streams.contention * (total - longest)


def combined(
    costs: Mapping[str, DraftCost], speculation: DraftSpeculation, shares: Mapping[str, float] | None
) -> DraftCost:
    """What the drafts of a deployment add to a step.

    shares: of the sequences that each routed draft works for; None: equal, where no workload is known. [0 to 1]
    """
    return COMBINED[speculation.combine.kind](costs, speculation, shares)


def _single(
    costs: Mapping[str, DraftCost], speculation: DraftSpeculation, shares: Mapping[str, float] | None
) -> DraftCost:
    return next(iter(costs.values()))


def _union(
    costs: Mapping[str, DraftCost], speculation: DraftSpeculation, shares: Mapping[str, float] | None
) -> DraftCost:
    """All drafts propose for every sequence, and read every prompt; their ratios are sums.

    On parallel streams the longest is taken for the constant and for the slope in the context each: exact where one
    draft is the longest in both.
    """
    drafts, streams = list(costs.values()), speculation.streams

    def of_all(found: Sequence[Affine]) -> Affine:
        return together([c for c, _ in found], streams), together([s for _, s in found], streams)

    return DraftCost(
        passes=lambda sequences, tokens: of_all([d.passes(sequences, tokens // len(drafts)) for d in drafts]),
        one_pass=lambda sequences: of_all([d.one_pass(sequences) for d in drafts]),
        prefill_s=lambda tokens: together([d.prefill_s(tokens) for d in drafts], streams),
        prefill_context_s=together([d.prefill_context_s for d in drafts], streams),
        flops_ratio=sum(d.flops_ratio for d in drafts),
        calibration=_said(costs),
    )


def _routed(
    costs: Mapping[str, DraftCost], speculation: DraftSpeculation, shares: Mapping[str, float] | None
) -> DraftCost:
    """Each draft works on its own sequences and prompts; ratios are means over the sequences.

    A prompt takes its draft's time; one that is computed over several steps meets its router in each of them.
    """
    assert isinstance(speculation.combine, Routed)
    streams = speculation.streams
    part = shares or dict.fromkeys(costs, 1.0 / len(costs))
    used = [(costs[name], share) for name, share in part.items() if share > 0.0]
    alone = [cache(cost.passes) for cost, _ in used]

    @cache
    def passes(sequences: int, draft_tokens: int) -> Affine:
        tables = [[one(mine, draft_tokens) for mine in range(sequences + 1)] for one in alone]
        return _dealt_out(tables, [share for _, share in used], streams)

    def one_pass(sequences: int) -> Affine:
        each = [(cost.one_pass(sequences), share) for cost, share in used]
        return sum(share * c for (c, _), share in each), sum(share * s for (_, s), share in each)

    return DraftCost(
        passes=passes,
        one_pass=one_pass,
        prefill_s=lambda tokens: sum(share * cost.prefill_s(tokens) for cost, share in used),
        prefill_context_s=sum(share * cost.prefill_context_s for cost, share in used),
        flops_ratio=sum(share * cost.flops_ratio for cost, share in used),
        calibration=_said(costs),
        prompt_s=speculation.combine.router.latency_s,
    )


COMBINED = {"single": _single, "routed": _routed, "union": _union}
"""Ways to combine drafts → what they cost together."""


def _said(costs: Mapping[str, DraftCost]) -> Calibration:
    """Where the drafts' curves come from, each by its name."""
    said = {name: cost.calibration for name, cost in costs.items()}
    derived = tuple(f"{name}: {what}" for name, one in said.items() for what in one.derived)
    missing = tuple(f"{name}: {what}" for name, one in said.items() for what in one.uncalibrated)
    return UNCALIBRATED._replace(derived=derived, uncalibrated=missing)


def _dealt_out(tables: Sequence[Sequence[Affine]], shares: Sequence[float], streams: Streams) -> Affine:
    """Expected seconds of drafts among which sequences are dealt out, affine in the context of all sequences.

    tables: by draft, seconds of its passes over 0, 1, … all sequences, affine in the context of those.
    shares: chance of a sequence to be each draft's. [0 to 1]
    """
    sequences = len(tables[0]) - 1
    if not sequences:
        return 0.0, 0.0
    constants = [np.array([constant for constant, _ in table]) for table in tables]
    mine = np.arange(sequences + 1) / sequences
    slopes = [np.array([slope for _, slope in table]) * mine for table in tables]
    return expected_together(constants, shares, streams), expected_together(slopes, shares, streams)


def expected_together(seconds: Sequence[Floats], shares: Sequence[float], streams: Streams) -> float:
    r"""Expected seconds of drafts that share a GPU, over the ways in which sequences fall to them.

    .. math:: E\left[\sum_d t_d(m_d)\right], \quad m \sim \mathrm{Multinomial}(n, \text{shares})

    and on parallel streams E[max] + contention · (E[Σ] − E[max]).

    seconds: by draft, at 0, 1, … n sequences. [s]
    shares: by draft. [0 to 1]

    >>> one_each = [np.array([0.0, 2.0, 3.0])] * 2
    >>> expected_together(one_each, (0.5, 0.5), Series())
    3.5
    >>> expected_together(one_each, (0.5, 0.5), ParallelStreams(kind="parallel", contention=0.0))
    2.5
    """
    sequences = len(seconds[0]) - 1
    chances = [binomial(sequences, share) for share in shares]
    total = float(sum(p @ t for p, t in zip(chances, seconds, strict=True)))
    if streams.kind == "series":
        return total
    ends = np.unique(np.concatenate(seconds))
    if sequences <= EXACT_SEQUENCES:
        done = np.array([_all_below(seconds, shares, end) for end in ends])
    else:
        done = _independently_below(seconds, chances, ends)
    longest = float(ends @ np.diff(done, prepend=0.0))
    return longest + streams.contention * (total - longest)


def binomial(trials: int, chance: float) -> Floats:
    """Chance of 0, 1, … n successes in n trials [0 to 1].

    >>> binomial(2, 0.5).round(9).tolist()
    [0.25, 0.5, 0.25]
    """
    if chance >= 1.0:
        return np.asarray(np.eye(1, trials + 1, trials)[0], dtype=np.float64)
    each = range(trials + 1)
    logs = [lgamma(trials + 1) - lgamma(m + 1) - lgamma(trials - m + 1) for m in each]
    powers = np.arange(trials + 1) * log(chance) + np.arange(trials, -1, -1) * log1p(-chance)
    found = np.exp(np.array(logs) + powers)
    return np.asarray(found / found.sum(), dtype=np.float64)


def _all_below(seconds: Sequence[Floats], shares: Sequence[float], end_s: float) -> float:
    """Chance that every draft is done by then: the multinomial's terms that are, summed as a product of series."""
    sequences = len(seconds[0]) - 1
    factorials = np.array([float(factorial(m)) for m in range(sequences + 1)])
    product = np.ones(1)
    for table, share in zip(seconds, shares, strict=True):
        terms = np.where(table <= end_s, share ** np.arange(sequences + 1) / factorials, 0.0)
        product = np.convolve(product, terms)[: sequences + 1]
    return float(product[sequences] * factorials[sequences])


def _independently_below(seconds: Sequence[Floats], chances: Sequence[Floats], ends_s: Floats) -> Floats:
    """The same of many times, with drafts whose loads are independent of each other.

    chances: by draft, of 0, 1, … n sequences. [0 to 1]
    """
    done = np.ones(ends_s.size)
    for table, chance in zip(seconds, chances, strict=True):
        order = table.argsort()
        at_most = np.concatenate(([0.0], chance[order].cumsum()))
        done *= at_most[table[order].searchsorted(ends_s, side="right")]
    return done
