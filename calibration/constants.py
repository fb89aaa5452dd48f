"""Constants of the engines, as calibration.fit_constants found them, and their error on groups left out of the fit."""

import json
from pathlib import Path
from typing import Any

from simulator.spec.profile import EngineConstants, Error, HeldOut

FILE = Path(__file__).with_name("constants.json")


def fitted() -> dict[str, Any]:
    """The committed file: by engine, constants and tables of errors."""
    return dict(json.loads(FILE.read_text(encoding="utf-8"))) if FILE.exists() else {}


def engine_constants(engine: str) -> EngineConstants:
    """Constants of an engine; all zero where none were fitted."""
    found = fitted().get(engine)
    return EngineConstants() if found is None else EngineConstants.model_validate(found["constants"])


def held_out(gpu: str, engine: str) -> tuple[HeldOut, ...]:
    """Errors on left-out groups of this engine on this GPU."""
    return tuple(group for group in _errors(engine, "held_out") if group.group.startswith(f"{gpu} "))


def left_out(engine: str) -> tuple[HeldOut, ...]:
    """Errors on each GPU and model of this engine, with constants that were fitted without any of its rows."""
    return _errors(engine, "left_out")


def _errors(engine: str, table: str) -> tuple[HeldOut, ...]:
    return tuple(
        HeldOut(
            group=name,
            tpot=Error.model_validate(row["tpot"]),
            ttft=Error.model_validate(row["ttft"]),
            source="constants",
        )
        for name, row in fitted().get(engine, {}).get(table, {}).items()
    )
