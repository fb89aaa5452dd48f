"""Whether a profile was measured on this device: another processor, thread count or library has other step times."""

from simulator.errors import ProfileError
from simulator.spec.step_surface import Device


def differences(one: Device, other: Device) -> list[str]:
    """What tells two devices apart; patch versions of torch do not."""
    pairs = {
        "name": (one.name, other.name),
        "cores": (one.cores, other.cores),
        "threads": (one.threads, other.threads),
        "backend": (one.backend, other.backend),
        "torch": (_minor(one.torch), _minor(other.torch)),
    }
    return [f"{what} {a} against {b}" for what, (a, b) in pairs.items() if a != b]


def require_same_device(profile: Device | None, here: Device, what: str, *, force: bool) -> None:
    """Refuse a profile of another device, unless that is wanted; what: the profile's name or file."""
    if profile is None or force:
        return
    apart = differences(profile, here)
    if apart:
        raise ProfileError(
            f"{what}: measured on another device ({'; '.join(apart)}); measure this one with"
            " `specfleet calibrate device --name NAME`, or take it all the same with --force"
        )


def _minor(version: str) -> str:
    return ".".join(version.split("+")[0].split(".")[:2])
