"""How sure a choice is: that it holds whatever the luck and the step model's error, and that nothing is cheaper."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from simulator.planning.fleet import fewest
from simulator.planning.model_error import clusters_of
from simulator.planning.search.appraisal import Appraisal
from simulator.planning.search.asked import alone
from simulator.planning.search.field import Field
from simulator.planning.search.points import Point
from simulator.planning.search.rivals import Confirmed, rivals_of


def confidence(
    field: Field, choice: Point, found: Mapping[str, Appraisal], done: Mapping[str, Confirmed]
) -> dict[str, Any] | None:
    """What the choice's holding rests on; None where nothing was simulated."""
    if choice.tried is None or choice.row is None:
        return None
    rivals = rivals_of(field, found, done)
    unsure = [name for name in rivals.hoped if rivals.might_cost_less(name, choice.cost)]
    held, count, slower = choice.tried.held, len(choice.tried.outcomes), choice.row["holds_if_slower"]
    enough = replicas_if_slower(field, choice) if slower is False else None
    return {
        "held": held,
        "replications": count,
        "holds_share": held / count,
        "interval": list(choice.tried.interval),
        "holds_if_slower": slower,
        "replicas_if_slower": enough,
        "not_simulated": unsure,
        "sentence": "; ".join([_luck(choice), *_steps(slower, enough), *choice.tried.too_short, *_cheaper(unsure)]),
    }


def replicas_if_slower(field: Field, choice: Point) -> int | None:
    """Fewest replicas that hold the offered load, headroom apart, if every step is longer by the model's error.

    By the estimate; None where even many times as many do not, or no error is known.
    """
    assert choice.replicas is not None
    slow = clusters_of(alone(field.scenario, choice.name, choice.replicas), choice.name).slow
    asked = replace(field.asked, headroom=0.0)
    return None if slow is None else fewest(lambda count: asked.holds(slow.with_replicas(count)), choice.replicas)


def _luck(choice: Point) -> str:
    assert choice.tried is not None
    held, count, (low, high) = choice.tried.held, len(choice.tried.outcomes), choice.tried.interval
    return f"holds in {held} of {count} replications, so in {low:.0%} to {high:.0%} of all (95 %)"


def _steps(slower: bool | None, enough: int | None) -> list[str]:
    """What the step model's error does to the choice; nothing where it is not known."""
    if slower is None:
        return []
    takes = f"it takes {enough} replicas" if enough else "no number of replicas does"
    return [f"with steps as slow as the model may err {'it still holds' if slower else takes}"]


def _cheaper(unsure: list[str]) -> list[str]:
    return [f"not simulated: {len(unsure)} that may cost less (plan.confirm)"] if unsure else []
