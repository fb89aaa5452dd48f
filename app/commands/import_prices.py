"""`specfleet import prices`: a cloud's or a cluster's price file as a price list of the user's own catalog."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from app.options import Debug, Json, Overwrite
from app.own_entry import EntryName, Folder, checked_name, hint_unread, write_entry

if TYPE_CHECKING:
    from calibration.importers.prices import PricesFound
    from simulator.spec.policy import PriceList

File = Annotated[Path, typer.Argument(metavar="FILE", help="vms.csv or pricing.csv of SkyPilot's catalog.")]
Region = Annotated[str | None, typer.Option("--region", metavar="NAME", help="Only this region, or zone.")]
Gpus = Annotated[list[str] | None, typer.Option("--gpu", metavar="NAME", help="Only this GPU. Repeatable.")]
Spot = Annotated[bool, typer.Option("--spot", help="Spot prices, instead of those on demand.")]
Cheapest = Annotated[bool, typer.Option("--cheapest", help="Where regions differ in price, the lowest.")]
Accelerators = Annotated[
    list[str] | None,
    typer.Option("--accelerator", metavar="NAME=GPU", help="GPU that an accelerator of the file is. Repeatable."),
]
Vcpus = Annotated[float | None, typer.Option("--vcpus", metavar="N", min=0, help="Of a cluster: vCPUs of a GPU.")]
MemoryGb = Annotated[
    float | None, typer.Option("--memory-gb", metavar="N", min=0, help="Of a cluster: memory that goes with a GPU.")
]
AsOf = Annotated[
    datetime | None,
    typer.Option("--as-of", formats=["%Y-%m-%d"], metavar="DATE", help="Day on which the prices held (today)."),
]


def prices(
    file: File,
    name: EntryName = None,
    region: Region = None,
    gpu: Gpus = None,
    spot: Spot = False,
    cheapest: Cheapest = False,
    accelerator: Accelerators = None,
    vcpus: Vcpus = None,
    memory_gb: MemoryGb = None,
    as_of: AsOf = None,
    out: Folder = None,
    force: Overwrite = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Turn a price file into prices of single GPUs, for price: {catalog: NAME}.

    Reads the files of SkyPilot's catalog (github.com/skypilot-org/skypilot-catalog): catalogs/*/CLOUD/vms.csv, and
    pricing.csv of a Slurm cluster. What an instance costs is shared out over its GPUs.

    \b
    Examples:
      specfleet import prices nebius/vms.csv
      specfleet import prices nebius/vms.csv --name nebius-october --as-of 2026-10-31
      specfleet import prices aws/vms.csv --region us-east-1 --spot --name aws-spot
    """
    from app.console import print_json
    from calibration.importers.prices import Asked, read_prices

    gpus, named = tuple(_known_gpus(gpu or [], "--gpu")), checked_name(name, out)
    asked = Asked(spot, region, gpus, _pairs(accelerator or []), cheapest, vcpus, memory_gb)
    found = read_prices(file, asked)
    day = (as_of or datetime.now()).date().isoformat()
    listed = None if named is None else _price_list(file, named, found, asked.spot, day)
    written = None if listed is None else write_entry("prices", listed, out, force=force)
    if as_json:
        print_json(_json(found) | {"as_of": day, "written": written and str(written)})
    else:
        _show(found, named, written, out)


def _known_gpus(given: list[str], option: str) -> list[str]:
    from simulator.catalog.load import load_gpu
    from simulator.errors import CatalogError

    for name in given:
        try:
            load_gpu(name)
        except CatalogError as error:
            raise CatalogError(f"{option}: {error}") from None
    return given


def _pairs(given: list[str]) -> dict[str, str]:
    pairs = {}
    for text in given:
        name, equals, gpu = text.partition("=")
        if not (name and equals and gpu):
            raise typer.BadParameter("write --accelerator NAME=GPU", param_hint=f"--accelerator {text}")
        pairs[name] = _known_gpus([gpu], f"--accelerator {name}")[0]
    return pairs


def _price_list(file: Path, name: str, found: "PricesFound", spot: bool, day: str) -> "PriceList":
    import hashlib

    from simulator.spec.policy import PriceEntry, PriceList
    from simulator.spec.sources import Source

    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    cluster = found.offers[0].cluster
    entries = tuple(
        PriceEntry(gpu=offer.gpu, usd_per_gpu_hour=offer.usd_per_gpu_hour, sku=offer.words, as_of=day, source="list")
        for offer in found.offers
    )
    source = Source(kind="price_list", ref=f"{file.name}, sha256 {digest}", date=datetime.now().date())
    cloud: Literal["spot", "on_demand"] = "spot" if spot else "on_demand"
    return PriceList(
        name=name, provider=name, basis="owned" if cluster else cloud, prices=entries, sources={"list": source}
    )


def _json(found: "PricesFound") -> dict[str, Any]:
    offers = [
        {"gpu": o.gpu, "usd_per_gpu_hour": o.usd_per_gpu_hour, "sku": o.sku, "num_gpus": o.num_gpus, "region": o.region}
        for o in found.offers
    ]
    return {"prices": offers, "left_out": dict(found.left_out), "notes": list(found.notes)}


def _show(found: "PricesFound", name: str | None, written: Path | None, out: Path | None) -> None:
    for offer in found.offers:
        typer.echo(f"{offer.gpu:<10} ${offer.usd_per_gpu_hour:.4g} per GPU-hour  {offer.words}")
    for said in found.notes:
        typer.echo(f"note: {said}")
    if found.left_out:
        typer.echo(f"left out: {'; '.join(f'{accelerator}: {why}' for accelerator, why in found.left_out.items())}")
    if written is None:
        typer.echo("Keep it with --name NAME.")
    else:
        typer.echo(f"{written} is written. In a deployment: price: {{catalog: {name}}} {hint_unread(out)}".rstrip())
