"""Appraisals of all candidates, in rounds: what costs too much by its bound alone is left out.

A candidate is left out when the fewest replicas that could hold cost more than the budget, or more than REACH times as
much as the cheapest that holds by the estimate so far: the Pareto set is whole up to that cost. Rounds have a fixed
size, so that the same candidates are left out whatever executor appraises them.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import inf

from simulator.planning.search.appraisal import Appraisal, Ask, appraise
from simulator.planning.search.field import Field
from simulator.planning.tasks import run_all

REACH = 2.0
"""Cost ÷ that of the cheapest which holds, beyond which a candidate is of no interest."""

CHUNK = 8
"""Candidates of a task."""

ROUND = 64
"""Candidates between two looks at what is the cheapest."""


def appraisals(field: Field) -> dict[str, Appraisal]:
    """Every kind of candidate, in their order."""
    found: dict[str, Appraisal] = {}
    for names in _rounds(list(field.twins)):
        found |= _appraised(field, names, REACH * cheapest(field, found))
    return {name: found[name] for name in field.twins}


def anew(field: Field, names: Sequence[str]) -> dict[str, Appraisal]:
    """Candidates whatever they cost: the budget plays no part either."""
    return _appraised(field, names, None)


def cheapest(field: Field, found: Mapping[str, Appraisal]) -> float:
    """Cost of the cheapest that holds by the estimate within the budget; inf where none does [USD/h]."""
    holding = (
        (name, of.estimated.replicas)
        for name, of in found.items()
        if of.estimated is not None and of.estimated.replicas <= field.most_replicas(name)
    )
    return min((field.usd_per_hour(name, replicas) for name, replicas in holding), default=inf)


def _rounds(names: Sequence[str]) -> Iterator[list[str]]:
    """Each round takes candidates from all over, so that the first one knows a low cost."""
    count = -(-len(names) // ROUND)
    return (list(names[start::count]) for start in range(count))


def _appraised(field: Field, names: Sequence[str], usd_per_hour: float | None) -> dict[str, Appraisal]:
    asks = [_ask(field, name, usd_per_hour) for name in names]
    chunks = [tuple(asks[start : start + CHUNK]) for start in range(0, len(asks), CHUNK)]
    done = run_all(appraise, chunks, field.executor, lambda chunk: field.meter.did(len(chunk)))
    return dict(zip(names, (one for chunk in done for one in chunk), strict=True))


def _ask(field: Field, name: str, usd_per_hour: float | None) -> Ask:
    """A task holds the scenario with this candidate alone: others need not travel with it."""
    scenario = field.scenario.model_copy(update={"deployments": {name: field.scenario.deployments[name]}})
    most = None if usd_per_hour is None else field.most_replicas(name, usd_per_hour)
    return Ask(scenario, name, field.asked, most)
