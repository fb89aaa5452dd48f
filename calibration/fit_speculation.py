"""Host times of speculation, fitted on measured speed-ups and judged on targets and GPUs left out of the fit.

`python -m calibration.fit_speculation speculation.csv` writes calibration/speculation_constants.json and prints what
the engine policies in simulator/catalog/engines are to hold.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from calibration.robust import digits
from calibration.speculation_host import FILE, HostTimes, fitted_host_times
from calibration.speculation_scores import borrowed
from calibration.speculation_validation import SpeculationOutcome, predicted, validate_speculation


def constants(outcomes: Sequence[SpeculationOutcome]) -> dict[str, Any]:
    """By engine fitted on all its rows, and by engine, GPU and target on its other rows.

    Only rows with an accepted length of their own count. An engine of whose rows nothing is left without one target has
    nothing to be judged by: it is not fitted.
    """
    rows: dict[str, list[SpeculationOutcome]] = {}
    for one in outcomes:
        if one.case is not None and not borrowed(one):
            rows.setdefault(one.case.unit[0], []).append(one)
    units = {engine: sorted({_unit(one) for one in of}) for engine, of in sorted(rows.items())}
    several = [engine for engine, of in units.items() if len(of) > 1]
    return {
        "fitted": {engine: _fitted(rows[engine]) for engine in several},
        "left_out": {
            unit: _fitted([one for one in rows[engine] if _unit(one) != unit])
            for engine in several
            for unit in units[engine]
        },
    }


def _unit(one: SpeculationOutcome) -> str:
    assert one.case is not None
    return " ".join(one.case.unit)


def _fitted(rows: Sequence[SpeculationOutcome]) -> dict[str, float]:
    cases = [one.case for one in rows if one.case is not None]
    times = [one.shipped_times for one in rows if one.shipped_times is not None]
    found = fitted_host_times(cases, times)
    return {name: digits(value, 3) for name, value in found._asdict().items()}


def main(arguments: list[str]) -> int:
    """Fit, write, and say what the policies are to hold."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m calibration.fit_speculation speculation.csv\n")
        return 2
    found = constants(predicted(validate_speculation(Path(arguments[0]), judges={})))
    FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for engine, values in found["fitted"].items():
        sys.stdout.write(f"{engine}: {HostTimes(**values)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
