"""The file of measurements: whole after every visit, taken up again where an interrupted run stopped."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from calibration.whole_file import write_whole
from engine.errors import EngineError

FORMAT = 1
"""Raised when the file changes its shape."""
WEIGHT_SHAPES = ((2048, 4096), (8192, 4096), (16384, 8192))
"""Outputs and inputs of products measured beside the model's own: one of each size of weights that a catalog entry has
a bandwidth fraction of. A CPU, whose bandwidth is reached long before, leaves out the last."""
IDENTITY = ("format", "device", "model", "options", "quick")
"""What must be equal for measurements to go on in the same file."""


class MeasurementError(EngineError):
    """A file of measurements that cannot be used, or a machine that was refused."""


class Store:
    """Measurements by name, on disk after every change."""

    def __init__(self, path: Path, header: Mapping[str, Any], *, fresh: bool = False) -> None:
        """Take up a file whose header is equal; another one is an error unless it is to be replaced.

        fresh: begin anew, whatever is there.
        """
        self.path = path
        self.data: dict[str, Any] = {"format": FORMAT, **header, "visits": {}, "kernels": {}, "loads": []}
        if path.exists() and not fresh:
            self._take_up(read_measurements(path))

    def _take_up(self, found: dict[str, Any]) -> None:
        for name in IDENTITY:
            if found.get(name) != self.data.get(name):
                raise MeasurementError(
                    f"{self.path}: holds measurements of another {name}: {_short(found.get(name))}, now"
                    f" {_short(self.data.get(name))}; name another file, or begin anew with --force"
                )
        self.data = found

    def visits(self, key: str) -> list[Any]:
        """Visits to a point so far."""
        found: list[Any] = self.data["visits"].get(key, [])
        return found

    def add_visit(self, key: str, visit: Any) -> None:
        """Keep a visit."""
        self.data["visits"].setdefault(key, []).append(visit)
        self.save()

    def kernel(self, name: str) -> Any:
        """A kernel measurement, or None."""
        return self.data["kernels"].get(name)

    def add_kernel(self, name: str, found: Any) -> None:
        """Keep a kernel measurement."""
        self.data["kernels"][name] = found
        self.save()

    def save(self) -> None:
        """Write the file, whole or not at all."""
        try:
            write_whole(self.path, json.dumps(self.data, separators=(",", ":")))
        except OSError as error:
            raise MeasurementError(f"{self.path}: cannot be written: {error.strerror or error}") from None


def read_measurements(path: Path) -> dict[str, Any]:
    """A file of measurements as it stands; an error that says what is wrong with it."""
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise MeasurementError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise MeasurementError(f"{path}: is not a file of measurements: {error}") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise MeasurementError(
            f"{path}: is not a file of measurements of format {FORMAT} (python -m calibration.measure)"
        )
    missing = [name for name in (*IDENTITY, "visits", "kernels", "loads") if name not in found]
    if missing:
        raise MeasurementError(f"{path}: lacks {', '.join(missing)}")
    return found


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 160 else f"{text[:157]}…"
