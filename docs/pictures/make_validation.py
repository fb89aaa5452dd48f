"""The picture of docs/validation.md, from what `specfleet validate CSV --json` prints: given on the standard input."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docs.pictures.parity import Dot, parity

PICTURE = Path(__file__).with_name("validation.svg")
PANELS = {
    "ttft": ("TTFT [ms]", 1e3),
    "tpot": ("TPOT [ms]", 1e3),
    "output_tokens_per_s": ("output tokens/s per GPU", 1.0),
}
"""Metric → title, factor."""
ENGINES = {"trtllm": "TRT-LLM", "vllm": "vLLM", "sglang": "SGLang"}


def picture(summary: Mapping[str, Any]) -> str:
    """Parity plots: a dot a row that counts and on whose group no constant was fitted, a colour an engine."""
    return parity(
        {title: _dots(summary, name, factor) for name, (title, factor) in PANELS.items()}, [*ENGINES.values()]
    )


def _dots(summary: Mapping[str, Any], metric: str, factor: float) -> list[Dot]:
    rows = [row for row in summary["rows"] if row["half"] == "held_out" and not row["skip_reason"]]
    return [
        Dot(factor * row[metric]["measured"], factor * row[metric]["predicted"], ENGINES[row["engine"]])
        for row in rows
        if row[metric]["measured"] and row[metric]["predicted"]
    ]


if __name__ == "__main__":
    PICTURE.write_text(picture(json.load(sys.stdin)), encoding="utf-8")
