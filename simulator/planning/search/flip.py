"""What would turn a plan round, and what binds its choice."""

from collections.abc import Iterator, Sequence
from typing import Any

from simulator.outcome.reasons import bound_phrase
from simulator.planning.comparison import flip_condition
from simulator.planning.search.field import ROUNDING, Field
from simulator.planning.search.points import Point, missed


def runner_up(field: Field, choice: Point, points: Sequence[Point], *, same_gpu: bool) -> Point | None:
    """The cheapest other answer, of the same GPU type or of another one."""
    others = [
        point for point in points if point.holds and point.name != choice.name and (point.gpu == choice.gpu) == same_gpu
    ]
    return best(field, others)


def best(field: Field, points: Sequence[Point]) -> Point | None:
    """The cheapest of answers; of equal costs one with fewer GPUs, then one that was simulated, then the fastest."""

    def order(point: Point) -> tuple[float, int, bool, float, str]:
        assert point.num_gpus is not None
        assert point.row is not None
        estimated = point.method != "simulated"
        return round(point.cost, 9), point.num_gpus, estimated, field.latency.of(point.row), point.name

    return min(points, key=order, default=None)


def flips(field: Field, choice: Point, points: Sequence[Point]) -> list[dict[str, Any]]:
    """Conditions under which something else would be bought, each with a sentence.

    The price ratio at which the cheapest of another GPU type costs the same; the tokens per step at which plain
    decoding does, or speculation where the choice has none; the loads at which it takes a replica more, or less.
    """
    others = [point for point in points if point.holds and point.cost * ROUNDING >= choice.cost]
    rivals = (runner_up(field, choice, others, same_gpu=False), _otherwise(field, choice, others))
    return [*(_against(field, choice, other) for other in rivals if other is not None), *_load(field, choice)]


def _otherwise(field: Field, choice: Point, points: Sequence[Point]) -> Point | None:
    """The cheapest of the same GPU type and model that speculates if the choice does not, or does not if it does."""
    specs = field.scenario.deployments
    own = specs[choice.name]
    other = [
        point
        for point in points
        if (specs[point.name].gpu, specs[point.name].target.model) == (own.gpu, own.target.model)
        and (specs[point.name].speculation.kind == "none") != (own.speculation.kind == "none")
    ]
    return best(field, other)


def _against(field: Field, choice: Point, other: Point) -> dict[str, Any]:
    ratio = other.cost / choice.cost
    rows = {point.name: _row(field, point) for point in (choice, other)}
    ratio = 1.0 if ratio <= ROUNDING else ratio
    found = flip_condition(rows, {"leader": choice.name, "runner_up": other.name, "ratio": ratio})
    assert found is not None, "there is a runner-up"
    return found | {"against": other.name}


def _row(field: Field, point: Point) -> dict[str, Any]:
    """A point's figures with the price of its own GPUs: twins share all others."""
    assert point.row is not None
    assert point.replicas is not None
    price = field.bills[point.name].usd_per_gpu_hour(point.replicas + point.spare_replicas)
    return point.row | {"deployment": point.name, "usd_per_gpu_hour": price}


def _load(field: Field, choice: Point) -> Iterator[dict[str, Any]]:
    now, capacity = choice.offered_req_per_s, choice.capacity_req_per_s
    if now is None or capacity is None:
        return
    tie, fewer = capacity * (1.0 - field.asked.headroom), None
    sentence = f"one more replica is needed above about {tie:.3g} requests/s (now {now:.3g})"
    if choice.replicas is not None and choice.replicas > 1:
        fewer = min(tie * (choice.replicas - 1) / choice.replicas, now)
        sentence += f", one less would do below about {fewer:.3g}"
    yield {
        "kind": "load", "now": now, "tie": tie, "tie_of_one_less": fewer, "first_order": True, "sentence": sentence,
        "against": None,
    }  # fmt: skip


def binds(choice: Point) -> dict[str, Any]:
    """What keeps the choice from being smaller: the limit that a replica less misses, or that there is none less."""
    assert choice.row is not None
    steps = f"{choice.name} is bound by {bound_phrase(choice.row)}"
    found = {"step": choice.row["bound_by"], "ratio": None}
    if choice.replicas == 1:
        return found | {"kind": "one_replica", "name": None, "sentence": f"a single replica holds; {steps}"}
    fewer = choice.fewer
    if fewer is None:
        sentence = f"one replica less does not hold by the estimate; {steps}"
        return found | {"kind": "load", "name": None, "sentence": sentence}
    kind, name = ("load", None) if fewer.worst == "backlog" else ("slo", fewer.worst)
    sentence = f"one replica less does not hold: {missed(fewer)}; {steps}"
    return found | {"kind": kind, "name": name, "ratio": fewer.pressure, "sentence": sentence}
