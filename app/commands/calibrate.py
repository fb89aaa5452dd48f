"""`specfleet calibrate`: measure this device, fit a profile, measure acceptance, check the profile."""

from pathlib import Path
from typing import Annotated

import typer

from app.commands.calibrate_acceptance import acceptance
from app.commands.calibrate_check import check
from app.guard import GuardedCommand
from app.options import Debug, Json

Quick = Annotated[bool, typer.Option("--quick", help="About 2 minutes instead of about 8, and wider intervals.")]
Strict = Annotated[bool, typer.Option("--strict", help="Refuse a noisy machine.")]
Force = Annotated[bool, typer.Option("--force", help="Take over what another device has measured.")]
OutFolder = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Catalog folder (default: SPECFLEET_CATALOG, else specfleet-catalog)."),
]


def build_calibrate() -> typer.Typer:
    """The commands below `specfleet calibrate`."""
    group = typer.Typer(
        name="calibrate",
        help="Measure this device with the project's own engine, and fit a profile that scenarios use.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    group.callback()(_group)
    for command in (device, fit, acceptance, check):
        group.command(cls=GuardedCommand)(command)
    return group


def _group() -> None:
    pass


def device(
    quick: Quick = False,
    strict: Strict = False,
    out: OutFolder = None,
    force: Force = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Measure the engine on this device, fit a profile, and write both into your catalog.

    \b
    Examples:
      specfleet calibrate device --quick
      specfleet calibrate device --model smollm2 --threads 2 --strict
    """
    raise NotImplementedError


def fit(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `python -m calibration.measure` wrote.")],
    strict: Strict = False,
    out: OutFolder = None,
    force: Force = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Fit a profile to measurements that were taken elsewhere, and write it into your catalog.

    \b
    Examples:
      specfleet calibrate fit h200.json --out specfleet-catalog
    """
    raise NotImplementedError
