"""`specfleet import`: files that people have, looked at and turned into scenarios."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.import_acceptance import acceptance
from app.commands.import_benchmark import benchmark
from app.commands.import_model import model
from app.commands.import_prices import prices
from app.guard import GuardedCommand
from app.new_file import write_new
from app.options import Debug, Json, Overwrite

if TYPE_CHECKING:
    from simulator.planning.workload_fit import WorkloadFit

TraceFile = Annotated[Path, typer.Argument(metavar="FILE", help="A trace: Azure, BurstGPT, Mooncake or JSON lines.")]
Fit = Annotated[bool, typer.Option("--fit", help="Fit a compact workload that stands for the trace.")]
OutFile = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="With --fit: write a scenario with the workload.")
]


def build_import() -> typer.Typer:
    """The commands below `specfleet import`."""
    group = typer.Typer(name="import", help="Look at files that you have, and turn them into scenarios.",
                        no_args_is_help=True, rich_markup_mode=None)  # fmt: skip
    group.callback()(_group)
    group.command(name="trace", cls=GuardedCommand)(trace)
    group.command(name="acceptance", cls=GuardedCommand)(acceptance)
    group.command(name="benchmark", cls=GuardedCommand)(benchmark)
    group.command(name="prices", cls=GuardedCommand)(prices)
    group.command(name="model", cls=GuardedCommand)(model)
    return group


def _group() -> None:
    pass


def trace(
    file: TraceFile,
    fit: Fit = False,
    out: OutFile = None,
    force: Overwrite = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Say what a request trace holds, and fit a compact workload to it.

    The format is recognised by the file's content: Azure LLM inference CSV, BurstGPT CSV, Mooncake JSON lines, or the
    JSON lines of docs/workloads.md.

    \b
    Examples:
      specfleet import trace conversation.jsonl
      specfleet import trace azure.csv --fit --out from-azure.yaml && specfleet run from-azure.yaml
    """
    from app.console import print_json
    from simulator.cluster.traces import read_trace
    from simulator.planning.workload_fit import fit_workload, summary

    if out is not None and not fit:
        raise typer.BadParameter("writes the fitted workload: add --fit", param_hint="--out")
    table = read_trace(file)
    found: dict[str, Any] = {"file": str(file), "summary": summary(table)}
    fitted = fit_workload(table) if fit else None
    if fitted is not None:
        longest = int((table.prompt_tokens + table.output_tokens).max())
        found |= {"workload": fitted.workload, "queue_error": fitted.arrivals.error, "notes": list(fitted.notes)}
        found["written"] = None if out is None else str(_written(out, file, fitted, longest, force=force))
    if as_json:
        print_json(found)
    else:
        _show(found)


def _written(out: Path, file: Path, fitted: "WorkloadFit", longest_tokens: int, *, force: bool) -> Path:
    from scenarios.from_trace import scenario_text

    name = re.sub(r"[^A-Za-z0-9._-]+", "-", f"from-{file.stem}")[:80]
    notes = [f"Fitted to {file.name} by `specfleet import trace --fit`.", *fitted.notes]
    return write_new(out, scenario_text(fitted.workload, name, notes, longest_tokens), force=force)


def _show(found: dict[str, Any]) -> None:
    from app.console import out_console
    from app.tables.trace import trace_table
    from scenarios.from_trace import workload_text

    console = out_console()
    console.print(trace_table(found["file"], found["summary"]))
    if "workload" not in found:
        return
    console.print()
    for note in found["notes"]:
        console.print(note)
    console.print()
    if found["written"]:
        console.print(f"{found['written']} is written. Next: specfleet run {found['written']}")
    else:
        typer.echo(workload_text(found["workload"]), nl=False)
