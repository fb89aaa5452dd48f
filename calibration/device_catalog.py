"""A fitted device in the user's own catalog: files written whole or not at all, and none of another device lost."""

from pathlib import Path

import simulator.catalog
from calibration.fit_device import DeviceFit
from calibration.identity import differences, require_same_device
from calibration.profiles import dump
from calibration.whole_file import write_whole
from simulator.catalog.load import NOUNS, forget, names, origin
from simulator.catalog.own import entry_text
from simulator.errors import CatalogError
from simulator.spec.profile import Profile
from simulator.spec.step_surface import StepSurface

PACKAGE = Path(simulator.catalog.__file__).parent
"""The package's own catalog: entries of the project itself are written there."""

USUAL_DRAFT = "lookup"
"""What a device is measured with where nothing else is asked for."""


def measurements_file(folder: Path, name: str | None, drafts: str = USUAL_DRAFT) -> Path:
    """Where the measurements behind an entry lie: beside it, but not in the package.

    drafts: name of what was drafted with; each has a file of its own.
    """
    beside = Path("runs").absolute() if folder == PACKAGE else folder
    more = "" if drafts == USUAL_DRAFT else f"-{drafts}"
    return beside / "measurements" / f"{name or 'this-device'}{more}.json"


def require_free_name(gpu: str, profile: str, folder: Path) -> None:
    """Raises CatalogError where the package has a device or a profile of this name, and the folder is not its own."""
    for kind, entry in (("gpus", gpu), ("links", gpu), ("profiles", profile)):
        if folder != PACKAGE and entry in names(kind) and origin(kind, entry) == "package":
            raise CatalogError(f"the package has a {NOUNS[kind]} {entry!r} of its own; name the device with --name")


def write_device(found: DeviceFit, folder: Path, *, force: bool) -> list[Path]:
    """Write GPU, links, profile and, where it is new, the model; the profile last. The files written.

    A profile of the same name that another device was measured for is kept, unless forced.
    """
    name = found.gpu.name
    require_free_name(name, found.profile.name, folder)
    file = folder / "profiles" / f"{found.profile.name}.json"
    if file.exists() and found.profile.device is not None:
        before = Profile.model_validate_json(file.read_bytes())
        require_same_device(before.device, found.profile.device, str(file), force=force)
        found = found._replace(profile=found.profile.model_copy(update={"steps": _with_others(before, found)}))
    written = [_write(folder / "gpus" / f"{name}.yaml", entry_text(found.gpu))]
    written.append(_write(folder / "links" / f"{name}.yaml", entry_text(found.links)))
    if found.model is not None:
        written.append(_write(folder / "models" / f"{found.model.name}.yaml", entry_text(found.model)))
    written.append(_write(file, dump(found.profile)))
    forget()
    return written


def _with_others(before: Profile, found: DeviceFit) -> tuple[StepSurface, ...]:
    """All steps that were measured on the same device: of other models, and with other drafts of the same one."""
    device, mine = found.profile.device, found.surface
    if before.device is None or device is None or differences(before.device, device):
        return (mine,)
    known = {draft.draft for draft in mine.drafts}
    drafts = [
        draft
        for surface in before.steps
        if (surface.model, surface.weights, surface.kv) == (mine.model, mine.weights, mine.kv)
        for draft in surface.drafts
        if draft.draft not in known
    ]
    others = [surface for surface in before.steps if surface.model != mine.model]
    return mine.model_copy(update={"drafts": (*mine.drafts, *drafts)}), *others


def _write(path: Path, text: str) -> Path:
    try:
        return write_whole(path, text)
    except OSError as error:
        raise CatalogError(f"{path}: cannot be written: {error.strerror}; name another folder with --out") from None
