"""A whole check: which systems and loads, the deployment that stands for each, and what came of all of it."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal

from calibration.acceptance_scenario import propose
from calibration.check import acceptance
from calibration.check.campaign import (
    Grid,
    Progress,
    in_order,
    kept_plan,
    points_of,
    predicted,
    predicted_saturation,
    run_points,
)
from calibration.check.compare import by_point, compare
from calibration.check.predict import Predictor
from calibration.check.run import Point
from calibration.check.since_profile import Reference, told
from calibration.check.summary import summary
from calibration.check.workload import AHEAD, SMOLLM2, SYSTEMS, TINY, TREE, UNION, Bench, System, load
from calibration.fit_device import ENGINE
from calibration.identity import require_same_device
from engine.commands.machine import about_machine
from simulator.catalog.load import load_profile, names, origin
from simulator.errors import ScenarioError
from simulator.spec.acceptance import Acceptance
from simulator.spec.deployment import Deployment
from simulator.spec.profile import Profile
from simulator.spec.step_surface import Device

OVERLOAD = 3.0
"""Share of the predicted saturation rate that overloads for certain, yet not all requests come at once."""

GRIDS: dict[str, dict[str, Grid]] = {
    "quick": {SMOLLM2.name: Grid({0.5: 16, OVERLOAD: 32}, {}, (0, 3))},
    "default": {SMOLLM2.name: Grid({0.3: 16, 0.7: 28, OVERLOAD: 40}, {1: 6, 4: 12}, (0, 3, 5))},
    "full": {
        SMOLLM2.name: Grid(
            {0.3: 24, 0.75: 40, OVERLOAD: 48},
            {1: 8, 4: 16, 8: 24},
            (0, 1, 3, 5, 8),
        ),
        TINY.name: Grid({0.4: 1000, 0.7: 1000, OVERLOAD: 1000}, {}, (0, 3)),
    },
    "drafters": {
        UNION.name: Grid({0.3: 16, OVERLOAD: 32}, {1: 6, 4: 12}, (0, 6)),
        TREE.name: Grid({0.3: 16, OVERLOAD: 32}, {1: 6, 4: 12}, (0, 6)),
        AHEAD.name: Grid({0.3: 16}, {1: 6, 4: 12}, (0, 3)),
    },
}
"""Size of the check → system → loads and K: all draft tokens of a sequence that a step verifies."""

BEYOND_CHAINS = 0.03
"""Further off than a chain of one draft, so far a tree, a union or a drafter in its own process may be."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a check is asked to do."""

    size: str
    """A name in GRIDS."""
    gpu: str
    """Device entry of the catalog whose profile is checked."""
    folder: Path
    acceptance: Path
    """Folder that `calibrate acceptance` wrote into."""
    clock: str = "wall"
    """`wall`, or `cpu`: the seconds that the process computes."""
    seed: int = 7
    force: bool = False


@dataclass(frozen=True, slots=True)
class Prepared:
    """A system with what predicts it, and its points in the order in which they are run."""

    bench: Bench
    predictor: Predictor
    points: list[Point]
    expected_s: Mapping[str, float]
    """By key of the point: predicted time of a run, to its last answer [s]."""
    reference: Reference

    def seconds(self, point: Point) -> float:
        """Predicted time of a point [s]."""
        return self.expected_s[point.key]


def profiled_gpu() -> str:
    """The only device whose whole steps were measured with the project's engine: of the user's own catalog, if any are.

    Raises ScenarioError where there is none, or where there are several.
    """
    ends = f"-{ENGINE}"
    known = [name for name in names("profiles") if name.endswith(ends)]
    own = [name for name in known if origin("profiles", name) != "package"]
    found = [name.removesuffix(ends) for name in own or known]
    if not found:
        raise ScenarioError(
            "no profile of this device: run `specfleet calibrate device` first, or name a device with --gpu"
        )
    if len(found) > 1:
        raise ScenarioError(f"several devices have a profile ({', '.join(found)}): name the one to check with --gpu")
    return found[0]


def profile_of(gpu: str) -> Profile:
    """The profile of a device and the project's engine."""
    profile = load_profile(gpu, ENGINE)
    if profile is None or not profile.steps:
        raise ScenarioError(f"--gpu {gpu}: no measured steps of this device; run `specfleet calibrate device` on it")
    return profile


def check(plan: Plan, tell: Progress, say: Callable[[str], None]) -> dict[str, Any]:
    """Run what has not been run, compare, and sum up."""
    profile = profile_of(plan.gpu)
    systems = [prepare(plan, profile, system) for system in measured_systems(plan.size, profile, say, plan.clock)]
    total = sum(one.seconds(point) for one in systems for point in one.points)
    say(f"{sum(len(one.points) for one in systems)} runs, about {max(total / 60, 1):.0f} minutes")
    done, compared = 0.0, []
    machine: dict[str, Any] = {}
    since: dict[str, list[float]] = {}
    for one in systems:
        about = partial(about_machine, one.bench.loaded.target, plan.clock)
        machine = about()
        since[one.bench.system.name] = [one.reference.since_profile()]
        if warning := told(since[one.bench.system.name][0]):
            say(f"{one.bench.system.name}: {warning}")
        shift = partial(_shifted, tell, round(10 * done), round(10 * total))
        runs = run_points(
            plan.folder / one.bench.system.name, one.points, one.bench, one.seconds, about, one.reference.pace, shift,
            force=plan.force,
        )  # fmt: skip
        since[one.bench.system.name].append(one.reference.since_profile())
        done += sum(map(one.seconds, one.points))
        compared += [compare(one.predictor, pair) for pair in by_point(runs).values()]
    wider = {one.bench.system.name: BEYOND_CHAINS for one in systems if not one.bench.system.is_chain}
    return summary(compared, about_check(plan, profile, machine) | {"since_profile": since, "wider": wider})


def _shifted(tell: Progress, before: int, total: int, done: int, _of: int) -> None:
    """Progress of one system as part of all."""
    tell(min(before + done, total), total)


def measured_systems(size: str, profile: Profile, say: Callable[[str], None], clock: str = "wall") -> list[System]:
    """The systems of a grid whose target and draft the profile holds, and whose waits the clock sees."""
    wanted = [system for system in SYSTEMS if system.name in GRIDS[size]]
    why = {system.name: _why_not(profile, system, clock) for system in wanted}
    found = [system for system in wanted if not why[system.name]]
    for system in wanted:
        if why[system.name]:
            say(f"{system.name} is left out: {why[system.name]}")
    if not found:
        raise ScenarioError(f"profile {profile.name}: {why[wanted[0].name]}")
    return found


def _why_not(profile: Profile, system: System, clock: str) -> str:
    """Why a system cannot be checked; empty: it can."""
    known = {(surface.model, draft.draft) for surface in profile.steps for draft in surface.drafts}
    if (system.target, system.draft) not in known:
        measured = ", ".join(sorted(f"{model} with {draft}" for model, draft in known))
        words = " ".join(("--model", system.model, *system.drafts.words()))
        return (
            f"no measured steps of {system.target} with {system.draft} (measured: {measured or 'none'}); run "
            f"`specfleet calibrate device {words}`"
        )
    if clock == "cpu" and system.drafts.draft_process is not None:
        return "the CPU's seconds do not hold what a step waits for another process"
    return ""


def prepare(plan: Plan, profile: Profile, system: System) -> Prepared:
    """Load a system, and plan its points at the rates that the profile predicts."""
    grid = GRIDS[plan.size][system.name]
    deployment, hits = deployment_of(plan.gpu, system), _hits(plan, system, grid)
    predictor = Predictor(profile, deployment, _acceptance(plan, system, grid), hits)
    bench = load(system, profile.device.threads if profile.device else None, plan.clock)
    require_same_device(profile.device, device_here(bench), f"profile {profile.name}", force=plan.force)
    folder = plan.folder / system.name

    def points() -> list[Point]:
        rate = predicted_saturation(predictor, system.name, bench, plan.seed)
        return points_of(system.name, grid, rate, plan.seed)

    wanted = {"size": plan.size, "gpu": plan.gpu, "seed": plan.seed, "clock": plan.clock, "system": asdict(system)}
    kept = kept_plan(folder, wanted, points, force=plan.force)
    expected_s = {point.key: point.requests / predicted(predictor, point, bench)["req_per_s"] for point in kept}
    return Prepared(
        bench, predictor, in_order(kept, plan.seed), expected_s, Reference(bench.loaded, predictor.steps(0))
    )


def device_here(bench: Bench) -> Device:
    """The device that a loaded system runs on."""
    about = about_machine(bench.loaded.target)
    kind: Literal["cpu", "cuda"] = "cuda" if bench.loaded.target.device.type == "cuda" else "cpu"
    same = {key: about[key] for key in ("threads", "backend", "torch")}
    return Device(name=about["device"], kind=kind, cores=about["cpus"], **same)


def _acceptance(plan: Plan, system: System, grid: Grid) -> Mapping[int, Mapping[str, Acceptance]]:
    if system.survival is not None:
        return acceptance.forced(system.survival, grid.draft_tokens)
    return acceptance.fitted(plan.acceptance, system.name, system.drafts, grid.draft_tokens)


def _hits(plan: Plan, system: System, grid: Grid) -> Mapping[int, float]:
    if system.drafts.draft_process is None:
        return {}
    return acceptance.hits(plan.acceptance, system.name, grid.draft_tokens)


FP32 = {"weights": "fp32", "kv": "fp32"}


def deployment_of(gpu: str, system: System) -> Deployment:
    """The deployment that stands for a system: one replica, and a price that plays no part."""
    way = {"measured": system.draft} if system.draft_is_measured else {"model": system.draft} | FP32
    accepted: dict[str, Any] = {"survival": [0.5] * 8} | ({} if system.drafts.shape() is None else {"of": "tree"})
    return Deployment.model_validate(
        {
            "gpu": gpu,
            "replicas": 1,
            "price": 1.0,
            "target": {"model": system.target} | FP32,
            "engine": {"policy": ENGINE},
            "speculation": {
                "kind": "drafts",
                "drafts": {"draft": way | {"acceptance": {"all": accepted}}},
                "propose": propose(system.drafts, 1),
            },
        }
    )


def about_check(plan: Plan, profile: Profile, machine: Mapping[str, Any]) -> dict[str, Any]:
    """What the figures hold for."""
    device = profile.device
    return {
        "size": plan.size,
        "gpu": plan.gpu,
        "profile": f"{profile.name} of {profile.date}",
        "profile_noisy": bool(device and device.noisy),
        "machine": dict(machine),
        "date": datetime.now(UTC).date().isoformat(),
        "seed": plan.seed,
        "grid": {name: asdict(grid) for name, grid in GRIDS[plan.size].items()},
    }
