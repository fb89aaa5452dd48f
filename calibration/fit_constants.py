"""Engine constants fitted on half of the groups of published serving rows and judged on the other half.

`python -m calibration.fit_constants serving.csv` writes calibration/constants.json, from which profiles take them.
"""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from calibration.constants import FILE
from calibration.replay import Measured, Replay
from calibration.robust import error
from calibration.rows import Case, case_of, skip_reason
from simulator.catalog.load import load_profile
from simulator.errors import SimulatorError
from simulator.physics.step_model import CatalogStepModel, build_step_model
from simulator.spec.profile import EngineConstants, Error

BOUNDS: dict[str, tuple[float, float]] = {
    "step_ms": (0.0, 3.0),
    "layer_us": (0.0, 40.0),
    "unfused_fraction": (0.0, 1.0),
    "request_host_ms": (0.0, 60.0),
}
"""Constants and where they may lie."""
ROUNDS = 2
STEPS = 5
TTFT_WEIGHT = 0.5


class Outcome(NamedTuple):
    """A case and what was predicted for it."""

    case: Case
    predicted: Measured


def cases(rows: pd.DataFrame) -> list[Case]:
    """The comparable closed-loop rows, in a stable order."""
    kept = [row for row in rows.itertuples() if row.load == "closed_loop" and not skip_reason(row)]
    return sorted((case_of(row) for row in kept), key=lambda case: (case.group, case.id))


def halves(groups: Iterable[str]) -> tuple[set[str], set[str]]:
    """Every other group, in alphabetical order: to fit on, and to judge by."""
    ordered = sorted(set(groups))
    return set(ordered[::2]), set(ordered[1::2])


def predict(case: Case, constants: EngineConstants, models: dict[str, CatalogStepModel]) -> Measured:
    """Replay one case with these constants.

    models: step models by deployment, kept for other rows of the same one.
    """
    key = case.deployment.model_dump_json()
    if key not in models:
        profile = load_profile(case.deployment.gpu, case.deployment.engine.policy)
        if profile is not None:
            profile = profile.model_copy(update={"constants": constants})
        models[key] = build_step_model(case.deployment, profile)
    host_s = constants.request_host_ms * 1e-3
    return Replay(replace(case.protocol, request_host_s=host_s), models[key]).run()


def outcomes(chosen: Sequence[Case], constants: EngineConstants) -> list[Outcome]:
    """All cases with these constants."""
    models: dict[str, CatalogStepModel] = {}
    return [Outcome(case, predict(case, constants, models)) for case in chosen]


def loss(found: Sequence[Outcome]) -> float:
    """Mean of |log ratio| of TPOT and, with half the weight, of TTFT; each model and GPU counts the same."""
    parts: dict[str, list[float]] = {}
    for case, predicted in found:
        tpot = abs(np.log(predicted.tpot_s / case.tpot_s))
        ttft = min(abs(np.log(predicted.ttft_s / case.ttft_s)), 1.0)
        parts.setdefault(kind(case), []).append(float(tpot + TTFT_WEIGHT * ttft))
    return float(np.mean([np.mean(values) for values in parts.values()]))


def kind(case: Case) -> str:
    """GPU and model: what one figure is given for."""
    return f"{case.deployment.gpu} {case.deployment.target.model}"


def fit(chosen: Sequence[Case], names: Sequence[str], start: EngineConstants) -> EngineConstants:
    """The named constants, one after the other, twice; each by a search that halves its interval."""
    best = start
    for round_ in range(ROUNDS):
        for name in names:
            low, high = BOUNDS[name]
            width = (high - low) / (4.0 if round_ else 1.0)
            centre = getattr(best, name) if round_ else (low + high) / 2
            value = search(lambda x, at=best, n=name: _at(chosen, at, n, x), centre, width, (low, high))  # type: ignore[misc]
            best = best.model_copy(update={name: round(value, 3)})
    return best


def _at(chosen: Sequence[Case], constants: EngineConstants, name: str, value: float) -> float:
    return loss(outcomes(chosen, constants.model_copy(update={name: value})))


def search(f: Callable[[float], float], centre: float, width: float, bounds: tuple[float, float]) -> float:
    """Where f is least: the best of three points, the distance halved each time.

    >>> round(search(lambda x: (x - 3.2) ** 2, 5.0, 10.0, (0.0, 10.0)), 1)
    3.1
    """
    best, known = centre, f(centre)
    for _ in range(STEPS):
        width /= 2
        for x in (best - width / 2, best + width / 2):
            x = min(max(x, bounds[0]), bounds[1])
            value = f(x)
            if value < known:
                best, known = x, value
                break
    return best


def errors(found: Sequence[Outcome]) -> dict[str, dict[str, Error]]:
    """TPOT and TTFT error by GPU and model."""
    out: dict[str, dict[str, Error]] = {}
    for name in sorted({kind(o.case) for o in found}):
        mine = [o for o in found if kind(o.case) == name]
        pairs = {
            "tpot": [(o.predicted.tpot_s, o.case.tpot_s) for o in mine],
            "ttft": [(o.predicted.ttft_s, o.case.ttft_s) for o in mine],
        }
        out[name] = {metric: error(*np.array(values).T) for metric, values in pairs.items()}
    return out


def report(engine: str, chosen: Sequence[Case], names: Sequence[str]) -> dict[str, Any]:
    """Constants of one engine, errors on the fitted half and on the other, and with each GPU and model left out."""
    fitted, judged = halves(case.group for case in chosen)
    on = [case for case in chosen if case.group in fitted]
    off = [case for case in chosen if case.group in judged]
    constants = fit(on, names, EngineConstants())
    left_out = {}
    for name in sorted({kind(case) for case in chosen}):
        others = [case for case in chosen if kind(case) != name]
        if others:
            without = fit(others, names, EngineConstants())
            mine = [case for case in chosen if kind(case) == name]
            left_out[name] = errors(outcomes(mine, without))[name]
    sys.stderr.write(f"{engine}: {constants!r}\n")
    return {
        "constants": constants.model_dump() | {"source": "constants"},
        "fitted": _plain(errors(outcomes(on, constants))),
        "held_out": _plain(errors(outcomes(off, constants))),
        "left_out": _plain(left_out),
    }


def _plain(table: dict[str, dict[str, Error]]) -> dict[str, Any]:
    return {name: {metric: e.model_dump() for metric, e in row.items()} for name, row in table.items()}


def main(arguments: list[str]) -> int:
    """Fit every engine and write the file."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m calibration.fit_constants serving.csv\n")
        return 2
    try:
        found = cases(pd.read_csv(Path(arguments[0])))
    except (OSError, SimulatorError) as problem:
        sys.stderr.write(f"{problem}\n")
        return 2
    engines = sorted({case.deployment.engine.policy for case in found})
    table = {
        engine: report(engine, [c for c in found if c.deployment.engine.policy == engine], tuple(BOUNDS))
        for engine in engines
    }
    FILE.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
