"""What the clusters of a plan cost a month by contract and by the hours of a day, and a batch job with a deadline."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from math import ceil
from statistics import fmean
from typing import Any

from simulator.catalog.load import load_gpu
from simulator.errors import CatalogError
from simulator.outcome.cost import Bill, ResolvedPrice, bill_of, resolved
from simulator.outcome.plain import plain
from simulator.planning.context import why_unfit
from simulator.planning.economics import HOURS_PER_MONTH
from simulator.planning.estimate import steady_cluster
from simulator.planning.fleet_hours import Rates, load_shape, mixes, mixes_json, replicas_by_hour, spot_usd
from simulator.planning.moved import only
from simulator.planning.tasks import run_all
from simulator.spec.deployment import Deployment
from simulator.spec.fleet import Fleet, Job, PriceByGpu
from simulator.spec.plan import Plan
from simulator.spec.scenario import Scenario

CONTRACTS = ("on_demand", "reserved", "spot")

CHUNK = 20
"""Deployments of a task."""

ASSUMPTIONS = (
    "hours are bought whole (for a job by the second), and replicas are there when an hour begins",
    "a replica carries the same whatever their number",
)


def fleet_view(
    scenario: Scenario, points: Sequence[Mapping[str, Any]], plan: Plan, executor: Executor | None = None
) -> dict[str, Any]:
    """The money of a plan's clusters, as plain JSON values.

    scenario: its deployments are the candidates.
    points: those of the plan's answer whose money is asked for, as `plan_json` tells them; each holds the load.
    executor: where the candidates of a job are estimated; None: here.
    """
    fleet = plan.fleet or Fleet()
    shape = load_shape(plan.fleet, scenario.workload.arrivals)
    rows = [_row(scenario.deployments[point["name"]], point, plan, shape) for point in points]
    gpus = dict.fromkeys(point["gpu"] for point in points)
    found: dict[str, Any] = plain(
        {
            "hours_per_month": HOURS_PER_MONTH,
            "load_by_hour": shape,
            "prices": {contract: _told(getattr(fleet, contract), gpus) for contract in CONTRACTS},
            "spot_interrupted": fleet.spot_interrupted if fleet.spot else None,
            "rows": rows,
            "job": None if fleet.job is None else job_view(scenario, fleet, fleet.job, executor),
            "assumptions": list(_assumed(fleet, [scenario.deployments[point["name"]] for point in points])),
        }
    )
    return found


def check_fleet(fleet: Fleet) -> None:
    """CatalogError for a GPU or a price list that is not there, or a list that lacks the GPU for which it is named."""
    for contract in CONTRACTS:
        for gpu, price in getattr(fleet, contract).items():
            try:
                load_gpu(gpu)
                resolved(price, gpu)
            except CatalogError as error:
                raise CatalogError(f"plan.fleet.{contract}.{gpu}: {error}") from None


def _assumed(fleet: Fleet, specs: Sequence[Deployment]) -> Iterator[str]:
    yield from ASSUMPTIONS
    if any(spec.draft_pool is not None and spec.draft_pool.shared_by > 1 for spec in specs):
        yield "by the hour, each of the replicas that share draft GPUs pays its part of them"
    if fleet.spot:
        yield (
            f"GPUs on spot are taken away in {fleet.spot_interrupted:.0%} of the hours and bought on demand instead; "
            "what a replica needs to come up again is left out"
        )


def _told(prices: PriceByGpu, gpus: Mapping[str, None]) -> dict[str, Any]:
    """GPU → a contract's price with where it was read, of the GPUs that are in the answer."""
    known: dict[str, ResolvedPrice] = {gpu: resolved(prices[gpu], gpu) for gpu in gpus if gpu in prices}
    return {
        gpu: {"usd_per_gpu_hour": one.usd_per_gpu_hour, "basis": one.basis, "source": one.source, "as_of": one.as_of}
        for gpu, one in known.items()
    }


def rates_of(spec: Deployment, fleet: Fleet) -> Rates:
    """What a replica of a deployment costs in an hour, by contract, with its share of a pool of draft GPUs."""
    return Rates(**{contract: bill.usd_per_replica_hour() for contract, bill in bills_of(spec, fleet).items()})


def bills_of(spec: Deployment, fleet: Fleet) -> dict[str, Bill]:
    """A deployment's bill on each contract that there is for its GPUs; its own price stands for one on demand."""
    bills = {contract: bill_on(spec, getattr(fleet, contract)) for contract in CONTRACTS}
    return {"on_demand": bill_of(spec)} | {contract: bill for contract, bill in bills.items() if bill is not None}


def bill_on(spec: Deployment, prices: PriceByGpu) -> Bill | None:
    """A deployment's bill at other prices; None where they lack one of its GPUs."""
    bill = bill_of(spec)
    if any(gpu not in prices for gpu in ({spec.gpu} if bill.pool is None else {spec.gpu, spec.draft_gpu})):
        return None
    own = replace(bill.replica, usd_per_gpu_hour=resolved(prices[spec.gpu], spec.gpu).usd_per_gpu_hour)
    if bill.pool is None:
        return replace(bill, replica=own)
    draft_usd = resolved(prices[spec.draft_gpu], spec.draft_gpu).usd_per_gpu_hour
    return replace(bill, replica=own, pool=replace(bill.pool, usd_per_gpu_hour=draft_usd))


def _row(spec: Deployment, point: Mapping[str, Any], plan: Plan, shape: Sequence[float]) -> dict[str, Any]:
    """What one cluster costs a month."""
    fleet = plan.fleet or Fleet()
    replicas, spares, utilisation = point["replicas"], point["spare_replicas"], point["utilisation"]
    needed = replicas_by_hour(shape, replicas, min(utilisation / (1.0 - plan.headroom), 1.0), spares)
    found = mixes(needed, rates_of(spec, fleet), fleet.spot_interrupted)
    used = utilisation * fmean(shape) * replicas / (replicas + spares)
    return {
        "name": point["name"],
        "gpu": point["gpu"],
        "replicas": replicas,
        "spare_replicas": spares,
        "usd_per_month": point["usd_per_month"],
        "idle_share": 1.0 - used,
        "idle_usd_per_month": point["usd_per_month"] * (1.0 - used),
        "users_served": point["users_served"],
        "replicas_by_hour": needed,
        "mixes": mixes_json(found),
        "cheapest_mix": min(found, key=lambda mix: mix.usd_per_month).name,
    }


def job_view(scenario: Scenario, fleet: Fleet, job: Job, executor: Executor | None = None) -> dict[str, Any]:
    """What a batch job costs on every candidate that fits, and where it costs least by contract and by GPU."""
    rates = job_rates(scenario, executor)
    rows = [
        row
        for name, req_per_s in rates.items()
        for row in job_rows(scenario.deployments[name], name, req_per_s, fleet, job)
    ]
    rows.sort(key=lambda row: (row["usd"], row["replicas"], row["name"]))
    best: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        best.setdefault((row["gpu"], row["contract"]), row)
    return {
        "requests": job.requests,
        "within_hours": job.within_hours,
        "choice": rows[0]["name"] if rows else None,
        "contract": rows[0]["contract"] if rows else None,
        "rows": list(best.values()),
    }


def job_rates(scenario: Scenario, executor: Executor | None = None) -> dict[str, float]:
    """Requests per second that a replica of each candidate gets through when nothing but work waits for it."""
    fitting = [name for name in scenario.deployments if not why_unfit(scenario, name)]
    parts = [fitting[start : start + CHUNK] for start in range(0, len(fitting), CHUNK)]
    found = run_all(_rates, [only(scenario, part) for part in parts], executor)
    return {name: rate for of in found for name, rate in of.items()}


def _rates(scenario: Scenario) -> dict[str, float]:
    return {
        name: steady_cluster(scenario, name).saturation() / spec.replicas for name, spec in scenario.deployments.items()
    }


def job_rows(spec: Deployment, name: str, req_per_s: float, fleet: Fleet, job: Job) -> Iterator[dict[str, Any]]:
    """A job on the fewest replicas that are done in time, on each contract that ends with it.

    req_per_s: of a replica.
    """
    replicas = max(ceil(job.requests / (req_per_s * job.within_hours * 3600.0) - 1e-9), 1)
    hours = job.requests / (req_per_s * replicas * 3600.0)
    usd_per_hour = {contract: bill.usd_per_hour(replicas) for contract, bill in bills_of(spec, fleet).items()}
    contracts = {"on_demand": usd_per_hour["on_demand"]}
    if "spot" in usd_per_hour:
        contracts["spot"] = spot_usd(usd_per_hour["spot"], usd_per_hour["on_demand"], fleet.spot_interrupted)
    for contract, usd in contracts.items():
        yield {
            "name": name,
            "gpu": spec.gpu,
            "contract": contract,
            "replicas": replicas,
            "num_gpus": bill_of(spec).gpus(replicas),
            "hours": hours,
            "usd": usd * hours,
        }
