"""Passes of one model on one device as they were measured whole: `Forward`'s questions, answered by a step surface."""

from dataclasses import dataclass

from simulator.errors import ProfileError
from simulator.physics.draft import Affine, DraftCost
from simulator.physics.footprint import flops_per_token
from simulator.physics.forward import Checkpoint, HeadCost, LayersCost, Machine, Split
from simulator.physics.linear import interpolate
from simulator.physics.profiled import UNCALIBRATED, Calibration
from simulator.spec.draft import Draft
from simulator.spec.model import Model
from simulator.spec.step_surface import ContextGrid, DraftSurface, PromptTable, RowsTable, StepSurface

US = 1e-6


def surface_of(checkpoint: Checkpoint, machine: Machine, split: Split) -> StepSurface | None:
    """The measured surface of a checkpoint on one GPU; None where there is none."""
    steps = machine.profile.steps if machine.profile is not None else ()
    weights = "bf16" if checkpoint.weights is None else checkpoint.weights.name
    wanted = (checkpoint.model.name, weights, checkpoint.kv)
    if split.num_gpus > 1:
        return None
    return next((surface for surface in steps if (surface.model, surface.weights, surface.kv) == wanted), None)


@dataclass(frozen=True, slots=True)
class MeasuredForward:
    """One model on one GPU, priced by its surface."""

    model: Model
    machine: Machine
    split: Split
    surface: StepSurface

    @property
    def calibration(self) -> Calibration:
        """Where the tables come from, and how far they reach."""
        s = self.surface
        reach = s.layers.rows[-1], s.decode.sequences[-1], s.decode.max_context, s.decode.tokens[-1]
        return Calibration(self.machine.profile, (), (), *reach)

    @property
    def step_s(self) -> float:
        """Host time of a step that comes whatever it computes; the gap to the next step included."""
        return self.surface.host.step_us * US

    @property
    def sampler_s(self) -> float:
        """Nothing beyond what the head's table of sampling holds."""
        return 0.0

    def hosting_s(self, sequences: int, queries: int) -> float:
        """Host time of the decoding sequences; nothing hides it."""
        return sequences * self.surface.host.sequence_us * US

    def layers(self, rows: int) -> LayersCost:
        """Seconds of all layers at so many tokens; at one row they read their weights and do little else."""
        if rows <= 0:
            return LayersCost(0.0, 0.0, 0.0, 0.0, 0.0)
        table = self.surface.layers
        return LayersCost(_at(table, rows), 0.0, 0.0, rows * self.surface.host.row_us * US, table.us[0] * US)

    def head_cost(self, logit_rows: int) -> HeadCost:
        """Seconds of the head and of choosing tokens."""
        if logit_rows <= 0:
            return HeadCost(0.0, 0.0, 0.0)
        return HeadCost(_at(self.surface.head, logit_rows), 0.0, _at(self.surface.sampling, logit_rows))

    def decode_attention(self, sequences: int, queries: int) -> Affine:
        """Seconds of decode attention: a constant, and per position of context."""
        return _on(self.surface.decode, sequences, queries)

    def bound_by_flops(self, queries: int) -> bool:
        """Whether more queries make a position of context dearer by half of their number or more: arithmetic binds."""
        one, many = (self.decode_attention(1, n)[1] for n in (1, queries))
        return queries > 1 and one > 0.0 and many / one >= 0.5 * queries

    def prefill_attention_s(self, tokens: int) -> float:
        """Seconds of prompt attention that do not depend on the positions attended to."""
        return _at(self.surface.prompts.base, tokens) if tokens > 0 else 0.0

    @property
    def prefill_context_s(self) -> float:
        """Seconds per pair of a prompt token and a position that it attends to."""
        return _pair_s(self.surface.prompts)


def measured_draft(draft: Draft, target: MeasuredForward, model: Model | None) -> DraftCost | None:
    """The draft's cost as it was measured beside this target; None for a draft that must be priced in another way.

    model: the draft's architecture; None: the draft is a method that was measured as a whole.
    """
    found = {surface.draft: surface for surface in target.surface.drafts}
    name = draft.measured if model is None else model.name
    if name not in found:
        return None
    ratio = 0.0 if model is None else flops_per_token(model) / flops_per_token(target.model)
    return _draft_cost(found[name], ratio, target)


def draft_of(surface: StepSurface, target: MeasuredForward) -> DraftCost | None:
    """The cost of the first draft of a surface; None where there is none."""
    return _draft_cost(surface.drafts[0], 0.0, target) if surface.drafts else None


def unknown_draft(name: str, target_name: str, machine: Machine, surface: StepSurface | None) -> ProfileError:
    """A draft that nobody measured beside the target on this device."""
    known = ", ".join(drafted.draft for drafted in surface.drafts) if surface is not None else ""
    where = machine.profile.name if machine.profile is not None else f"{machine.gpu.name} and {machine.policy.name}"
    return ProfileError(
        f"draft `measured: {name}`: no measured steps of {target_name} with it in the profile of {where}; "
        f"measured: {known or 'none'}; run `specfleet calibrate device` there, or give the draft as `abstract`"
    )


def _draft_cost(surface: DraftSurface, flops_ratio: float, target: MeasuredForward) -> DraftCost:
    prompts = surface.prompts

    def passes(sequences: int, draft_tokens: int) -> Affine:
        return _on(surface.passes, sequences, draft_tokens) if draft_tokens > 0 else (0.0, 0.0)

    def prefill_s(tokens: int) -> float:
        return _at(prompts.base, tokens) if prompts is not None and tokens > 0 else 0.0

    return DraftCost(
        passes=passes,
        one_pass=lambda sequences: passes(sequences, 1),
        prefill_s=prefill_s,
        prefill_context_s=0.0 if prompts is None else _pair_s(prompts),
        flops_ratio=flops_ratio,
        calibration=UNCALIBRATED._replace(profile=target.machine.profile),
    )


def _at(table: RowsTable, rows: int) -> float:
    """Seconds at so many rows; below the first knot as at it."""
    return US * max(0.0, interpolate(float(max(rows, table.rows[0])), table.rows, table.us))


def _pair_s(prompts: PromptTable) -> float:
    return 1e-6 * US * prompts.per_million_pairs_us


def _on(grid: ContextGrid, sequences: int, tokens: int) -> Affine:
    """Floor and slope [s] at so many sequences with so many tokens each; no sequences: no floor."""
    n = float(max(tokens, grid.tokens[0]))
    floors = [interpolate(n, grid.tokens, row) for row in grid.floor_us]
    slopes = [interpolate(n, grid.tokens, row) for row in grid.per_token_us]
    at = float(max(sequences, grid.sequences[0]))
    slope = max(0.0, interpolate(min(at, float(grid.sequences[-1])), grid.sequences, slopes))
    floor = max(0.0, interpolate(at, grid.sequences, floors)) if sequences > 0 else 0.0
    return US * floor, US * slope
