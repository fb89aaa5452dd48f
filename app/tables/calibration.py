"""A calibrated device on the screen: how well its steps are predicted, and what to do next."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table

from simulator.catalog.load import names

WORDS = {
    "linear": "layers and head",
    "attention": "attention, decoding",
    "prefill_attention": "attention, prompts",
    "sampling": "choosing tokens",
    "overhead": "host",
    "draft": "draft",
    "step": "whole step",
}


def error_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Mean error by cause, on the steps of the fit and on steps that it never saw."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    table.add_column("mean error, share of the step")
    for label in ("fit", "held out", "worst held out"):
        table.add_column(label, justify="right")
    by = {(row["on"], row["cause"]): row for row in rows}
    for cause, words in WORDS.items():
        fit, held = by.get(("fit", cause)), by.get(("held out", cause))
        table.add_row(words, _percent(fit, "mean_ape"), _percent(held, "mean_ape"), _percent(held, "worst_ape"))
    return table


def next_steps(gpu: str, model: str, dtype: str, draft: str | None) -> str:
    """What to do with the profile."""
    lines = [
        "In a scenario:",
        f"  gpu: {gpu}",
        f"  target: {{model: {model}, weights: {dtype}, kv: {dtype}}}",
        "  engine: {policy: specfleet, max_model_len: 2048}",
    ]
    if draft is not None:
        how = "model" if draft in names("models") else "measured"
        lines.append(f"  drafts: {{it: {{{how}: {draft}, acceptance: …}}}}  # what it proposes: calibrate acceptance")
    return "\n".join([*lines, "Next: specfleet calibrate acceptance, then specfleet calibrate check"])


def _percent(row: Mapping[str, Any] | None, name: str) -> str:
    return "–" if row is None else f"{row[name]:.2%}"
