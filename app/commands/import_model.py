"""`specfleet import model`: a Hugging Face config.json as a model of the user's own catalog."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.options import Debug, Json, Overwrite
from app.own_entry import EntryName, Folder, checked_name, hint_unread, write_entry

if TYPE_CHECKING:
    from simulator.catalog.hub.formats import WeightFormat
    from simulator.spec.model import Model

File = Annotated[Path, typer.Argument(metavar="FILE", help="config.json of a checkpoint.")]


def model(
    file: File,
    name: EntryName = None,
    out: Folder = None,
    force: Overwrite = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Turn a checkpoint's config.json into a model, and say which weight format it has.

    A scenario can also name the file itself: target: {model: ./config.json, ...}. What is not understood is refused by
    name; docs/importing.md lists what is read.

    \b
    Examples:
      specfleet import model Llama-3.1-8B/config.json
      specfleet import model ./config.json --name my-model
    """
    from app.console import print_json
    from simulator.catalog.hub.config import read_config
    from simulator.catalog.hub.formats import read_format

    found = read_config(file, checked_name(name, out))
    weights = read_format(file)
    told = _told(found, weights, name or str(file))
    written = None if name is None else write_entry("models", _dated(found), out, force=force)
    if as_json:
        print_json(told | {"model": found.model_dump(mode="json"), "written": written and str(written)})
    else:
        _show(told, written, out)


def _dated(found: "Model") -> "Model":
    """The model as it is kept: with the day on which the file was read."""
    from datetime import UTC, datetime

    today = datetime.now(UTC).date()
    return found.model_copy(
        update={"sources": {key: source.model_copy(update={"date": today}) for key, source in found.sources.items()}}
    )


def _told(found: "Model", weights: "WeightFormat", named: str) -> dict[str, Any]:
    """Figures to check the file by, and what a scenario writes."""
    from simulator.catalog.load import load_quantisation
    from simulator.physics.footprint import parameters, weight_bytes
    from simulator.physics.kv import kv_law

    counted = parameters(found)
    target: dict[str, Any] = {"model": named, "weights": weights.weights}
    target |= {"kv": weights.kv} if weights.kv else {}
    target |= {"unquantised": list(weights.unquantised)} if weights.unquantised else {}
    law = kv_law(found, "bf16")
    size = weight_bytes(found, load_quantisation(weights.weights), weights.unquantised)
    return {
        "parameters": counted.total,
        "active_per_token": counted.active_per_token,
        "weights_gb": round(size.total_bytes / 1e9, 3),
        "kv_bytes_per_token_bf16": law.bytes_per_token + law.sliding_bytes_per_token,
        "target": target,
        "notes": [*([found.notes] if found.notes else []), *weights.notes],
    }


def _show(told: dict[str, Any], written: Path | None, out: Path | None) -> None:
    import yaml

    typer.echo(
        f"{told['parameters'] / 1e9:.4g} B parameters ({told['active_per_token'] / 1e9:.4g} B active per token), "
        f"{told['weights_gb']:,.4g} GB of weights, {told['kv_bytes_per_token_bf16']:,} bytes of KV per token in bf16"
    )
    for said in told["notes"]:
        typer.echo(f"note: {said}")
    if written is not None:
        typer.echo(f"{written} is written. {hint_unread(out)}".rstrip())
    typer.echo("In a deployment:")
    typer.echo(
        f"  target: {yaml.safe_dump(told['target'], default_flow_style=True, sort_keys=False, width=1000)}", nl=False
    )
