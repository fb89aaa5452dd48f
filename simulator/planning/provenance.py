"""Where a study's numbers come from: version, seed, prices, and the sources of every catalog file that it used."""

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from simulator.catalog.load import (
    load_acceptance,
    load_engine,
    load_gpu,
    load_lengths,
    load_links,
    load_model,
    load_price_list,
    load_quantisation,
)
from simulator.outcome.cost import resolve_price
from simulator.spec.deployment import CatalogPrice, Deployment
from simulator.spec.scenario import Scenario
from simulator.spec.sources import Sources

UNCALIBRATED = "uncalibrated: catalog efficiencies"

Used = tuple[str, Sources]
"""A catalog file as folder/name, and its sources."""


def provenance(scenario: Scenario) -> dict[str, Any]:
    """Everything that a reader needs to trace a number of the study, ready for JSON."""
    used = dict(_used(scenario))
    return {
        "version": package_version(),
        "seed": scenario.seed,
        "replications": scenario.replications,
        "profile": UNCALIBRATED,
        "prices": {name: _price(deployment) for name, deployment in scenario.deployments.items()},
        "sources": [
            {"file": file, "key": key, "kind": source.kind, "ref": source.ref, "date": source.date.isoformat()}
            for file, sources in used.items()
            for key, source in sources.items()
        ],
        "assumptions": list(_assumptions(scenario, used)),
    }


def package_version() -> str:
    """Version of the installed distribution."""
    try:
        return version("specfleet")
    except PackageNotFoundError:
        return "not installed"


def _price(deployment: Deployment) -> dict[str, Any]:
    price = resolve_price(deployment)
    return {
        "usd_per_gpu_hour": price.usd_per_gpu_hour,
        "basis": price.basis,
        "source": price.source,
        "as_of": price.as_of,
    }


def _used(scenario: Scenario) -> Iterator[Used]:
    lengths = scenario.workload.lengths
    if lengths.kind == "empirical":
        yield f"lengths/{lengths.table}", load_lengths(lengths.table).sources
    for deployment in scenario.deployments.values():
        gpu = load_gpu(deployment.gpu)
        yield f"gpus/{deployment.gpu}", gpu.sources
        yield f"links/{gpu.links}", load_links(gpu.links).sources
        yield f"engines/{deployment.engine.policy}", load_engine(deployment.engine.policy).sources
        yield f"models/{deployment.target.model}", load_model(deployment.target.model).sources
        yield from _weights(deployment.target.weights)
        yield from _draft(deployment)
        if isinstance(deployment.price, CatalogPrice):
            yield f"prices/{deployment.price.catalog}", load_price_list(deployment.price.catalog).sources


def _weights(weights: str) -> Iterator[Used]:
    if weights != "bf16":
        yield f"quantisation/{weights}", load_quantisation(weights).sources


def _draft(deployment: Deployment) -> Iterator[Used]:
    if deployment.speculation.kind == "none":
        return
    draft = deployment.speculation.draft
    if draft.model is not None:
        yield f"models/{draft.model}", load_model(draft.model).sources
        yield from _weights(draft.weights)
    for acceptance in draft.acceptance.values():
        if acceptance.preset is not None:
            yield f"acceptance/{acceptance.preset}", load_acceptance(acceptance.preset).sources


def _assumptions(scenario: Scenario, used: dict[str, Sources]) -> Iterator[str]:
    """What nobody measured: said by the catalog itself, or stated by the scenario without a source."""
    for file, sources in used.items():
        for key, source in sources.items():
            if source.kind == "assumption":
                yield f"{file}, {key}: {source.ref}"
    for name, deployment in scenario.deployments.items():
        yield from (f"{name}: {said}" for said in _stated(deployment))


def _stated(deployment: Deployment) -> Iterator[str]:
    price = resolve_price(deployment)
    if price.basis == "assumption":
        yield f"${price.usd_per_gpu_hour:g} per GPU-hour ({price.source})"
    if deployment.speculation.kind == "none":
        return
    for which, acceptance in deployment.speculation.draft.acceptance.items():
        if acceptance.preset is None:
            yield f"acceptance of class {which} as the scenario states it"
