"""Curves of a measured profile, as the step model uses them; None for a part that it has no table of."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from simulator.physics.communication import CollectiveCurve
from simulator.physics.experts import ExpertLayers
from simulator.physics.linear import interpolate
from simulator.spec.profile import AllReduceTable, ExpertsDtype, ExpertsTable, LinearDtype, LinearTable, Profile

LINEAR_TABLES: dict[str, LinearDtype] = {
    "bf16": "bf16",
    "fp8": "fp8",
    "int8": "fp8",
    "fp8_block": "fp8_block",
    "nvfp4": "nvfp4",
}
"""Weight format → measured table; int8 products run at the rate of fp8."""
EXPERTS_TABLES: dict[str, tuple[ExpertsDtype, ...]] = {
    "bf16": ("bf16",),
    "fp8": ("fp8", "fp8_block"),
    "int8": ("fp8", "fp8_block"),
    "fp8_block": ("fp8_block", "fp8"),
    "nvfp4": ("nvfp4",),
    "mxfp4": ("mxfp4",),
    "awq_int4": ("int4",),
}
"""Weight format → measured tables of routed experts, the nearest first."""


class Calibration(NamedTuple):
    """Where a step model's curves come from."""

    profile: Profile | None
    derived: tuple[str, ...] = ()
    """Parts beyond what was measured: extrapolated."""
    uncalibrated: tuple[str, ...] = ()
    """Parts from the catalog's efficiencies."""
    max_rows: int = 0
    """Most rows of a linear layer that were measured, on one GPU; 0: none."""
    max_batch: int = 0
    """Most decoding sequences whose attention was measured, on one GPU; 0: none."""
    max_context: int = 0
    """Longest context measured [tokens]; 0: none."""
    max_queries: int = 0
    """Most tokens verified of a sequence (K + 1) that were measured; 0: it matters to no table."""

    def outside(self, rows: int, sequences: int, context_tokens: float, queries: int = 1) -> tuple[str, ...]:
        """Which inputs of a step, per data-parallel rank, lie beyond what was measured: extrapolated."""
        longest = context_tokens / sequences if sequences else 0.0
        found = (
            (rows, self.max_rows, "rows"),
            (sequences, self.max_batch, "sequences"),
            (longest, self.max_context, "tokens of context"),
            (queries, self.max_queries, "tokens verified of a sequence"),
        )
        return tuple(f"{value:,.0f} {what}: measured to {most:,}" for value, most, what in found if 0 < most < value)

    def with_draft(self, draft: "Calibration") -> "Calibration":
        """The target's, with what is said of the draft added."""
        return self._replace(
            derived=self.derived + tuple(f"draft: {said}" for said in draft.derived),
            uncalibrated=self.uncalibrated + tuple(f"draft: {said}" for said in draft.uncalibrated),
        )


UNCALIBRATED = Calibration(None)
"""All from the catalog's efficiencies."""


def linear_table(profile: Profile | None, weights: str) -> LinearTable | None:
    """The table of a weight format."""
    tables = profile.linear if profile is not None else ()
    return next((table for table in tables if table.dtype == LINEAR_TABLES.get(weights)), None)


@dataclass(frozen=True, slots=True)
class ProfiledExperts:
    """Routed experts of the MoE layers that share one weight format, from a table."""

    layers: int
    tokens: tuple[float, ...]
    layer_s: tuple[float, ...]
    catalog: ExpertLayers
    """The same by the catalog: tells reading from arithmetic."""

    def seconds(self, tokens: int) -> float:
        """Seconds of all layers at `tokens` tokens of the whole replica."""
        if tokens <= 0:
            return 0.0
        return self.layers * interpolate(max(float(tokens), self.tokens[0]), self.tokens, self.layer_s)

    def reading_s(self, tokens: int) -> float:
        """Seconds of the same if it had no more to do than read the touched experts, at most all of its time."""
        return min(self.catalog.reading_s(tokens), self.seconds(tokens))


def profiled_experts(
    profile: Profile | None, weights: str, experts: ExpertLayers, expert_width: int, tensor_parallel: int
) -> tuple[ProfiledExperts | None, str]:
    """Experts from the table of their shape and split, and what was extrapolated.

    A split that was not measured takes the nearest one of the same shape, times the ratio that the catalog's law gives.
    expert_width: intermediate size of a whole expert. tensor_parallel: GPUs that split each expert.
    """
    tables = profile.experts if profile is not None else ()
    for dtype in EXPERTS_TABLES.get(weights, ()):
        alike = [t for t in tables if t.dtype == dtype and _shape(t) == _wanted(experts, expert_width)]
        if alike:
            break
    else:
        return None, ""
    table = min(alike, key=lambda t: _apart(t, tensor_parallel, experts.expert_parallel))
    seconds = [us * 1e-6 for us in table.us]
    if (table.tensor_parallel, table.expert_parallel) == (tensor_parallel, experts.expert_parallel):
        return ProfiledExperts(experts.layers, tuple(map(float, table.tokens)), tuple(seconds), experts), ""
    scaled = _resplit(table, seconds, experts, tensor_parallel)
    said = (
        f"experts split {tensor_parallel} × {experts.expert_parallel}: scaled from "
        f"{table.tensor_parallel} × {table.expert_parallel}"
    )
    return ProfiledExperts(experts.layers, tuple(map(float, table.tokens)), tuple(scaled), experts), said


def _wanted(experts: ExpertLayers, width: int) -> tuple[int, int, int, int]:
    return experts.hidden_size, width, experts.num_experts, experts.top_k


def _shape(table: ExpertsTable) -> tuple[int, int, int, int]:
    return table.hidden, table.intermediate, table.experts, table.top_k


def _apart(table: ExpertsTable, tensor_parallel: int, expert_parallel: int) -> tuple[float, float]:
    gpus = table.tensor_parallel * table.expert_parallel / (tensor_parallel * expert_parallel)
    return abs(gpus - 1.0) + abs(1.0 / gpus - 1.0), abs(table.expert_parallel / expert_parallel - 1.0)


def _resplit(table: ExpertsTable, seconds: Sequence[float], experts: ExpertLayers, tensor_parallel: int) -> list[float]:
    """Latencies × (catalog's law of the wanted split ÷ of the measured one), never falling nor below the fastest."""
    factor = tensor_parallel / table.tensor_parallel
    measured = replace(
        experts,
        expert_parallel=table.expert_parallel,
        matrices=tuple(weights * factor for weights in experts.matrices),
    )
    out: list[float] = []
    for tokens, s in zip(table.tokens, seconds, strict=True):
        value = s * experts.seconds(tokens) / measured.seconds(tokens)
        out.append(max(value, out[-1]) if out else value)
    return out


def all_reduce_curves(profile: Profile | None, gpus: int) -> tuple[CollectiveCurve, CollectiveCurve] | None:
    """Curves inside graphs and outside for this many GPUs of a node; the next larger group that was measured."""
    tables = [t for t in (profile.all_reduce if profile is not None else ()) if t.gpus >= gpus]
    if not tables or gpus < 2:
        return None
    size = min(t.gpus for t in tables)
    by_mode = {t.mode: t for t in tables if t.gpus == size}
    graph = by_mode.get("graph") or by_mode["eager"]
    return _curve(graph), _curve(by_mode.get("eager") or graph)


def _curve(table: AllReduceTable) -> CollectiveCurve:
    return CollectiveCurve(tuple(map(float, table.bytes)), tuple(us * 1e-6 for us in table.us))
