"""`specfleet export`: deployments as engine flags, with a benchmark that checks the prediction on hardware."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.exits import NOTHING_HOLDS, OK
from app.options import Debug, File, Json, Overwrite, Quiet, Sets

if TYPE_CHECKING:
    from app.export.exported import Exported
    from simulator.spec.scenario import Scenario

REQUESTS = 500
"""Requests of a benchmark: some minutes at a few a second. A choice."""

Names = Annotated[
    list[str] | None,
    typer.Option("--deployment", metavar="NAME", help="Only this deployment of the file. Repeatable."),
]
EngineName = Annotated[
    str | None,
    typer.Option("--engine", metavar="NAME", help="vllm, sglang or trtllm; by default the deployment's own."),
]
Folder = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Write bench.sh, its requests and what is predicted of them, by name."),
]
Scheduled = Annotated[
    bool, typer.Option("--schedule", help="Draft tokens by batch as advised, in place of the deployment's own.")
]
Requests = Annotated[
    int | None,
    typer.Option("--requests", metavar="N", min=1, help=f"With --out: requests of the benchmark ({REQUESTS})."),
]


def export(
    file: File,
    deployment: Names = None,
    engine: EngineName = None,
    out: Folder = None,
    schedule: Scheduled = False,
    requests: Requests = None,
    sets: Sets = None,
    force: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write deployments as engine flags: vLLM, SGLang, TensorRT-LLM.

    With the draft tokens by batch that are advised, where the drafts should run, and what the engine cannot be told.
    With --out also, for each deployment, a script that starts one replica and sends it its share of the load, with
    drafts accepted as often as predicted, and what it is predicted to measure. Of a sweep the first point is taken.

    \b
    Examples:
      specfleet export h200_vs_b200_chat --deployment h200-spec
      specfleet export chat.yaml --engine sglang --json
      specfleet export chat.yaml --schedule --out bench
      cd bench/h200-spec && ./bench.sh serve            # then, beside it: ./bench.sh run
      specfleet validate bench/h200-spec/result.json --against bench/h200-spec/predicted.json
    """
    from app.console import print_json
    from app.export.exported import exported
    from app.export.served import with_engine
    from app.loading import load
    from simulator.planning.context import why_unfit

    if requests is not None and out is None:
        raise typer.BadParameter("requests of the benchmark that is written: add --out DIR", param_hint="--requests")
    asked = load(file, sets or ()).points[0].scenario
    chosen = _chosen(asked, deployment or [])
    scenario = with_engine(asked, chosen, engine)
    unfit = {name: reason for name in chosen if (reason := why_unfit(scenario, name))}
    fitting = [name for name in chosen if name not in unfit]
    exports = [exported(scenario, name, scheduled=schedule) for name in fitting]
    shown = [_with_files(one, scenario, out, requests or REQUESTS, force=force) for one in exports]
    found = {"scenario": scenario.name, "deployments": shown, "unfit": unfit, **_prices(scenario, fitting)}
    if as_json:
        print_json(found)
    else:
        _print(found, quiet=quiet)
    raise typer.Exit(OK if shown else NOTHING_HOLDS)


def _chosen(scenario: "Scenario", names: list[str]) -> list[str]:
    from simulator.errors import ScenarioError

    for name in names:
        if name not in scenario.deployments:
            raise ScenarioError(f"--deployment {name}: the scenario has {', '.join(scenario.deployments)}")
    return list(dict.fromkeys(names)) or list(scenario.deployments)


def _prices(scenario: "Scenario", names: list[str]) -> dict[str, Any]:
    """At which price ratio GPU types tie, and when drafts have paid back, from estimates."""
    from simulator.planning.advice import price_ties
    from simulator.planning.economics import economics
    from simulator.planning.estimate import estimate

    rows = [estimate(scenario, name) for name in names]
    return {"price_ties": list(price_ties(rows)), "economics": economics(scenario, rows)}


def _with_files(
    one: "Exported", scenario: "Scenario", out: Path | None, requests: int, *, force: bool
) -> dict[str, Any]:
    """The export as JSON, with its files where a folder is named."""
    from app.export.files import BENCH_FILE, bench_files, flag_files, why_no_bench
    from app.new_file import write_new

    found = one.as_json() | {"why_no_bench": why_no_bench(one, scenario) or None, "written": []}
    if out is None:
        return found
    files = flag_files(one) | ({} if found["why_no_bench"] else bench_files(one, scenario, requests))
    written = [write_new(out / one.served.name / name, text, force=force) for name, text in files.items()]
    for path in written:
        if path.name == BENCH_FILE:
            path.chmod(0o755)
    return found | {"written": [str(path) for path in written]}


def _print(found: dict[str, Any], *, quiet: bool) -> None:
    """Commands as they are copied, whatever the width of the terminal; all else as wide as that."""
    from app.console import note, out_console
    from app.tables.export import export_blocks, heading, price_lines

    console = out_console()
    for one in found["deployments"]:
        typer.echo(f"{heading(one)}\n\n{one['text']}")
        for block in export_blocks(one):
            console.print(block)
        console.print()
    for block in price_lines(found):
        console.print(block)
    for name, reason in found["unfit"].items():
        note(f"{name} does not fit: {reason}", quiet=quiet)
