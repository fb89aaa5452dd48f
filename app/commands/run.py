"""`specfleet run`: simulate every deployment of a scenario and say which is cheapest, why, and what flips it."""

from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import typer

from app.exits import INTERRUPTED, worst
from app.options import Debug, Files, Force, Jobs, Json, Out, Quiet, Requests, Seeds, Sets, with_seeds


def run(
    files: Files,
    as_json: Json = False,
    sets: Sets = None,
    out: Out = Path("runs"),
    seeds: Seeds = None,
    jobs: Jobs = None,
    force: Force = False,
    requests: Requests = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Simulate deployments: the cheapest, why, and what flips it.

    Every deployment, sweep point and replication is simulated under the same random streams. Results go to a run
    folder, where a finished point is found again instead of being computed anew.

    \b
    Examples:
      specfleet run h200_vs_b200_chat
      specfleet run chat.yaml --set workload.arrivals.rate_per_s=8 --seeds 3
      specfleet run scenarios/ --json > results.json
    """
    from app.loading import expand
    from app.simulate import Settings
    from app.workers import workers

    names, batch = expand(files)
    settings = Settings(out, force=force, quiet=quiet, requests=requests)
    found: list[dict[str, Any]] = []
    with workers(jobs) as executor:
        if batch:
            code = _batch(names, with_seeds(sets, seeds), settings, executor, found, as_json=as_json, debug=debug)
        else:
            code, summary = _one(names[0], with_seeds(sets, seeds), settings, executor, as_json=as_json, batch=False)
            found.append(summary)
    if as_json:
        from app.console import print_json

        print_json({"runs": found} if batch else found[0])
    raise typer.Exit(code)


def _one(
    name: str, sets: Sequence[str], settings: Any, executor: Executor | None, *, as_json: bool, batch: bool
) -> tuple[int, dict[str, Any]]:
    """Run one scenario file: its exit code and its summary."""
    from app.console import note
    from app.loading import load
    from app.results import exit_code
    from app.show import show
    from app.simulate import run_file

    loaded = load(name, sets)
    file_run, summary = run_file(loaded, settings, executor)
    if file_run.interrupted:
        kept = f"{len(file_run.points)} of {len(loaded.points)} points are finished"
        note(f"interrupted: {kept}" + (f" and kept in {file_run.folder.path}" if file_run.points else ""))
        raise typer.Exit(INTERRUPTED)
    if not as_json:
        show(loaded, summary)
    note(f"results: {file_run.folder.path}", quiet=settings.quiet)
    return exit_code(summary, batch=batch), summary


def _batch(
    names: Sequence[str],
    sets: Sequence[str],
    settings: Any,
    executor: Executor | None,
    found: list[dict[str, Any]],
    *,
    as_json: bool,
    debug: bool,
) -> int:
    """Run several scenario files; one that fails is told and does not stop the others."""
    from app.guard import tell

    codes = []
    for name in names:
        try:
            code, summary = _one(name, sets, settings, executor, as_json=as_json, batch=True)
        except typer.Exit:
            raise
        except Exception as error:
            code, summary = tell(error, debug=debug), {"error": str(error)}
        codes.append(code)
        found.append({"file": name, "exit_code": code, **summary})
    return worst(codes)
