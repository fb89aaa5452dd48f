"""When nothing holds: the candidate that comes nearest, and the least that would have to be relaxed, by the estimate.

Three ways out, each with a candidate that then holds: a larger budget, a looser limit of latency, a lower load.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf, log10
from typing import Any

from simulator.physics.ledger import memory_ledger
from simulator.planning.estimate import steady_cluster
from simulator.planning.search.appraisal import Appraisal
from simulator.planning.search.asked import alone, ratios_at
from simulator.planning.search.field import Field
from simulator.planning.search.rivals import Confirmed
from simulator.planning.steady_cluster import SteadyCluster

LOOKED_AT = 24
"""Candidates that are looked at for a looser limit or a lower load: those that miss least."""

EASY = 0.5
"""Share of the saturation rate to which a cluster is loaded where only its latency is asked for."""

MARGIN = 1.02
"""Factor on what is relaxed, so that it holds and does not just touch."""

LOAD = "workload.arrivals.rate_per_s"
"""What a lower load changes."""

LOAD_OF_TRACE = "requests/s of the trace"
"""The same where a trace brings it."""

DIGITS = 3
"""Significant digits of what is proposed."""


@dataclass(frozen=True, slots=True)
class WayOut:
    """Something to relax, and a candidate that then holds."""

    what: str
    """`budget`, `slo` or `load`."""
    name: str
    replicas: int
    now: dict[str, float]
    to: dict[str, float]
    miss: float
    """Largest factor by which anything is relaxed."""

    @property
    def changes(self) -> str:
        """What is relaxed, in words."""
        return " and ".join(f"{key} {self.to[key]:g} (now {self.now[key]:.4g})" for key in self.to)

    def as_json(self, field: Field) -> dict[str, Any]:
        """With a sentence."""
        cost = f"${field.usd_per_hour(self.name, self.replicas):.2f}/h"
        gpus = field.num_gpus(self.name, self.replicas)
        on = "1 GPU" if gpus == 1 else f"{gpus:,} GPUs"
        return {
            "what": self.what,
            "deployment": self.name,
            "replicas": self.replicas,
            "num_gpus": gpus,
            "from": self.now,
            "to": self.to,
            "factor": self.miss,
            "sentence": f"with {self.changes}, {self.name} holds on {on} for {cost}, by the estimate",
        }


def ways_out(field: Field, found: Mapping[str, Appraisal], done: Mapping[str, Confirmed]) -> list[WayOut]:
    """The least change of each kind that makes something hold, the smallest first.

    found: appraisals that were made whatever the budget is.
    done: candidates that were simulated, and hold at no size: by the estimate they would.
    """
    open_ = {name: of for name, of in found.items() if name not in done}
    best: dict[str, WayOut] = {}
    for way in (*_budgets(field, open_), *_others(field, open_), *_simulated(field, done)):
        if way.what not in best or way.miss < best[way.what].miss:
            best[way.what] = way
    return sorted(best.values(), key=lambda way: way.miss)


def _budgets(field: Field, found: Mapping[str, Appraisal]) -> Iterator[WayOut]:
    """A budget for what holds by the estimate."""
    budget = field.question.budget
    for name, of in found.items():
        if budget is None or of.estimated is None:
            continue
        needs = {
            "plan.budget.usd_per_hour": (budget.usd_per_hour, field.usd_per_hour(name, of.estimated.replicas)),
            "plan.budget.gpus": (budget.gpus, field.num_gpus(name, of.estimated.replicas)),
        }
        over = {key: (limit, need) for key, (limit, need) in needs.items() if limit is not None and need > limit}
        if over:
            now = {key: float(limit) for key, (limit, _) in over.items()}
            to = {key: rounded_up(need) for key, (_, need) in over.items()}
            yield WayOut("budget", name, of.estimated.replicas, now, to, _largest(now, to))


def _others(field: Field, found: Mapping[str, Appraisal]) -> Iterator[WayOut]:
    """A looser limit or a lower load within the budget, for the candidates that miss least."""
    able = {name: of for name, of in found.items() if of.bound is not None and field.most_replicas(name) >= 1}
    for name in sorted(able, key=lambda of: _miss(field, of, able[of]))[:LOOKED_AT]:
        one = steady_cluster(alone(field.scenario, name, 1), name)
        yield from _slo(field, name, one)
        yield from _load(field, name, one)


def _miss(field: Field, name: str, of: Appraisal) -> float:
    """How far a candidate is from holding."""
    assert of.bound is not None
    ratios = of.idle_ratios or of.bound.ratios
    needed = of.estimated.replicas if of.estimated is not None else of.least_replicas
    return max(max(ratios.values(), default=0.0), needed / field.most_replicas(name))


def _slo(field: Field, name: str, one: SteadyCluster) -> Iterator[WayOut]:
    """Limits that as many replicas as there may be, at least at an easy load, would meet."""
    easy = ceil(field.asked.needed(field.asked.most(one)) / (EASY * one.saturation()))
    replicas = min(field.most_replicas(name), easy)
    cluster = one.with_replicas(replicas)
    rate = field.asked.offered(cluster)
    if rate is None or field.asked.needed(rate) >= cluster.saturation():
        return
    ratios = ratios_at(cluster, field.asked.needed(rate))
    over = {limit: ratio for limit, ratio in ratios.items() if ratio > 1.0}
    if over:
        yield _looser(field, name, replicas, over)


def _looser(field: Field, name: str, replicas: int, over: Mapping[str, float]) -> WayOut:
    now = {f"slo.{limit}": _limit(field, limit) for limit in over}
    to = {f"slo.{limit}": rounded_up(_limit(field, limit) * ratio * MARGIN) for limit, ratio in over.items()}
    return WayOut("slo", name, replicas, now, to, _largest(now, to))


def _limit(field: Field, name: str) -> float:
    metric, _, percentile = name.partition(".")
    found: dict[str, float] = getattr(field.scenario.slo, metric)
    return found[percentile]


def _load(field: Field, name: str, one: SteadyCluster) -> Iterator[WayOut]:
    """The highest load that the budget's replicas hold."""
    budget, rate = field.question.budget, field.asked.rate_per_s
    if budget is None or rate is None:
        return
    replicas = field.most_replicas(name)
    holds = one.with_replicas(replicas).capacity() * (1.0 - field.asked.headroom)
    if 0.0 < holds < rate:
        to = rounded_down(holds / MARGIN)
        key = LOAD_OF_TRACE if field.scenario.workload.arrivals.kind == "trace" else LOAD
        yield WayOut("load", name, replicas, {key: rate}, {key: to}, rate / to)


def _simulated(field: Field, done: Mapping[str, Confirmed]) -> Iterator[WayOut]:
    """The limit that a candidate misses in simulation, at the largest size that was tried."""
    for name, of in done.items():
        if of.sizes:
            largest = max(of.sizes)
            size = of.sizes[largest]
            if size.worst != "backlog" and size.pressure > 1.0:
                yield _looser(field, name, largest, {size.worst: size.pressure})


def _largest(now: Mapping[str, float], to: Mapping[str, float]) -> float:
    return max((to[key] / now[key] for key in now), default=inf)


def rounded_up(value: float) -> float:
    """A number of three digits that is not below this one.

    >>> rounded_up(1.2341), rounded_up(123456.0), rounded_up(0.5)
    (1.24, 124000.0, 0.5)
    """
    return _rounded(value, ceil)


def rounded_down(value: float) -> float:
    """A number of three digits that is not above this one.

    >>> rounded_down(1.2389)
    1.23
    """
    return _rounded(value, floor)


def _rounded(value: float, whole: Any) -> float:
    digits = DIGITS - 1 - floor(log10(value))
    return round(float(whole(round(value * 10.0**digits, 6))) / 10.0**digits, 12)


def nearest(
    field: Field, found: Mapping[str, Appraisal], ways: Sequence[WayOut], why_not: Mapping[str, str | None]
) -> dict[str, Any]:
    """The candidate that comes nearest to holding; where none even fits, to fitting.

    why_not: of every candidate, why it is no answer.
    """
    if ways:
        way = ways[0]
        return way.as_json(field) | {"sentence": f"{way.name} comes nearest: it would hold with {way.changes}"}
    name = min(found, key=lambda of: _short_bytes(field, of))
    sentence = f"{name} comes nearest: {why_not[name] or 'it was not simulated (plan.confirm)'}"
    return {"what": "memory" if found[name].unfit else "load", "deployment": name, "sentence": sentence}


def _short_bytes(field: Field, name: str) -> int:
    """What a candidate lacks of memory on its fullest GPU [bytes]."""
    return max(row.shortfall_bytes for row in memory_ledger(name, field.scenario.deployments[name]))
