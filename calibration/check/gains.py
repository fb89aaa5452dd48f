"""What drafts gain, predicted and measured: speed-up of each K, the best one, and from which batch on none pays."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from calibration.check.compare import Compared, relative


@dataclass(frozen=True, slots=True)
class Gain:
    """Speed of K draft tokens ÷ that of plain decoding at the same load."""

    load: str
    draft_tokens: int
    predicted: float
    measured: float
    apart: float
    """Difference between the two runs, of both points together, as a fraction."""

    @property
    def where(self) -> str:
        """The point."""
        return f"{self.load}-k{self.draft_tokens}"


@dataclass(frozen=True, slots=True)
class Choice:
    """The K that a planner would choose at a load, and what came of it."""

    where: str
    predicted_k: int
    measured_k: int
    gain: float
    """Measured speed of the chosen K ÷ plain."""
    regret: float
    """Measured speed of the best K ÷ that of the chosen one − 1."""
    apart: float


@dataclass(frozen=True, slots=True)
class Saturation:
    """Requests per second that an overloaded system gets through."""

    where: str
    predicted: float
    measured: float
    error: float
    apart: float


def gains(points: Sequence[Compared]) -> list[Gain]:
    """The gain of each K at each load that was also run without drafts."""
    by_load: defaultdict[str, dict[int, Compared]] = defaultdict(dict)
    for one in points:
        by_load[one.point.load_key][one.point.draft_tokens] = one
    return [
        _gain(load, k, found[0], one)
        for load, found in by_load.items()
        if 0 in found
        for k, one in sorted(found.items())
        if k
    ]


def _gain(load: str, k: int, plain: Compared, drafted: Compared) -> Gain:
    """By throughput where clients wait or a queue does, else by the time per output token."""
    limited = plain.point.clients is not None or plain.point.overload
    name = "output_tokens_per_s" if limited else "tpot_s.mean"
    power = 1 if limited else -1
    return Gain(
        load,
        k,
        (drafted.predicted[name] / plain.predicted[name]) ** power,
        (drafted.mean(name) / plain.mean(name)) ** power,
        plain.apart(name) + drafted.apart(name),
    )


def best_choices(found: Sequence[Gain]) -> Iterator[Choice]:
    """The choice among all K, none included, at each load."""
    by_load: defaultdict[str, list[Gain]] = defaultdict(list)
    for gain in found:
        by_load[gain.load].append(gain)
    for load, of in by_load.items():
        predicted = {0: 1.0} | {gain.draft_tokens: gain.predicted for gain in of}
        measured = {0: 1.0} | {gain.draft_tokens: gain.measured for gain in of}
        chosen, best = (max(speeds, key=lambda k: speeds[k]) for speeds in (predicted, measured))
        yield Choice(
            load, chosen, best, measured[chosen], measured[best] / measured[chosen] - 1.0, max(g.apart for g in of)
        )


def saturation(points: Sequence[Compared]) -> list[Saturation]:
    """The rate that each system and K gets through at its highest load, if that is an overload."""
    highest: dict[str, Compared] = {}
    for one in points:
        where = one.point.system_key
        if one.point.overload and (where not in highest or one.point.level > highest[where].point.level):
            highest[where] = one
    name = "req_per_s"
    return [
        Saturation(where, one.predicted[name], one.mean(name), relative(one.predicted[name], one.mean(name)),
                   one.apart(name))
        for where, one in highest.items()
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class PayingBatch:
    """The batch from which on K draft tokens no longer pay; inf: at every batch that was seen they do."""

    where: str
    predicted: float
    measured: float
    most: int
    """Largest batch that both were seen at."""


def paying_batches(points: Sequence[Compared]) -> list[PayingBatch]:
    """Of each system and K: where tokens per step × plain step ÷ drafting step falls below 1, by decode steps alone."""
    by_system: defaultdict[str, defaultdict[int, list[Compared]]] = defaultdict(lambda: defaultdict(list))
    for one in points:
        by_system[one.point.system][one.point.draft_tokens].append(one)
    return [
        _paying(f"{system}-k{k}", of[0], of[k]) for system, of in by_system.items() for k in sorted(of) if k and 0 in of
    ]


def _paying(where: str, plain: Sequence[Compared], drafted: Sequence[Compared]) -> PayingBatch:
    plain_s, drafted_s = _mean_steps(plain), _mean_steps(drafted)
    batches = sorted(plain_s.keys() & drafted_s.keys())
    tokens = (
        fmean(one.predicted["tokens_per_step"] for one in drafted),
        fmean(one.mean("tokens_per_step") for one in drafted),
    )
    curves = [[(n, tokens[i] * plain_s[n][i] / drafted_s[n][i]) for n in batches] for i in (0, 1)]
    return PayingBatch(where, crossing(curves[0]), crossing(curves[1]), max(batches, default=0))


def _mean_steps(of: Sequence[Compared]) -> dict[int, tuple[float, float]]:
    found: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)
    for one in of:
        for batch, pair in one.decode_s.items():
            found[batch].append(pair)
    return {n: (fmean(p for p, _ in pairs), fmean(m for _, m in pairs)) for n, pairs in found.items()}


def crossing(curve: Sequence[tuple[int, float]]) -> float:
    """Where a gain falls below 1 for good, linear between batches; inf: not within the curve.

    >>> crossing([(1, 1.5), (2, 0.9), (3, 1.1), (5, 0.9)])
    4.0
    >>> crossing([(1, 1.5), (2, 1.2)])
    inf
    """
    if not curve or curve[-1][1] >= 1.0:
        return float("inf")
    last = float(curve[0][0])
    for (n, gain), (after, falls) in pairwise(curve):
        if gain >= 1.0 > falls:
            last = n + (after - n) * (gain - 1.0) / (gain - falls)
    return last
