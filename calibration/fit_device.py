"""A file of measurements becomes a device of the catalog: GPU entry, links, model where it is new, and the profile."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

import numpy as np

from calibration.device_entries import gpu_entry, links_entry, measured_model, model_entry
from calibration.fit_steps import CAUSES, Steps, fit_draft, fit_tables, read_steps
from calibration.nonnegative import Floats
from simulator.catalog.load import load_engine
from simulator.errors import ProfileError
from simulator.physics.draft import NO_DRAFT
from simulator.physics.forward import Machine, Split
from simulator.physics.measured import MeasuredForward, draft_of
from simulator.physics.step import StepShape
from simulator.physics.step_model import CatalogStepModel
from simulator.spec.hardware import Gpu, Links
from simulator.spec.model import Model
from simulator.spec.profile import Error, HeldOut, Profile
from simulator.spec.step_surface import Cause, CauseError, Device, StepSurface

ENGINE = "specfleet"
"""The engine policy that the project's own engine has in the catalog."""


class DeviceFit(NamedTuple):
    """What a file of measurements becomes."""

    gpu: Gpu
    links: Links
    model: Model | None
    """Where the package has none of this name."""
    profile: Profile

    @property
    def surface(self) -> StepSurface:
        """The steps of the model that was measured."""
        return self.profile.steps[0]


def fit_device(data: Mapping[str, Any], name: str, day: date | None = None) -> DeviceFit:
    """Fit everything under this catalog name; day: of the measurements (default: the file's own)."""
    _complete(data)
    when = day or datetime.fromtimestamp(data["loads"][-1].get("at", 0.0), UTC).date()
    gpu, links = gpu_entry(name, data, when), links_entry(name, data, when)
    steps, gap_s = read_steps(data)
    model = measured_model(data, when)
    bare = StepSurface.model_validate(_surface(data, steps, gap_s))
    errors = step_errors(bare, steps, Machine(gpu, links, load_engine(ENGINE), 0), model)
    surface = bare.model_copy(update=errors)
    return DeviceFit(gpu, links, model_entry(data, when), _profile(name, data, surface, when))


def device_of(data: Mapping[str, Any]) -> Device:
    """The device that a file of measurements is of, with its noise."""
    noise = data["noise"]
    fields = {key: data["device"][key] for key in ("kind", "name", "cores", "threads", "backend", "torch")}
    return Device(
        **fields,
        noisy=bool(noise["why_noisy"]),
        noise=min(float(noise["repeat"]), 1.0),
        drift=float(noise["drift"]),
        load_average=(float(noise["load_before"]), float(noise["load_after"])),
        notes=tuple(noise["why_noisy"]),
    )


def step_errors(surface: StepSurface, steps: Steps, machine: Machine, model: Model) -> dict[str, dict[str, CauseError]]:
    """How far the tables are off, as the step model reads them: on the shapes of the fit and on those held out."""
    forward = MeasuredForward(model, machine, Split(1), surface)
    drafted = draft_of(surface, forward)
    models = {0.0: CatalogStepModel(forward, NO_DRAFT, 0), 1.0: CatalogStepModel(forward, drafted or NO_DRAFT, 0)}
    predicted = np.array([_priced(models[steps.drafted[i]], steps, i) for i in range(len(steps.rows))])
    parts = {"fit_error": steps.held_out == 0.0, "held_out": steps.held_out == 1.0}
    return {part: _by_cause(predicted[which], steps.only(which)) for part, which in parts.items() if which.any()}


def _priced(model: CatalogStepModel, steps: Steps, i: int) -> list[float]:
    """Seconds by cause of one measured shape."""
    whole = (steps.sequences, steps.verify_tokens, steps.context, steps.prompts, steps.prefill_tokens, steps.pairs)
    n, verify, context, prompts, tokens, pairs = (float(column[i]) for column in whole)
    shape = StepShape(int(n), int(verify), context, int(prompts), int(tokens), pairs, int(steps.draft_tokens[i]))
    cost = model.cost(shape)
    return [getattr(cost, f"{cause}_s") for cause in CAUSES]


def _by_cause(predicted: Floats, steps: Steps) -> dict[str, CauseError]:
    """Errors of each cause as fractions of the whole step, and of the step itself."""
    off = {cause: (predicted[:, i] - steps.seconds[:, i]) / steps.total for i, cause in enumerate(CAUSES)}
    off["step"] = predicted.sum(axis=1) / steps.total - 1.0
    return {cause: _error(values) for cause, values in off.items()}


def _error(off: Floats) -> CauseError:
    size = np.abs(off)
    return CauseError(
        count=off.size,
        mean_ape=round(float(size.mean()), 5),
        median_ape=round(float(np.median(size)), 5),
        worst_ape=round(float(size.max()), 5),
        bias=round(float(off.mean()), 5),
    )


def _surface(data: Mapping[str, Any], steps: Steps, gap_s: float) -> dict[str, Any]:
    """The surface before its errors are known."""
    architecture, dtype = data["model"]["architecture"], data["model"]["dtype"]
    own = (architecture["vocab_size"], architecture["hidden_size"])
    head = np.array([[rows, s] for outputs, inputs, rows, s in data["kernels"]["linear"] if (outputs, inputs) == own])
    found = fit_draft(steps)
    return {
        "model": data["model"]["name"],
        "weights": dtype,
        "kv": dtype,
        **fit_tables(steps, head, gap_s, data["noise"]["repeat"]),
        "drafts": [{"draft": data["options"]["draft"], **found}] if found else [],
        "samples": int((steps.held_out == 0.0).sum()),
    }


def _profile(name: str, data: Mapping[str, Any], surface: StepSurface, day: date) -> Profile:
    device = device_of(data)
    told = f"{data['model']['name']} {data['model']['dtype']} on {device.name}, {ENGINE}"
    held = (HeldOut(group=told, step=_whole(surface.held_out)),) if surface.held_out else ()
    length = "quick" if data["quick"] else "full"
    return Profile.model_validate(
        {
            "name": f"{name}-{ENGINE}",
            "gpu": name,
            "engine": ENGINE,
            "date": day.isoformat(),
            "versions": {"torch": device.torch, "backend": device.backend, "clock": data["options"]["clock"]},
            "samples": {"steps": surface.samples},
            "fit_error": {"steps": _whole(surface.fit_error)},
            "held_out": held,
            "steps": (surface,),
            "device": device,
            "source": "steps",
            "sources": {
                "steps": {
                    "kind": "measured",
                    "ref": f"specfleet calibrate device ({length}): whole steps of the project's engine; {told}",
                    "date": day,
                }
            },
        }
    )


def _whole(errors: Mapping[Cause, CauseError]) -> Error:
    step = errors["step"]
    return Error(count=step.count, median_ape=step.median_ape, mean_ape=step.mean_ape, bias=step.bias)


def _complete(data: Mapping[str, Any]) -> None:
    if not data.get("complete"):
        raise ProfileError("the measurements are not complete: run the same command again, it goes on where it stopped")
