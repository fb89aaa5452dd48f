"""`specfleet runs`: what lies in a runs folder, one of it anew on the screen, and what of it may go."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.guard import GuardedCommand
from app.options import Debug, Json, Out

if TYPE_CHECKING:
    from scenarios.runs import Run

Named = Annotated[str | None, typer.Option("--name", metavar="NAME", help="Runs of a scenario; * stands for anything.")]
NewerThan = Annotated[
    str | None, typer.Option("--newer-than", metavar="AGE", help="Runs not older than 90m, 12h, 7d or 4w.")
]
OnGpu = Annotated[str | None, typer.Option("--gpu", metavar="GPU", help="Runs with a deployment on a GPU.")]
OlderThan = Annotated[
    str | None, typer.Option("--older-than", metavar="AGE", help="Remove only runs older than 90m, 12h, 7d or 4w.")
]
Keep = Annotated[
    int | None, typer.Option("--keep", metavar="N", min=0, help="Keep the newest N runs of each scenario.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Remove nothing: say what would go.")]
Folder = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]


def build_runs() -> typer.Typer:
    """The commands below `specfleet runs`."""
    group = typer.Typer(name="runs", help="List, show and prune the runs that are kept.", no_args_is_help=True,
                        rich_markup_mode=None)  # fmt: skip
    group.callback()(_group)
    group.command(name="list", cls=GuardedCommand)(list_)
    group.command(name="show", cls=GuardedCommand)(show)
    group.command(name="prune", cls=GuardedCommand)(prune)
    return group


def _group() -> None:
    pass


def list_(
    out: Out = Path("runs"),
    name: Named = None,
    newer_than: NewerThan = None,
    gpu: OnGpu = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """List the runs that are kept, the newest first: finished, running, or left unfinished.

    \b
    Examples:
      specfleet runs list
      specfleet runs list --name 'chat*' --newer-than 7d --gpu b200-sxm
    """
    from app.tables.runs import runs_table
    from scenarios.runs import age, chosen, list_runs

    found = chosen(list_runs(out), name, None if newer_than is None else age(newer_than), gpu)
    if as_json:
        _print(found)
    else:
        _print_table(runs_table(found))


def show(folder: Folder, as_json: Json = False, debug: Debug = False) -> None:
    """Show a run as it was shown when it ran; of one that is not finished, the points that are.

    \b
    Example:
      specfleet runs show runs/chat-1a2b3c4d
    """
    from app.stored import stored_summary

    loaded, summary = stored_summary(folder)
    if as_json:
        from app.console import print_json

        print_json(summary)
    else:
        from app.show import show as show_summary

        show_summary(loaded, summary)


def prune(
    out: Out = Path("runs"),
    older_than: OlderThan = None,
    keep: Keep = None,
    name: Named = None,
    dry_run: DryRun = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Remove runs by age, or all but the newest of each scenario; a run that is on its way is left alone.

    With both --older-than and --keep, what goes is older than the one and not among the other.

    \b
    Examples:
      specfleet runs prune --older-than 4w --keep 3
      specfleet runs prune --keep 1 --name 'nightly-*' --dry-run
    """
    from app.tables.runs import runs_table
    from scenarios.runs import age, chosen, list_runs, remove, to_prune
    from simulator.errors import ScenarioError

    if older_than is None and keep is None:
        raise ScenarioError("say what may go: --older-than AGE, --keep N, or both")
    found = to_prune(chosen(list_runs(out), name), None if older_than is None else age(older_than), keep)
    for run in () if dry_run else found:
        remove(run)
    if as_json:
        _print(found)
    else:
        _print_table(runs_table(found, "would go" if dry_run else "removed"))


def _print(runs: "list[Run]") -> None:
    from dataclasses import asdict

    from app.console import print_json

    print_json({"runs": [asdict(run) | {"path": str(run.path), "written": run.written.isoformat()} for run in runs]})


def _print_table(table: Any) -> None:
    from app.console import out_console

    out_console().print(table)
