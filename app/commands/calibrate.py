"""`specfleet calibrate`: measure this device, fit a profile, measure acceptance, check the profile."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from app import drafts
from app.commands.calibrate_acceptance import acceptance
from app.commands.calibrate_check import check
from app.engine_part import engine_part
from app.guard import GuardedCommand
from app.options import Debug, Json

if TYPE_CHECKING:
    from calibration.device_run import Calibrated

Quick = Annotated[bool, typer.Option("--quick", help="About 2 minutes instead of about 8, and wider intervals.")]
Strict = Annotated[bool, typer.Option("--strict", help="Refuse a noisy machine.")]
Force = Annotated[bool, typer.Option("--force", help="Take over what another device has measured.")]
Model = Annotated[str, typer.Option("--model", help="smollm2, a folder, a .gguf file, or random:NAME of the catalog.")]
Threads = Annotated[
    int | None, typer.Option("--threads", metavar="N", min=1, help="CPU threads, as you will serve with.")
]
Clock = Annotated[
    Literal["wall", "cpu"],
    typer.Option("--clock", help="cpu: seconds that the process computes, for one thread on a busy machine."),
]
EntryName = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="Name of the device in the catalog (default: its own).")
]
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
    model: Model = "smollm2",
    threads: Threads = None,
    draft: drafts.Draft = "lookup",
    draft_model: drafts.DraftModel = None,
    epsilon: drafts.Epsilon = None,
    of: drafts.Of = None,
    ngram: drafts.Ngram = None,
    tree: drafts.Tree = None,
    nodes: drafts.Nodes = None,
    dynamic_tree: drafts.DynamicTree = None,
    head: drafts.Head = None,
    resident_experts: drafts.ResidentExperts = None,
    active_experts: drafts.ActiveExperts = None,
    draft_process: drafts.DraftProcess = None,
    clock: Clock = "wall",
    quick: Quick = False,
    strict: Strict = False,
    name: EntryName = None,
    out: OutFolder = None,
    force: Force = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Measure the engine on this device, fit a profile, and write both into your catalog.

    An interrupted run goes on where it stopped. Measured again with another draft, the profile keeps those that it has;
    a scenario names each: `measured: union-lookup-ngram-code`. Your catalog is the folder that SPECFLEET_CATALOG names,
    else specfleet-catalog in the working folder.

    \b
    Examples:
      specfleet calibrate device --quick
      specfleet calibrate device --model smollm2 --threads 2 --strict
      specfleet calibrate device --quick --draft union --of lookup --of ngram --ngram code
      specfleet calibrate device --quick --draft ngram --ngram code --tree 2,2
    """
    from app.progress import ProgressBar
    from calibration.device_run import calibrate_device

    drafting = engine_part("calibration.drafts").Drafts(
        draft, draft_model, epsilon, tuple(of or ()), tuple(ngram or ()), None, tree, nodes, dynamic_tree, head,
        resident_experts, active_experts, draft_process,
    )  # fmt: skip
    words = ["--model", model, *drafting.words(), "--clock", clock, *(["--threads", str(threads)] if threads else [])]
    words += [flag for flag, wanted in (("--quick", quick), ("--strict", strict), ("--force", force)) if wanted]
    with ProgressBar() as bar:

        def say(done: int, total: int, left_s: float, what: str) -> None:
            bar.describe(f"{what}, {left_s:.0f} s left" if total else what)
            if total:
                bar.update(min(done, total), total)

        found = calibrate_device(words, name, out, say, force=force)
    _tell(found, as_json=as_json)


def fit(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `python -m calibration.measure` wrote.")],
    strict: Strict = False,
    name: EntryName = None,
    out: OutFolder = None,
    force: Force = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Fit a profile to measurements that were taken elsewhere, and write it into your catalog.

    \b
    Examples:
      specfleet calibrate fit h200.json
      specfleet calibrate fit cpu.json --name cpu-laptop --out specfleet-catalog
    """
    from calibration.device_run import fit_file

    _tell(fit_file(file, name, out, strict=strict, force=force), as_json=as_json)


def _tell(found: "Calibrated", *, as_json: bool) -> None:
    from app.console import note, out_console, print_json
    from app.tables.calibration import error_table, next_steps
    from calibration.device_run import error_rows

    profile, surface = found.fit.profile, found.fit.surface
    rows, device = error_rows(surface), profile.device
    if device is not None and device.noisy:
        note(f"noisy: {'; '.join(device.notes)}: the figures are worth that much and no more")
    if as_json:
        print_json({"gpu": profile.gpu, "profile": profile.name, "device": device and device.model_dump(),
                    "model": surface.model, "shapes": surface.samples, "errors": rows,
                    "files": [str(file) for file in found.files]})  # fmt: skip
        return
    console = out_console()
    console.print(f"{profile.name}: {surface.samples} step shapes of {surface.model}")
    console.print(error_table(rows))
    console.print("\n".join(f"written: {file}" for file in found.files))
    console.print(
        next_steps(profile.gpu, surface.model, surface.weights, surface.drafts[0].draft if surface.drafts else None)
    )
