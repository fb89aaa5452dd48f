"""Advice in a sentence each: where a deployment's drafts should run, and at which price ratio two GPU types tie.

Both rest on estimates of the cost at capacity. Which draft pays at all is `when`'s, how long it should be is
`draft_schedule`'s, when its training has paid back is `economics`' to say.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

from pydantic import ValidationError

from simulator.catalog.load import load_gpu, load_links
from simulator.outcome.report import Row
from simulator.physics.checks import check_deployment
from simulator.planning.comparison import BY_CAPACITY, tie_price_ratio
from simulator.planning.context import why_unfit
from simulator.planning.draft_words import placement_words
from simulator.planning.estimate import estimate
from simulator.spec.deployment import Deployment
from simulator.spec.placement import Colocated, Dedicated, Placement
from simulator.spec.scenario import Scenario

SHARED_BY = (1, 2, 4, 8)
"""Replicas that share a pool of draft GPUs which is only looked at, up to the deployment's."""

LinkName = Literal["nvlink", "pcie", "internode"]


@dataclass(frozen=True, slots=True)
class Placed:
    """The drafts at one place."""

    placement: Placement
    usd_per_million: float | None
    """Output tokens at capacity, estimated; None: `why_not` [USD]."""
    why_not: str = ""

    def as_json(self) -> dict[str, Any]:
        """For scripts and screens."""
        placement = self.placement.model_dump(mode="json", exclude_unset=True)
        return {"placement": placement, "usd_per_million": self.usd_per_million, "why_not": self.why_not or None}


def placement_advice(scenario: Scenario, deployment: str) -> dict[str, Any] | None:
    """The same drafts beside the target and on GPUs of their own; None without drafts.

    Where a deployment says nothing of draft GPUs, pools of its own GPU type are looked at, on the fastest link that
    reaches them, with drafts and target taking turns: the best of `SHARED_BY`.
    """
    spec = scenario.deployments[deployment]
    if spec.speculation.kind == "none":
        return None
    own = _costs(scenario, deployment, spec, spec.speculation.placement)
    tried = [_tried(scenario, deployment, placement) for placement in _other_placements(spec)]
    other = min(tried, key=lambda one: float("inf") if one.usd_per_million is None else one.usd_per_million)
    sentence = f"{deployment}: {_sentence(own, other)}"
    return {"deployment": deployment, "own": own.as_json(), "other": other.as_json(), "sentence": sentence}


def _other_placements(spec: Deployment) -> list[Placement]:
    """Placements to hold the deployment's own against."""
    if spec.draft_pool is not None:
        return [Colocated(kind="colocated")]
    gpus = sum(draft.tensor_parallel for draft in spec.speculation.drafts.values())
    shares = [n for n in SHARED_BY if n <= spec.replicas]
    return [Dedicated(kind="dedicated", gpus=gpus, shared_by=n, link=_link(spec, gpus, n)) for n in shares]


def _link(spec: Deployment, gpus: int, shared_by: int) -> LinkName:
    """The fastest link between a pool and the replicas that share it."""
    gpu = load_gpu(spec.gpu)
    within = shared_by * spec.target.num_gpus + gpus <= gpu.node_gpus
    known, fastest = load_links(gpu.links).point_to_point, ("nvlink", "pcie")
    return next((name for name in known if within and name in fastest), "internode")


def _tried(scenario: Scenario, deployment: str, placement: Placement) -> Placed:
    """What a placement costs, or why it cannot be."""
    document = scenario.deployments[deployment].model_dump(mode="json", exclude_unset=True)
    chosen = placement.model_dump(mode="json", exclude_unset=True)
    document["speculation"] |= {"placement": chosen, "policy": {"kind": "fixed"}}
    try:
        spec = Deployment.model_validate(document)
    except ValidationError as error:
        said = (str(one["msg"]).removeprefix("Value error, ") for one in error.errors())
        return Placed(placement, None, "; ".join(said))
    return _costs(scenario, deployment, spec, placement)


def _costs(scenario: Scenario, deployment: str, spec: Deployment, placement: Placement) -> Placed:
    placed = scenario.model_copy(update={"deployments": {deployment: spec}})
    why = "; ".join(check_deployment(deployment, spec)) or why_unfit(placed, deployment)
    if why:
        return Placed(placement, None, why)
    cost = estimate(placed, deployment)[BY_CAPACITY]
    return Placed(placement, cost, "" if cost is not None else "no load holds the latency target")


def _sentence(own: Placed, other: Placed) -> str:
    here, there = _where(own.placement), _where(other.placement)
    if other.usd_per_million is None:
        return f"its drafts stay {here}; {there} they cannot serve: {other.why_not}"
    if own.usd_per_million is None:
        return f"{here} they cannot serve: {own.why_not}; {there} they cost {_usd(other)}"
    better = f"leave them {here}" if own.usd_per_million <= other.usd_per_million else f"cheaper {there}"
    return f"drafts {here} cost {_usd(own)}, {there} {_usd(other)} (estimated): {better}"


def _usd(placed: Placed) -> str:
    return f"${placed.usd_per_million:.3f} per million output tokens at capacity"


def _where(placement: Placement) -> str:
    if placement.kind == "colocated":
        return "beside the target"
    return f"{placement_words(placement).strip()} over {placement.link}"


def price_ties(rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """For every two GPU types, the ratio of $/GPU-hour at which the cheapest deployments of both tie at capacity.

    rows: one of each deployment, of one point.
    """
    known = sorted((row for row in rows if row[BY_CAPACITY] is not None), key=lambda row: float(row[BY_CAPACITY]))
    best = {row["gpu"]: row for row in reversed(known)}
    for winner, other in combinations([row for row in known if best[row["gpu"]] is row], 2):
        yield _tie(winner, other)


def _tie(winner: Row, other: Row) -> dict[str, Any]:
    prices = winner["usd_per_gpu_hour"], other["usd_per_gpu_hour"]
    now, tie = prices[0] / prices[1], tie_price_ratio(*prices, other[BY_CAPACITY] / winner[BY_CAPACITY])
    sentence = (
        f"at capacity {winner['deployment']} is cheaper than {other['deployment']} while a GPU-hour of "
        f"{winner['gpu']} costs less than {tie:.2f} times one of {other['gpu']} (now {now:.2f} times)"
    )
    return {
        "winner": winner["deployment"], "other": other["deployment"], "gpus": [winner["gpu"], other["gpu"]],
        "now": now, "tie": tie, "sentence": sentence,
    }  # fmt: skip
