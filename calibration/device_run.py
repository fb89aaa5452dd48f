"""`specfleet calibrate device`: measure, fit, write; and what there is to tell afterwards. Loads torch when it runs."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from calibration.device_catalog import measurements_file, require_free_name, write_device
from calibration.device_entries import entry_name
from calibration.fit_device import ENGINE, DeviceFit, fit_device
from calibration.measuring.store import read_measurements
from engine.errors import EngineError
from simulator.catalog.own import folder_for_entries
from simulator.errors import ProfileError
from simulator.spec.step_surface import StepSurface

Say = Callable[[int, int, float, str], None]


class Calibrated(NamedTuple):
    """A device that has been fitted and written."""

    fit: DeviceFit
    files: list[Path]


def calibrate_device(
    arguments: Sequence[str], name: str | None, out: Path | None, say: Say, *, force: bool
) -> Calibrated:
    """Measure with these arguments of `python -m calibration.measure`, then fit and write.

    name: of the device in the catalog; None: made from its own.
    """
    try:
        from calibration.drafts import drafts_of
        from calibration.measure import measure, parser
    except ImportError as error:
        raise ProfileError(
            f"this needs the engine, which needs {error.name}: pip install 'specfleet[engine]'"
        ) from None
    folder = folder_for_entries(out).absolute()
    if name is not None:
        require_free_name(name, f"{name}-{ENGINE}", folder)
    flags = parser().parse_args([*arguments, "--out", "measured.json"])
    try:
        flags.out = measurements_file(folder, name, drafts_of(flags).label)
        data = measure(flags, say)
    except EngineError as error:
        raise ProfileError(str(error)) from None
    return fit_measurements(data, name, folder, force=force)


def fit_file(file: Path, name: str | None, out: Path | None, *, strict: bool, force: bool) -> Calibrated:
    """Fit a file of measurements and write what comes of it; it may be of another machine."""
    try:
        data = read_measurements(file)
    except EngineError as error:
        raise ProfileError(str(error)) from None
    why = data.get("noise", {}).get("why_noisy")
    if strict and why:
        raise ProfileError(f"{file}: a noisy machine (--strict): {'; '.join(why)}")
    return fit_measurements(data, name, folder_for_entries(out).absolute(), force=force)


def fit_measurements(data: Mapping[str, Any], name: str | None, folder: Path, *, force: bool) -> Calibrated:
    """Fit and write."""
    found = fit_device(data, name or entry_name(data["device"]))
    return Calibrated(found, write_device(found, folder, force=force))


def error_rows(surface: StepSurface) -> list[dict[str, Any]]:
    """Errors by cause, of the fit and of what was held out, as fractions of the whole step."""
    return [
        {"on": on, "cause": cause, **error.model_dump()}
        for on, errors in (("fit", surface.fit_error), ("held out", surface.held_out))
        for cause, error in errors.items()
    ]
