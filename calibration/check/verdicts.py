"""The goals of the check: what each line compares, how far off it may be, and whether it is.

A goal is the larger of its figure and 1.5 × the difference between two runs of the same point: no prediction can be
asked to be nearer to a run than the machine itself.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, nan
from statistics import fmean

from calibration.check.compare import Compared
from calibration.check.figures import FEWEST_FOR
from calibration.check.gains import Gain, best_choices, gains, saturation
from calibration.check.run import Point

REPEATS = 1.5
"""Differences between two runs that an error may always have."""

STABLE_SHARE = 0.8
"""Share of the measured saturation rate up to which times to the first token are judged."""


@dataclass(frozen=True, slots=True)
class Item:
    """One comparison of a line."""

    where: str
    predicted: float
    measured: float
    error: float
    """Predicted ÷ measured − 1, or what the line says."""
    apart: float
    """Difference of the two runs, as a fraction; nan where it was run once."""
    wider: float = 0.0
    """How much further off its system may be than a goal says."""

    def allowed(self, goal: float) -> float:
        """How far off it may be; what must be exact must be so for all."""
        goal += self.wider if goal else 0.0
        return max(goal, REPEATS * self.apart) if isfinite(self.apart) else goal


@dataclass(frozen=True, slots=True)
class Line:
    """One goal over all points that it is asked of."""

    what: str
    goal: float
    """As a fraction; 0: must be exact."""
    items: tuple[Item, ...]
    note: str = ""

    @property
    def missed(self) -> tuple[Item, ...]:
        """Comparisons that are further off than they may be."""
        return tuple(item for item in self.items if not abs(item.error) <= item.allowed(self.goal))

    @property
    def passed(self) -> bool | None:
        """Whether every comparison holds; None: there is none."""
        return not self.missed if self.items else None

    @property
    def by_scatter(self) -> int:
        """Comparisons that hold only because the machine does not repeat itself any better."""
        return sum(self.goal + item.wider < abs(item.error) <= item.allowed(self.goal) for item in self.items)

    @property
    def mean(self) -> float:
        """Mean absolute error."""
        return fmean(abs(item.error) for item in self.items) if self.items else nan

    @property
    def worst(self) -> Item | None:
        """The comparison that is furthest off."""
        return max(self.items, key=lambda item: abs(item.error), default=None)

    @property
    def apart(self) -> float:
        """Mean difference of the two runs."""
        known = [item.apart for item in self.items if isfinite(item.apart)]
        return fmean(known) if known else nan


def verdicts(points: Sequence[Compared], wider: Mapping[str, float] | None = None) -> list[Line]:
    """All goals.

    wider: system → how much further off than a goal says its points with drafts may be.
    """
    return [replace(line, items=tuple(_widened(item, wider or {}) for item in line.items)) for line in _lines(points)]


def _widened(item: Item, wider: Mapping[str, float]) -> Item:
    """The same with what its system may be off beyond the goal; without drafts all are alike."""
    more = [by for system, by in wider.items() if item.where.startswith(f"{system}-") and "-k0" not in item.where]
    return replace(item, wider=max(more, default=0.0))


def _lines(points: Sequence[Compared]) -> list[Line]:
    found = gains(points)
    return [
        _replays(points),
        Line("step time", 0.05, tuple(_steps(points)), "mean absolute error of single steps"),
        figure("TPOT mean", "tpot_s.mean", 0.04, points),
        figure("output tokens/s", "output_tokens_per_s", 0.03, [p for p in points if not p.point.overload]),
        Line("saturation rate", 0.05, tuple(_saturations(points))),
        figure("TTFT mean", "ttft_s.mean", 0.10, stable(points), f"up to {STABLE_SHARE:.0%} of saturation"),
        figure("TTFT p90", "ttft_s.p90", 0.15, stable(points), f"up to {STABLE_SHARE:.0%} of saturation"),
        Line("stable or overloaded", 0.0, tuple(_overloaded(points))),
        Line("tokens_per_step, same texts", 0.02, tuple(_tokens(points, same=True))),
        Line("tokens_per_step, other texts", 0.05, tuple(_tokens(points, same=False))),
        Line("speedup of K over 0", 0.05, tuple(map(_gain, found))),
        Line("best K", 0.02, tuple(_regrets(found)), "what the K of its choice loses"),
        Line("speculation advised", 0.02, tuple(_harm(found)), "how much slower it then is than plain"),
        figure("TPOT p99", "tpot_s.p99", 0.10, many(points), f"points of {FEWEST_FOR['p99']:,} requests or more"),
        figure(
            "TTFT p99", "ttft_s.p99", 0.20, many(stable(points)), f"points of {FEWEST_FOR['p99']:,} requests or more"
        ),
    ]


def figure(what: str, name: str, goal: float, points: Iterable[Compared], note: str = "") -> Line:
    """A line that compares one figure of each point that has it."""
    items = (
        Item(p.point.key, p.predicted[name], p.mean(name), p.error(name), p.apart(name))
        for p in points
        if isfinite(p.error(name))
    )
    return Line(what, goal, tuple(items), note)


def stable(points: Sequence[Compared]) -> list[Compared]:
    """Points whose load is below a share of the measured saturation; closed loops are never above it."""
    rates = {one.where: one.measured for one in saturation(points)}

    def below(point: Point) -> bool:
        limit = STABLE_SHARE * rates.get(point.system_key, inf)
        return not point.overload and (point.rate_per_s is None or point.rate_per_s <= limit)

    return [one for one in points if below(one.point)]


def many(points: Iterable[Compared]) -> list[Compared]:
    """Points with requests enough for their 99th percentile."""
    return [one for one in points if one.point.requests >= FEWEST_FOR["p99"]]


def _replays(points: Sequence[Compared]) -> Line:
    items = [
        Item(
            f"{p.point.key} {replayed.first_difference}".strip(),
            replayed.equal,
            replayed.steps,
            0.0 if replayed.exact else min(replayed.equal / max(replayed.steps, 1) - 1.0, -1e-9),
            nan,
        )
        for p in points
        for replayed in p.replayed
    ]
    return Line("scheduler replay", 0.0, tuple(items), "steps of the same composition, in the same order")


def _steps(points: Sequence[Compared]) -> Iterator[Item]:
    for p in points:
        yield Item(p.point.key, 1.0 + p.steps.bias, 1.0, p.steps.mape, p.steps.apart)


def _saturations(points: Sequence[Compared]) -> Iterator[Item]:
    for one in saturation(points):
        yield Item(one.where, one.predicted, one.measured, one.error, one.apart)


def _overloaded(points: Sequence[Compared]) -> Iterator[Item]:
    for p in points:
        if p.point.clients is None:
            said, seen = p.predicted["overloaded"], [one["overloaded"] for one in p.measured]
            yield Item(p.point.key, said, fmean(seen), 0.0 if said in seen else 1.0, nan)


def _tokens(points: Sequence[Compared], *, same: bool) -> Iterator[Item]:
    name = "tokens_per_step"
    for p in points:
        if p.point.draft_tokens:
            predicted = p.same_texts if same else p.predicted[name]
            yield Item(p.point.key, predicted, p.mean(name), predicted / p.mean(name) - 1.0, p.apart(name))


def _gain(gain: Gain) -> Item:
    return Item(gain.where, gain.predicted, gain.measured, gain.predicted / gain.measured - 1.0, gain.apart)


def _regrets(found: Sequence[Gain]) -> Iterator[Item]:
    for choice in best_choices(found):
        said = f"{choice.where}: K {choice.predicted_k} chosen, K {choice.measured_k} best"
        yield Item(said, choice.predicted_k, choice.measured_k, choice.regret, choice.apart)


def _harm(found: Sequence[Gain]) -> Iterator[Item]:
    for choice in best_choices(found):
        if choice.predicted_k:
            yield Item(choice.where, choice.predicted_k, choice.gain, max(1.0 / choice.gain - 1.0, 0.0), choice.apart)
