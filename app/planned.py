"""Answer a plan file: search, unless an earlier run has found the answer, and write the plan's folder."""

from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.console import note
from app.progress import ProgressBar

if TYPE_CHECKING:
    from scenarios.plan_file import LoadedPlan
    from scenarios.store import RunFolder


def answer_plan(
    loaded: "LoadedPlan", out: Path, executor: Executor | None, *, force: bool, quiet: bool
) -> tuple[dict[str, Any], "RunFolder"]:
    """What came of a plan, in the shape of `plan --json`, and its folder.

    out: where run folders are. force: search even if the answer is there.
    """
    from scenarios.plan_store import find_plan, plan_folder, prepare_plan, write_plan

    folder = plan_folder(out, loaded)
    found = None if force else find_plan(folder)
    if found is not None:
        note(f"found again: {folder.path} (use --force to search anew)", quiet=quiet)
        return found, folder
    prepare_plan(folder, loaded)
    with ProgressBar(quiet=quiet) as bar:
        bar.describe(f"{loaded.name}: {len(loaded.scenario.deployments):,} candidates")
        found = searched(loaded, executor, bar.update)
    write_plan(folder, loaded, found)
    return found, folder


def searched(loaded: "LoadedPlan", executor: Executor | None, progress: Callable[[int, int], None]) -> dict[str, Any]:
    """Search the candidates; progress: called with the steps that are done and with all of them."""
    from scenarios.plan_file import described
    from simulator.planning.search import plan, plan_json

    found = plan_json(plan(loaded.scenario, loaded.plan, executor, progress))
    return _with_money(described(found, loaded), loaded, executor)


def _with_money(found: dict[str, Any], loaded: "LoadedPlan", executor: Executor | None) -> dict[str, Any]:
    """What was found, with what its clusters cost a month, by contract and by the hours of a day."""
    from app.tables.plan import shown_points
    from simulator.planning.fleet_money import fleet_view

    points = shown_points(found)
    return {**found, "fleet": fleet_view(loaded.scenario, points, loaded.plan, executor) if points else None}
