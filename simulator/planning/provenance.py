"""Where a study's numbers come from: version, seed, prices, and the sources of every catalog file that it used."""

from collections.abc import Collection, Iterable, Iterator
from collections.abc import Set as AbstractSet
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from simulator.catalog.load import (
    load_engine,
    load_gpu,
    load_lengths,
    load_links,
    load_model,
    load_price_list,
    load_quantisation,
    model_title,
    origin,
)
from simulator.outcome.cost import ResolvedPrice, resolve_draft_price, resolve_price
from simulator.physics.communication import link
from simulator.physics.formats import compute_dtype, linear_efficiency
from simulator.physics.ledger import host_share
from simulator.planning.beyond import beyond_measured
from simulator.planning.draft_provenance import Used, drafts_stated, drafts_used, placement_stated, weights_used
from simulator.planning.model_error import described, error_known
from simulator.run import step_model_of
from simulator.spec.deployment import Deployment
from simulator.spec.hardware import ComputeDtype, Gpu, Links
from simulator.spec.policy import EnginePolicy
from simulator.spec.price import CatalogPrice
from simulator.spec.profile import Profile
from simulator.spec.scenario import Scenario
from simulator.spec.sources import Sources

UNCALIBRATED = "uncalibrated: catalog efficiencies"


def provenance(scenario: Scenario) -> dict[str, Any]:
    """Everything that a reader needs to trace a number of the study, ready for JSON."""
    used = _merged(_used(scenario))
    return {
        "version": package_version(),
        "seed": scenario.seed,
        "replications": scenario.replications,
        "profile": "; ".join(dict.fromkeys(_profile_said(d) for d in scenario.deployments.values())),
        "calibration": {name: _calibration(scenario, name) for name in scenario.deployments},
        "prices": {name: _price(deployment) for name, deployment in scenario.deployments.items()},
        "sources": [
            {
                "file": file,
                "key": key,
                "kind": source.kind,
                "ref": source.ref,
                "date": source.date.isoformat() if source.date else "",
            }
            | _own_file(file)
            for file, sources in used.items()
            for key, source in sources.items()
        ],
        "assumptions": list(_assumptions(scenario, used)),
    }


def _own_file(file: str) -> dict[str, str]:
    """File of an entry of the user's own catalog, from its folder on, alike on every machine; none of the package."""
    where = Path(origin(*file.split("/", 1)))
    return {} if where == Path("package") else {"own_file": "/".join(where.parts[-3:])}


@cache
def package_version() -> str:
    """Version of the installed distribution."""
    try:
        return version("specfleet")
    except PackageNotFoundError:
        return "not installed"


def _profile_said(deployment: Deployment) -> str:
    """One line: the measured profile, its date, and how far it was off on rows that nothing was fitted on."""
    profile = step_model_of(deployment).calibration.profile
    if profile is None:
        return UNCALIBRATED
    errors = [error for group in profile.held_out if (error := group.tpot or group.step) is not None]
    off = ", ".join(f"{error.median_ape:.0%}" for error in errors)
    what = "TPOT" if any(group.tpot for group in profile.held_out) else "step"
    return f"{profile.name} of {profile.date} ({f'held-out {what} error {off}' if off else 'no held-out rows'})"


def _calibration(scenario: Scenario, name: str) -> dict[str, Any]:
    """Profile of a deployment with its errors, and which parts of its step are extrapolated or uncalibrated."""
    found = step_model_of(scenario.deployments[name]).calibration
    beyond = list(beyond_measured(scenario.deployments[name], scenario.workload))
    if found.profile is None:
        return {"profile": None, "extrapolated": beyond, "uncalibrated": ["all"], "error": None}
    return {
        "profile": found.profile.name,
        "date": found.profile.date,
        "versions": found.profile.versions,
        "fit_error": {part: error.median_ape for part, error in found.profile.fit_error.items()},
        "held_out": [group.model_dump(exclude={"source"}) for group in found.profile.held_out],
        "extrapolated": [*found.derived, *beyond],
        "uncalibrated": list(found.uncalibrated),
        "error": described(error_known(scenario, name)),
    }


def _price(deployment: Deployment) -> dict[str, Any]:
    own = _said_of_price(resolve_price(deployment))
    pool = deployment.draft_pool
    return (
        own
        if pool is None or pool.price is None
        else own | {"draft_gpus": _said_of_price(resolve_draft_price(deployment))}
    )


def _said_of_price(price: ResolvedPrice) -> dict[str, Any]:
    return {
        "usd_per_gpu_hour": price.usd_per_gpu_hour,
        "basis": price.basis,
        "source": price.source,
        "as_of": price.as_of,
    }


def _used(scenario: Scenario) -> Iterator[Used]:
    """Catalog files, each with the sources of those of its numbers that this scenario reads."""
    lengths = scenario.workload.lengths
    if lengths.kind == "empirical":
        yield f"lengths/{lengths.table}", load_lengths(lengths.table).sources
    for deployment in scenario.deployments.values():
        engine = load_engine(deployment.engine.policy)
        for gpu in map(load_gpu, dict.fromkeys((deployment.gpu, deployment.draft_gpu))):
            yield f"gpus/{gpu.name}", _named(gpu.sources, _read_of_gpu(gpu, engine, deployment))
            yield f"links/{gpu.links}", _read_of_links(load_links(gpu.links), gpu, deployment)
        profile = step_model_of(deployment).calibration.profile
        yield f"engines/{deployment.engine.policy}", _named(engine.sources, _read_of_engine(engine, profile))
        if profile is not None:
            yield f"profiles/{profile.name}", profile.sources
        yield f"models/{model_title(deployment.target.model)}", load_model(deployment.target.model).sources
        yield from weights_used(deployment.target.weights)
        yield from drafts_used(deployment)
        if isinstance(deployment.price, CatalogPrice):
            prices = load_price_list(deployment.price.catalog)
            read = {entry.source for entry in prices.prices if entry.gpu == deployment.gpu}
            yield f"prices/{deployment.price.catalog}", _named(prices.sources, read)


def _named(sources: Sources, keys: AbstractSet[str]) -> Sources:
    return {key: source for key, source in sources.items() if key in keys}


def _read_of_gpu(gpu: Gpu, engine: EnginePolicy, deployment: Deployment) -> set[str]:
    """Keys of the sources that the datasheet, memory, attention and the linear layers in use come from."""
    drafts = deployment.speculation.drafts.values()
    own = {deployment.target.weights} if gpu.name == deployment.gpu else set()
    formats = {*own, *(draft.weights for draft in drafts)} - {"bf16"}
    dtypes: set[ComputeDtype] = {"bf16", *(compute_dtype(gpu, load_quantisation(name)) for name in formats)}
    sections = (gpu.memory.source, gpu.compute.source, gpu.power.source, gpu.attention.source)
    linear = [linear_efficiency(gpu, engine.linear_from, dtype) for dtype in dtypes]
    return {gpu.source, *sections, *(used.source for used in linear)}


def _read_of_engine(engine: EnginePolicy, profile: Profile | None) -> set[str]:
    """All but the host time of a step, where a profile has fitted that."""
    fitted = profile is not None and bool(profile.constants.source)
    return set(engine.sources) - ({engine.overhead.unfitted_step.source} if fitted else set())


def _read_of_links(links: Links, gpu: Gpu, deployment: Deployment) -> Sources:
    """Sources of the links that messages cross, within a replica and to its draft GPUs; none where it is one GPU."""
    target = deployment.target
    drafts = [draft.tensor_parallel for draft in deployment.speculation.drafts.values()]
    groups = {size for size in (target.tensor_parallel, target.num_gpus, *drafts) if size > 1}
    crossed = {link(links, size, gpu.node_gpus).source for size in groups} | ({links.source} if groups else set())
    if deployment.engine.kv_host_gb is not None:
        crossed.add(links.point_to_point[deployment.engine.kv_host_link or "pcie"].source)
    if deployment.draft_pool is not None:
        crossed.add(links.point_to_point[deployment.draft_pool.link].source)
    return _named(links.sources, crossed)


def _merged(used: Iterable[Used]) -> dict[str, Sources]:
    """Every file once, with what any deployment reads of it."""
    merged: dict[str, Sources] = {}
    for file, sources in used:
        merged[file] = merged.get(file, {}) | sources
    return {file: sources for file, sources in merged.items() if sources}


def _assumptions(scenario: Scenario, used: dict[str, Sources]) -> Iterator[str]:
    """What nobody measured: said by the catalog itself, or stated by the scenario without a source."""
    for file, sources in used.items():
        for key, source in sources.items():
            if source.kind == "assumption":
                yield f"{file}, {key}: {source.ref}"
    for name, deployment in scenario.deployments.items():
        yield from (f"{name}: {said}" for said in _stated(deployment, scenario.workload.classes))


def _stated(deployment: Deployment, classes: Collection[str]) -> Iterator[str]:
    price = resolve_price(deployment)
    if price.basis == "assumption":
        yield f"${price.usd_per_gpu_hour:g} per GPU-hour ({price.source})"
    if deployment.engine.kv_host_gb is not None:
        share = host_share(deployment)
        yield f"{share:.0%} of the target's KV on the host, read in every step over the whole link: nothing hides it"
    if (pool := deployment.draft_pool) is not None and pool.price is not None:
        price = resolve_draft_price(deployment)
        if price.basis == "assumption":
            yield f"${price.usd_per_gpu_hour:g} per GPU-hour of draft GPUs ({price.source})"
    yield from drafts_stated(deployment, classes)
    yield from placement_stated(deployment)
