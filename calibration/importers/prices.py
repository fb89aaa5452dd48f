"""Prices of instances (SkyPilot's vms.csv) or of a cluster's accelerators (its pricing.csv) as prices of single GPUs.

Nothing is guessed: an accelerator whose GPU is not known here is left out and told, and a price that differs from
region to region is refused until one is chosen.
"""

from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import NamedTuple

from calibration.csv_cells import Line, read_lines, rows_of, text
from calibration.importers.accelerators import gpu_of
from simulator.errors import ScenarioError

INSTANCES = ("AcceleratorName", "AcceleratorCount", "Price", "Region")
CLUSTER = ("AcceleratorName", "PricePerAccelerator", "PricePerVCPU", "PricePerMemoryGB")
SAME = 1e-6
"""Relative difference below which two prices are one."""


class Asked(NamedTuple):
    """What is taken of a file."""

    spot: bool = False
    region: str | None = None
    """A region, or an availability zone."""
    gpus: tuple[str, ...] = ()
    """GPUs of the catalog; empty: all that are known."""
    accelerators: Mapping[str, str] = {}
    """Accelerator of the file → GPU of the catalog, beyond those known here."""
    cheapest: bool = False
    """Whether the lowest price is meant where regions differ."""
    vcpus: float | None = None
    """vCPUs that go with a GPU of a cluster."""
    memory_gb: float | None = None
    """Memory of the host that goes with a GPU of a cluster [10^9 bytes]."""


def _gpus(count: int) -> str:
    return "1 GPU" if count == 1 else f"{count} GPUs"


class Offer(NamedTuple):
    """One line: an instance, or an accelerator of a cluster."""

    id: str
    accelerator: str
    gpu: str
    sku: str
    num_gpus: int
    region: str
    zone: str
    usd_per_gpu_hour: float
    cluster: bool = False
    """Whether it is of a cluster of the user's own, not of a cloud."""

    @property
    def words(self) -> str:
        """What is bought, and where, as a price list says it."""
        size = [] if self.cluster else [_gpus(self.num_gpus)]
        return f"{self.sku} ({', '.join([*size, *([self.region] if self.region else [])])})".removesuffix(" ()")


class LeftOut(NamedTuple):
    """A line that prices no GPU of the catalog."""

    id: str
    accelerator: str
    """Empty: the line prices no accelerator at all."""
    why: str
    priced: bool = True
    """Whether it has a price at all: one without is told only where no other line has one."""


class PricesFound(NamedTuple):
    """What a file says."""

    offers: tuple[Offer, ...]
    """One a GPU, in order of name."""
    left_out: Mapping[str, str]
    """Accelerator → why it is not among them."""
    notes: tuple[str, ...]


def read_prices(path: Path, asked: Asked) -> PricesFound:
    """The price of each GPU; ScenarioError where the file is broken, or does not say one price."""
    columns: list[str] = []

    def check(names: list[str]) -> None:
        _check_columns(path, names)
        columns.extend(names)

    lines = read_lines(path, check)
    row_of = _instance if set(INSTANCES) <= set(columns) else _accelerator
    rows = rows_of(path, lines, lambda number, line: row_of(f"{path}:{number}", line, asked))
    offers = [row for row in rows if isinstance(row, Offer)]
    left_out = _left_out(offers, [row for row in rows if isinstance(row, LeftOut)])
    chosen = _in_region(path, [offer for offer in offers if not asked.gpus or offer.gpu in asked.gpus], asked)
    if not chosen:
        raise ScenarioError(f"{path}: {_nothing(offers, left_out, asked)}")
    by_gpu = {gpu: [offer for offer in chosen if offer.gpu == gpu] for gpu in sorted({offer.gpu for offer in chosen})}
    found = [_one_price(path, same, asked) for same in by_gpu.values()]
    return PricesFound(tuple(offer for offer, _ in found), left_out, tuple(note for _, note in found if note))


def _check_columns(path: Path, names: Sequence[str]) -> None:
    if not names:
        raise ScenarioError(f"{path}:1: no header; a file of SkyPilot's catalog begins with one")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ScenarioError(f"{path}:1: column {', '.join(twice)} stands twice")
    if not (set(INSTANCES) <= set(names) or set(CLUSTER) <= set(names)):
        raise ScenarioError(
            f"{path}:1: neither SkyPilot's vms.csv (columns {', '.join(INSTANCES)}) nor its pricing.csv of a cluster "
            f"({', '.join(CLUSTER)})"
        )


def _instance(place: str, line: Line, asked: Asked) -> Offer | LeftOut:
    """A line of vms.csv."""
    accelerator, instance = text(line, "AcceleratorName"), text(line, "InstanceType")
    if not accelerator:
        return LeftOut(place, "", "")
    gpu, why = gpu_of(accelerator, instance, text(line, "GpuInfo"), asked.accelerators)
    if gpu is None:
        return LeftOut(place, accelerator, why)
    column = "SpotPrice" if asked.spot else "Price"
    price = _price(line, column)
    if price is None:
        return LeftOut(place, accelerator, f"no {column} for it", priced=False)
    count = _price(line, "AcceleratorCount")
    if count is None or not count.is_integer():
        raise ValueError(f"AcceleratorCount: {text(line, 'AcceleratorCount')!r} is not a whole number of GPUs")
    region, zone = text(line, "Region"), text(line, "AvailabilityZone")
    return Offer(place, accelerator, gpu, instance or accelerator, int(count), region, zone, price / count)


def _accelerator(place: str, line: Line, asked: Asked) -> Offer | LeftOut:
    """A line of a cluster's pricing.csv: what a GPU costs, and the vCPUs and the memory that go with it."""
    accelerator = text(line, "AcceleratorName")
    if not accelerator:
        return LeftOut(place, "", "")
    if asked.spot:
        raise ValueError("a cluster's prices have no spot price: leave out --spot")
    gpu, why = gpu_of(accelerator, "", "", asked.accelerators)
    if gpu is None:
        return LeftOut(place, accelerator, why)
    price = _price(line, "PricePerAccelerator")
    if price is None:
        return LeftOut(place, accelerator, "no PricePerAccelerator for it", priced=False)
    price += _share(line, "PricePerVCPU", asked.vcpus, "--vcpus") + _share(
        line, "PricePerMemoryGB", asked.memory_gb, "--memory-gb"
    )
    return Offer(place, accelerator, gpu, accelerator, 1, text(line, "Region"), text(line, "Zone"), price, cluster=True)


def _share(line: Line, column: str, units: float | None, option: str) -> float:
    """What goes with a GPU, priced by the unit [USD/h]."""
    each = _number(line, column) or 0.0
    if each < 0:
        raise ValueError(f"{column}: {text(line, column)!r} is below 0")
    if each > 0 and units is None:
        raise ValueError(f"{column}: {each:g} is charged beside the GPU: say how much goes with one, {option} N")
    return each * (units or 0.0)


def _price(line: Line, column: str) -> float | None:
    """A number above 0; None where the cell is empty."""
    found = _number(line, column)
    if found is not None and found <= 0:
        raise ValueError(f"{column}: {text(line, column)!r} is not above 0")
    return found


def _number(line: Line, column: str) -> float | None:
    found = text(line, column)
    if not found:
        return None
    try:
        value = float(found)
    except ValueError:
        raise ValueError(f"{column}: {found!r} is not a number") from None
    if not isfinite(value):
        raise ValueError(f"{column}: {found!r} is not a number")
    return value


def _left_out(offers: Sequence[Offer], rows: Sequence[LeftOut]) -> dict[str, str]:
    priced = {offer.accelerator for offer in offers}
    return {
        row.accelerator: row.why for row in rows if row.accelerator and (row.priced or row.accelerator not in priced)
    }


def _in_region(path: Path, offers: list[Offer], asked: Asked) -> list[Offer]:
    if asked.region is None or not offers:
        return offers
    found = [offer for offer in offers if asked.region in (offer.region, offer.zone)]
    if not found:
        known = sorted({offer.region for offer in offers if offer.region})
        raise ScenarioError(f"{path}: no price in --region {asked.region}; known: {_few(known)}")
    return found


def _nothing(offers: Sequence[Offer], left_out: Mapping[str, str], asked: Asked) -> str:
    if offers:
        known = ", ".join(sorted({offer.gpu for offer in offers}))
        return f"no price of {', '.join(asked.gpus)}; it prices {known}"
    if not left_out:
        return "no line prices an accelerator"
    told = _few([f"{accelerator} ({why})" for accelerator, why in left_out.items()])
    return f"no price of a GPU of the catalog: {told}; say which GPU is meant by --accelerator NAME=GPU"


def _one_price(path: Path, offers: Sequence[Offer], asked: Asked) -> tuple[Offer, str]:
    """The price of one GPU, and how it was chosen where there were several."""
    by_region = {region: _of_region([o for o in offers if o.region == region]) for region in _regions(offers)}
    cheapest = min(by_region.values(), key=_usd)
    dearest = max(by_region.values(), key=_usd)
    if _usd(dearest) > _usd(cheapest) * (1.0 + SAME) and not asked.cheapest:
        told = _few([f"{region or 'no region'} {_usd(offer):.4g}" for region, offer in by_region.items()])
        raise ScenarioError(
            f"{path}: {cheapest.gpu} has {len(by_region)} prices in USD per GPU-hour: {told}; choose one by --region, "
            "or take the lowest by --cheapest"
        )
    prices = sorted(_usd(offer) for offer in offers)
    note = "" if prices[-1] <= prices[0] * (1.0 + SAME) else _chosen(cheapest, prices, len(offers))
    return cheapest, note


def _chosen(offer: Offer, prices: Sequence[float], lines: int) -> str:
    return (
        f"{offer.gpu}: of {lines} lines from {prices[0]:.4g} to {prices[-1]:.4g} USD per GPU-hour, the cheapest of the "
        f"largest instances is taken ({_gpus(offer.num_gpus)}): a replica needs its GPUs in one machine"
    )


def _regions(offers: Sequence[Offer]) -> list[str]:
    return sorted({offer.region for offer in offers})


def _of_region(offers: Sequence[Offer]) -> Offer:
    """The cheapest of a region's largest instances."""
    largest = max(offer.num_gpus for offer in offers)
    return min((offer for offer in offers if offer.num_gpus == largest), key=_usd)


def _usd(offer: Offer) -> float:
    return offer.usd_per_gpu_hour


def _few(told: Sequence[str], most: int = 6) -> str:
    return ", ".join(told[:most]) + (f" and {len(told) - most} more" if len(told) > most else "")
