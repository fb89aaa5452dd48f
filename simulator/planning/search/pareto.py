"""The Pareto set: candidates to which none other is better in cost, GPUs or latency and worse in none of them."""

from collections.abc import Mapping
from typing import NamedTuple

from simulator.outcome.report import Row
from simulator.outcome.slo import limits
from simulator.spec.workload import PERCENTILES, Slo

ANSWER = "e2e_s"
"""Latency that holds all of the others."""

USUAL = "p95"
"""Percentile where no limit states one."""


class Latency(NamedTuple):
    """The latency by which candidates are compared."""

    metric: str
    percentile: str

    def of(self, row: Row) -> float:
        """A row's own [s]; 0 where no request has one."""
        return float(row[self.metric][self.percentile] or 0.0)


def latency_of(slo: Slo | None) -> Latency:
    """The one percentile that is limited; with several of them, or none, how long a whole answer takes.

    Of whole answers it is the highest percentile that any limit states, p95 without one.
    """
    stated = [(metric, percentile) for metric, of in limits(slo).items() for percentile in of]
    if len(stated) == 1:
        return Latency(*stated[0])
    return Latency(ANSWER, max((percentile for _, percentile in stated), key=PERCENTILES.index, default=USUAL))


def front(sizes: Mapping[str, tuple[float, ...]]) -> list[str]:
    """Names of the Pareto set, the least of the first figure first; of equals, the first.

    sizes: name → figures, of all of which less is better.

    >>> front({"dear": (3.0, 1.0), "cheap": (1.0, 2.0), "bad": (3.0, 2.0), "twin": (1.0, 2.0)})
    ['cheap', 'dear']
    """
    found: list[str] = []
    for name in sorted(sizes, key=lambda of: sizes[of]):
        if not any(all(a <= b for a, b in zip(sizes[other], sizes[name], strict=True)) for other in found):
            found.append(name)
    return found
