"""The picture of docs/calibration.md, from a check: `python -m docs.pictures.make_calibration runs/check-full`."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from calibration.check_doc import read_summary
from docs.pictures.parity import Dot, parity

PICTURE = Path(__file__).with_name("calibration.svg")
PANELS = {
    "ttft_s.mean": ("TTFT, mean [ms]", 1e3),
    "tpot_s.mean": ("TPOT, mean [ms]", 1e3),
    "output_tokens_per_s": ("output tokens/s", 1.0),
}
"""Figure → title, factor."""


def picture(found: Mapping[str, Any]) -> str:
    """Parity plots side by side: a dot a run, a colour a K; on the line the prediction is right."""
    ks = sorted({point["draft_tokens"] for point in found["points"]})
    panels = {title: _dots(found, name, factor) for name, (title, factor) in PANELS.items()}
    return parity(panels, [_kind(k) for k in ks])


def _kind(draft_tokens: int) -> str:
    return f"K = {draft_tokens}" if draft_tokens else "no drafts"


def _dots(found: Mapping[str, Any], name: str, factor: float) -> list[Dot]:
    return [
        Dot(factor * value, factor * point["figures"][name]["predicted"], _kind(point["draft_tokens"]))
        for point in found["points"]
        for value in point["figures"][name]["measured"]
        if value and point["figures"][name]["predicted"]
    ]


if __name__ == "__main__":
    PICTURE.write_text(picture(read_summary(Path(sys.argv[1]))), encoding="utf-8")
