"""Simulations that confirm a plan: first of candidates that might be the cheapest, then of others worth a look.

The estimate errs, so those next in cost are simulated too, the most promising first, until none is left that could cost
less than the cheapest found if the estimate were too cautious by its error. Equal costs are no reason to look further.
"""

from collections.abc import Iterator, Mapping
from math import ceil

from simulator.planning.estimate import steady_cluster
from simulator.planning.fleet import fewest
from simulator.planning.search.appraisal import Appraisal, Estimated
from simulator.planning.search.asked import alone, at_rate
from simulator.planning.search.field import Field
from simulator.planning.search.pareto import front
from simulator.planning.search.rivals import Confirmed, Rivals, rivals_of
from simulator.planning.search.trials import Runner, Tried, figures, in_full, tried

RUNS_OF_ONE = 8
"""Runs that confirming a candidate is expected to take: four replications of two sizes."""

REQUESTS_OF_A_UNIT = 200
"""Simulated requests that take about as long as an estimate."""


def confirmed(field: Field, found: Mapping[str, Appraisal], known: Mapping[str, Confirmed]) -> dict[str, Confirmed]:
    """Candidates that are simulated, with those that were before."""
    rivals, most = rivals_of(field, found, known), field.question.confirm
    for name in rivals:
        _confirm_next(rivals, name)
    for name in list(_worth_a_look(rivals))[: max(most - len(rivals.done), 0)]:
        _confirm_next(rivals, name)
    return rivals.done


def _confirm_next(rivals: Rivals, name: str) -> None:
    field = rivals.field
    field.meter.expect(expected_units(field, max(field.question.confirm - len(rivals.done), 1)))
    rivals.done[name] = confirm(field, name, rivals.hoped[name], rivals.shortfall())


def _worth_a_look(rivals: Rivals) -> Iterator[str]:
    """The cheapest of every other GPU type, then those of the Pareto set of cost and GPUs and latency, by cost."""
    field, specs = rivals.field, rivals.field.scenario.deployments
    sizes = {name: of for name, of in rivals.hoped.items() if of.replicas <= field.most_replicas(name)}
    seen = {specs[name].gpu for name, of in rivals.done.items() if of.replicas is not None}
    first: dict[str, str] = {}
    for name in sorted(sizes, key=lambda name: (field.usd_per_hour(name, sizes[name].replicas), name)):
        first.setdefault(specs[name].gpu, name)
    others = [name for gpu, name in first.items() if gpu not in seen]
    return (name for name in dict.fromkeys([*others, *_front(field, sizes)]) if name not in rivals.done)


def _front(field: Field, sizes: Mapping[str, Estimated]) -> list[str]:
    return front(
        {
            name: (
                field.usd_per_hour(name, of.replicas),
                float(field.num_gpus(name, of.replicas)),
                field.latency.of(of.row),
            )
            for name, of in sizes.items()
        }
    )


def confirm(field: Field, name: str, of: Estimated, times: float = 1.0) -> Confirmed:
    """The fewest replicas of a candidate that hold in simulation, sought from some times the estimate's."""
    return _sought(field, name, of, ceil(of.replicas * times - 1e-9), {})


def settled(field: Field, name: str, of: Estimated, known: Confirmed) -> Confirmed:
    """A candidate whose fewest replicas have had all their replications, and hold by them; else more replicas."""
    assert known.replicas is not None
    size = known.sizes[known.replicas]
    field.meter.expect(size.replications_left * _units(field))
    sizes = {**known.sizes, known.replicas: in_full(_runner(field), size)}
    return _sought(field, name, of, known.replicas, sizes)


def _sought(field: Field, name: str, of: Estimated, start: int, known: Mapping[int, Tried]) -> Confirmed:
    sizes, most, runner = dict(known), field.most_replicas(name), _runner(field)

    def holds(replicas: int) -> bool:
        if replicas > most:
            return False
        size = sizes[replicas] if replicas in sizes else _size(field, name, replicas, of)
        if size is None:
            return False
        sizes[replicas] = size
        return size.holds

    replicas = fewest(holds, min(start, most))
    return Confirmed(replicas, sizes, None if replicas is None else figures(runner, sizes[replicas]))


def _size(field: Field, name: str, replicas: int, of: Estimated) -> Tried | None:
    """A number of replicas in simulation; None where its users ask for more than it can serve."""
    scenario = alone(field.scenario, name, replicas)
    rate = of.rate_per_s if field.asked.users is None else field.asked.offered(steady_cluster(scenario, name))
    return None if rate is None else tried(_runner(field), at_rate(scenario, rate), rate, field.asked.needed(rate))


def _runner(field: Field) -> Runner:
    return Runner(field.simulate, field.executor, lambda task: field.meter.did(_units(field)))


def expected_units(field: Field, candidates: int) -> int:
    """Units of progress that simulating so many candidates takes, if each takes the usual runs."""
    return candidates * RUNS_OF_ONE * _units(field)


def _units(field: Field) -> int:
    """Units of progress of a run."""
    return max(field.scenario.workload.horizon.requests // REQUESTS_OF_A_UNIT, 1)
