"""Engine constants fitted on half of the groups of published serving rows and judged on the other half.

`python -m calibration.fit_constants serving.csv` writes calibration/constants.json, from which profiles take them.
Every prediction is a replay; the fit uses how the replays move with each constant, and replays again where it arrives.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from calibration.benchmark import replay_model
from calibration.constants import FILE
from calibration.protocol import Measured
from calibration.robust import Floats, error
from calibration.rows import Case, case_of, skip_reason
from calibration.versions import older
from simulator.catalog.load import load_profile
from simulator.physics.step_model import CatalogStepModel, step_model_with
from simulator.spec.profile import EngineConstants, Error, Profile


class Range(NamedTuple):
    """Where a constant starts, how far it is moved to see its effect, and its bounds."""

    start: float
    step: float
    low: float
    high: float


CONSTANTS: dict[str, Range] = {
    "step_ms": Range(0.5, 0.3, 0.0, 5.0),
    "layer_us": Range(3.0, 3.0, 0.0, 40.0),
    "unfused_fraction": Range(0.7, 0.3, 0.0, 1.0),
    "sequence_host_us": Range(5.0, 5.0, 0.0, 60.0),
    "request_host_ms": Range(15.0, 5.0, 0.0, 60.0),
}
PER_SEQUENCE = ("sglang", "trtllm")
"""Engines whose sequence_host_us is fitted; for the others it is 0, for it buys nothing on rows left out of the fit."""
ROUNDS = 2
OVERLAP_STEPS = 1
"""Asynchronous scheduling hands a token over one step later: how all three engines were run, not fitted."""
TTFT_WEIGHT = 0.5
FAR = 0.3
"""A log ratio beyond which a row no longer pulls: start-up effects, not constants, make such rows."""


class Linear(NamedTuple):
    """Log ratios predicted ÷ measured at a point, and how they move with each constant."""

    point: Floats
    at: Floats
    """[rows, 2]: TPOT, TTFT."""
    slopes: Floats
    """[constants, rows, 2]"""


def cases(rows: pd.DataFrame) -> list[Case]:
    """The comparable closed-loop rows, in a stable order."""
    kept = [row for row in rows.itertuples() if row.load == "closed_loop" and not skip_reason(row)]
    return sorted((case_of(row) for row in kept), key=lambda case: (case.group, case.id))


def halves(groups: Iterable[str]) -> tuple[set[str], set[str]]:
    """Every other group, in alphabetical order: to fit on, and to judge by."""
    ordered = sorted(set(groups))
    return set(ordered[::2]), set(ordered[1::2])


def predict(chosen: Sequence[Case], constants: EngineConstants) -> list[Measured]:
    """Replay all cases with these constants."""
    models: dict[str, CatalogStepModel] = {}
    out = []
    for case in chosen:
        key = f"{case.old_kernels} {case.deployment.model_dump_json()}"
        if key not in models:
            models[key] = step_model_with(_profile(case, constants), case.deployment)
        protocol = replace(case.protocol, request_host_s=constants.request_host_ms * 1e-3)
        out.append(replay_model(protocol, models[key]))
    return out


def _profile(case: Case, constants: EngineConstants) -> Profile | None:
    """The profile with these constants and the kernels that the case ran on."""
    profile = load_profile(case.deployment.gpu, case.deployment.engine.policy)
    if profile is None:
        return None
    profile = profile.model_copy(update={"constants": constants})
    return older(profile) if case.old_kernels else profile


def constants_at(point: Floats) -> EngineConstants:
    """Constants with these values."""
    values = {name: round(float(x), 3) for name, x in zip(CONSTANTS, point, strict=True)}
    return EngineConstants.model_validate({**values, "overlap_steps": OVERLAP_STEPS, "source": "constants"})


def log_ratios(chosen: Sequence[Case], predicted: Sequence[Measured]) -> Floats:
    """[rows, 2] log of predicted ÷ measured TPOT and TTFT."""
    ratios = [(p.tpot_s / c.tpot_s, p.ttft_s / c.ttft_s) for c, p in zip(chosen, predicted, strict=True)]
    logs: Floats = np.log(np.array(ratios, float))
    return logs


def linearise(chosen: Sequence[Case], point: Floats, fixed: Sequence[bool]) -> Linear:
    """Replay at a point and one step along each constant that is not fixed."""
    at = log_ratios(chosen, predict(chosen, constants_at(point)))
    slopes = []
    for i, limits in enumerate(CONSTANTS.values()):
        if fixed[i]:
            slopes.append(np.zeros_like(at))
            continue
        moved = point.copy()
        moved[i] += limits.step if moved[i] + limits.step <= limits.high else -limits.step
        slopes.append((log_ratios(chosen, predict(chosen, constants_at(moved))) - at) / (moved[i] - point[i]))
    return Linear(point, at, np.array(slopes))


def solve(linear: Linear, weights: Floats, sweeps: int = 30) -> Floats:
    """Constants that make the weighted mean of absolute log ratios least, one at a time until nothing moves.

    weights: of each row; 0 for rows that are not fitted on.
    """
    point = linear.point.copy()
    for _ in range(sweeps):
        before = point.copy()
        for i, limits in enumerate(CONSTANTS.values()):
            if not linear.slopes[i].any():
                continue
            grid = np.linspace(limits.low, limits.high, 201)
            losses = [_loss(linear, np.where(np.arange(point.size) == i, x, point), weights) for x in grid]
            point[i] = grid[int(np.argmin(losses))]
        if np.allclose(before, point):
            break
    return point


def _loss(linear: Linear, point: Floats, weights: Floats) -> float:
    ratios = linear.at + np.tensordot(point - linear.point, linear.slopes, axes=1)
    far = np.minimum(np.abs(ratios), FAR)
    return float((weights * (far[:, 0] + TTFT_WEIGHT * far[:, 1])).sum() / weights.sum())


def kind(case: Case) -> str:
    """GPU and model: what one figure is given for."""
    return f"{case.deployment.gpu} {case.deployment.target.model}"


def weights_of(chosen: Sequence[Case], fitted: Sequence[bool]) -> Floats:
    """Weight of each row: each GPU and model counts the same, rows that are not fitted on nothing."""
    kinds = [kind(case) if on else "" for case, on in zip(chosen, fitted, strict=True)]
    return np.array([1.0 / kinds.count(name) if name else 0.0 for name in kinds])


def errors(chosen: Sequence[Case], ratios: Floats, keep: Sequence[bool]) -> dict[str, dict[str, Error]]:
    """TPOT and TTFT error of the kept rows by GPU and model."""
    out: dict[str, dict[str, Error]] = {}
    for name in sorted({kind(case) for case, on in zip(chosen, keep, strict=True) if on}):
        mine = [on and kind(case) == name for case, on in zip(chosen, keep, strict=True)]
        found = np.exp(ratios[np.array(mine)])
        ones = np.ones(len(found))
        out[name] = {"tpot": error(found[:, 0], ones), "ttft": error(found[:, 1], ones)}
    return out


def report(engine: str, chosen: Sequence[Case]) -> dict[str, Any]:
    """Constants of one engine, errors on the fitted half and on the other, and with each GPU and model left out."""
    fitted, _ = halves(case.group for case in chosen)
    on = [case.group in fitted for case in chosen]
    off = [not x for x in on]
    fixed = [name == "sequence_host_us" and engine not in PER_SEQUENCE for name in CONSTANTS]
    point = np.array([0.0 if held else limits.start for held, limits in zip(fixed, CONSTANTS.values(), strict=True)])
    for _ in range(ROUNDS):
        linear = linearise(chosen, point, fixed)
        point = solve(linear, weights_of(chosen, on))
    constants = constants_at(point)
    ratios = log_ratios(chosen, predict(chosen, constants))
    left_out: dict[str, dict[str, Error]] = {}
    for name in sorted({kind(case) for case in chosen}):
        others = [kind(case) != name for case in chosen]
        if any(others):
            without = constants_at(solve(linear, weights_of(chosen, others)))
            mine = [case for case in chosen if kind(case) == name]
            left_out |= errors(mine, log_ratios(mine, predict(mine, without)), [True] * len(mine))
    sys.stderr.write(f"{engine}: {constants!r}\n")
    return {
        "constants": constants.model_dump(),
        "fitted": _plain(errors(chosen, ratios, on)),
        "held_out": _plain(errors(chosen, ratios, off)),
        "left_out": _plain(left_out),
    }


def _plain(table: dict[str, dict[str, Error]]) -> dict[str, Any]:
    return {name: {metric: e.model_dump() for metric, e in row.items()} for name, row in table.items()}


def main(arguments: list[str]) -> int:
    """Fit every engine (or those named) and write the file."""
    if not arguments:
        sys.stderr.write("usage: python -m calibration.fit_constants serving.csv [engine ...]\n")
        return 2
    found = cases(pd.read_csv(Path(arguments[0])))
    table = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    for engine in arguments[1:] or sorted({case.deployment.engine.policy for case in found}):
        table[engine] = report(engine, [c for c in found if c.deployment.engine.policy == engine])
        FILE.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
