"""Ratios of the figures of two runs, with intervals over their replications."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import fmean, variance
from typing import Any

from simulator.outcome.aggregate import flatten
from simulator.outcome.interval import t_interval, t_quantile

FIGURES = (
    "capacity_req_per_s", "ttft_s.p50", "ttft_s.p95", "tpot_s.p50", "tpot_s.p95", "e2e_s.p95", "req_per_s",
    "output_tokens_per_s", "goodput_req_per_s", "tokens_per_step", "mean_batch", "queue_mean", "kv_utilisation_mean",
    "usd_per_hour_for_offered", "usd_per_million_output_tokens", "usd_per_million_output_tokens_at_capacity",
)  # fmt: skip
"""Figures that are compared."""

Replications = Mapping[int, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Ratio:
    """A figure of the second run by that of the first."""

    name: str
    first: float
    second: float
    interval: tuple[float, float] | None
    """95 %; None with fewer than two replications."""

    @property
    def ratio(self) -> float:
        """Second ÷ first."""
        return self.second / self.first

    @property
    def changed(self) -> bool:
        """Whether 1 lies outside the interval; without one, whether they differ by more than rounding."""
        if self.interval is None:
            return abs(self.ratio - 1) > 1e-9
        return not self.interval[0] <= 1 <= self.interval[1]


def ratios(
    first: Mapping[str, Any], second: Mapping[str, Any], runs: tuple[Replications, Replications], *, paired: bool
) -> dict[str, Ratio]:
    """Ratios of all figures that both rows have above 0."""
    one, other = flatten(dict(first)), flatten(dict(second))
    by_run = [{number: flatten(dict(row)) for number, row in run.items()} for run in runs]
    return {
        name: Ratio(name, one[name], other[name], _interval(name, by_run[0], by_run[1], paired=paired))
        for name in FIGURES
        if one.get(name, 0) > 0 and other.get(name, 0) > 0
    }


def _interval(
    name: str, first: Mapping[int, Mapping[str, float]], second: Mapping[int, Mapping[str, float]], *, paired: bool
) -> tuple[float, float] | None:
    logs = [{n: log(row[name]) for n, row in run.items() if row.get(name, 0) > 0} for run in (first, second)]
    if paired:
        found = t_interval([logs[1][n] - logs[0][n] for n in logs[0] if n in logs[1]])
    else:
        found = welch_interval(list(logs[0].values()), list(logs[1].values()))
    return None if found is None else (exp(found[0]), exp(found[1]))


def welch_interval(first: Sequence[float], second: Sequence[float]) -> tuple[float, float] | None:
    r"""95 % interval of the difference of two means of independent samples; None where either has fewer than two.

    .. math:: \bar y - \bar x \pm t_\nu \sqrt{s_x^2/n + s_y^2/m}

    first, second: values x and y. The degrees of freedom ν are Welch and Satterthwaite's, rounded down.

    >>> [round(end, 3) for end in welch_interval([0.0, 1.0, 2.0], [1.0, 2.0, 3.0])]
    [-1.267, 3.267]

    Welch, Biometrika 34, 1947.
    """
    if min(len(first), len(second)) < 2:
        return None
    shares = [variance(values) / len(values) for values in (first, second)]
    middle, total = fmean(second) - fmean(first), sum(shares)
    if total == 0:
        return middle, middle
    freedom = total**2 / sum(s**2 / (len(v) - 1) for s, v in zip(shares, (first, second), strict=True))
    half = t_quantile(0.95, max(int(freedom + 1e-9), 1)) * sqrt(total)
    return middle - half, middle + half
