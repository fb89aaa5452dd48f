"""`specfleet calibrate check`: predicted against measured for serving runs that no fit has seen."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from app.engine_part import engine_part
from app.options import Debug, Json, Quiet

if TYPE_CHECKING:
    from collections.abc import Mapping

Quick = Annotated[bool, typer.Option("--quick", help="Two loads, K 0 and 3: a few minutes.")]
Full = Annotated[bool, typer.Option("--full", help="Six loads, K from 0 to 8, and far percentiles: half an hour.")]
Drafters = Annotated[
    bool,
    typer.Option(
        "--drafters",
        help="A union of look-up and tables, a tree, and a drafter in its own process, instead of look-up.",
    ),
]
GpuName = Annotated[
    str | None, typer.Option("--gpu", metavar="NAME", help="Device whose profile is checked (default: the only one).")
]
AcceptanceFolder = Annotated[
    Path | None,
    typer.Option("--acceptance", metavar="DIR", help="What `calibrate acceptance` measured (default: your catalog's)."),
]
OutFolder = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Folder of the check (default: runs/check-SIZE).")
]
Clock = Annotated[
    Literal["wall", "cpu"],
    typer.Option("--clock", help="cpu: seconds that the process computes, for one thread on a busy machine."),
]
Again = Annotated[bool, typer.Option("--force", help="Measure anew what is there; take the profile of another device.")]


def check(
    quick: Quick = False,
    full: Full = False,
    drafters: Drafters = False,
    gpu: GpuName = None,
    acceptance: AcceptanceFolder = None,
    out: OutFolder = None,
    clock: Clock = "wall",
    force: Again = False,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Serve workloads that no fit has seen on this device, predict them, and say how far apart the two are.

    Requests come by the clock, at several rates from near idle to past saturation, and from clients who wait; with
    and without drafts; every point twice, so that each error stands beside what the machine itself repeats to. A
    check that was interrupted goes on where it stopped. Nothing else should run meanwhile. Needs the profile of
    `calibrate device` and the acceptance of `calibrate acceptance`.

    \b
    Examples:
      specfleet calibrate check
      specfleet calibrate check --full --out runs/check-full
      specfleet calibrate check --drafters
      specfleet calibrate check --json > check.json
    """
    from app.console import note, print_json
    from app.progress import ProgressBar
    from simulator.catalog.own import folder_for_entries

    asked = [size for size, wanted in (("quick", quick), ("full", full), ("drafters", drafters)) if wanted]
    if len(asked) > 1:
        raise typer.BadParameter(f"either --{asked[0]} or --{asked[1]}", param_hint=f"--{asked[1]}")
    checking = engine_part("calibration.check.checking")
    size = asked[0] if asked else "default"
    folder = out or Path("runs") / f"check-{size}"
    texts = acceptance or folder_for_entries(None) / "measured"
    plan = checking.Plan(size, gpu or checking.profiled_gpu(), folder, texts, clock, force=force)
    with ProgressBar(quiet=quiet) as bar:
        bar.describe("serving")
        found = checking.check(plan, bar.update, lambda text: note(text, quiet=quiet))
    written = _written(folder, found)
    if as_json:
        print_json(found)
    else:
        from app.console import out_console
        from app.tables.check import check_blocks

        for block in check_blocks(found):
            out_console().print(block)
    note(f"written: {', '.join(map(str, written))}", quiet=quiet)


def _written(folder: Path, found: "Mapping[str, Any]") -> list[Path]:
    """The summary as JSON and as a page, each whole or not at all."""
    from app.console import json_text
    from app.report.check_page import check_html
    from calibration.whole_file import write_whole

    texts = {"summary.json": json_text(found) + "\n", "report.html": check_html(found)}
    return [write_whole(folder / name, text) for name, text in texts.items()]
