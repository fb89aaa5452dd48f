"""A mixture of experts: its weights, and the layer that sends each row to a few of them.

A row's router scores become chances by softmax over all experts; the most likely ones compute it (Shazeer et al. 2017,
arXiv:1701.06538, section 2.1, without its noise). A subset of the experts is the same layer with fewer to choose from.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from engine.architecture import Mixture
from engine.linear import Linear


@dataclass(frozen=True, slots=True)
class MixtureWeights:
    """The routed part of one layer; matrices are [output, input], of all experts one behind the other."""

    router: Tensor
    """[experts, hidden]"""
    gate_up: Tensor
    """[experts, 2 × expert width, hidden]"""
    down: Tensor
    """[experts, hidden, expert width]"""
    shared_gate: Tensor | None
    """[1, hidden] whose sigmoid weighs the shared expert; None: it has the weight one."""


def assemble_mixture(m: Mixture, hidden: int, prefix: str, take: Callable[..., Tensor]) -> MixtureWeights:
    """Put the routed part together from tensors with Hugging Face names (those of Qwen's mixtures)."""
    size = m.intermediate_size

    def stacked(names: Sequence[str], *shape: int) -> Tensor:
        return torch.stack(
            [torch.cat([take(f"{prefix}experts.{e}.{n}.weight", *shape) for n in names]) for e in range(m.num_experts)]
        )

    return MixtureWeights(
        router=take(prefix + "gate.weight", m.num_experts, hidden),
        gate_up=stacked(("gate_proj", "up_proj"), size, hidden),
        down=stacked(("down_proj",), hidden, size),
        shared_gate=take(prefix + "shared_expert_gate.weight", 1, hidden) if m.shared_gate else None,
    )


def mixture_tensors(weights: MixtureWeights, prefix: str) -> Mapping[str, Tensor]:
    """The routed part under Hugging Face names; the inverse of `assemble_mixture`."""
    tensors = {f"{prefix}gate.weight": weights.router}
    for e, (gate_up, down) in enumerate(zip(weights.gate_up, weights.down, strict=True)):
        gate, up = gate_up.chunk(2)
        named = {"gate_proj": gate, "up_proj": up, "down_proj": down}
        tensors |= {f"{prefix}experts.{e}.{name}.weight": tensor for name, tensor in named.items()}
    if weights.shared_gate is not None:
        tensors[f"{prefix}shared_expert_gate.weight"] = weights.shared_gate
    return tensors


def changed(weights: MixtureWeights, change: Callable[[Tensor], Tensor]) -> MixtureWeights:
    """The same part with every matrix changed."""
    gate = weights.shared_gate
    return MixtureWeights(
        change(weights.router),
        change(weights.gate_up),
        change(weights.down),
        None if gate is None else change(gate),
    )


def swiglu(gate_up: Linear, down: Linear) -> Linear:
    """The MLP of these two products."""

    def apply(rows: Tensor) -> Tensor:
        gate, up = gate_up(rows).chunk(2, dim=-1)
        return down(functional.silu(gate) * up)

    return apply


@dataclass(frozen=True, slots=True)
class Experts:
    """A mixture as a layer: rows in, rows out."""

    router: Linear
    experts: tuple[Linear, ...]
    shared: Linear | None
    """The expert that every row uses."""
    shared_gate: Linear | None
    top_k: int
    normalised: bool
    """Whether the chances of the chosen ones are scaled to sum to one."""
    resident: Tensor | None = None
    """[experts] zero for those that may be chosen, minus one for the others; None: all may."""
    used: Tensor | None = None
    """[experts] how many rows each has computed, added up; None: not counted."""

    def __call__(self, rows: Tensor) -> Tensor:
        """[rows, hidden] -> [rows, hidden]"""
        chances, chosen = self.route(rows)
        if self.used is not None:
            self.used.add_(torch.bincount(chosen.flatten(), minlength=len(self.experts)))
        result = torch.zeros_like(rows)
        for expert in sorted(set(chosen.flatten().tolist())):
            row, nth = (chosen == expert).nonzero(as_tuple=True)
            result.index_add_(0, row, self.experts[expert](rows[row]) * chances[row, nth].unsqueeze(1))
        return result if self.shared is None else result + self._always(rows, self.shared)

    def route(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Chances and numbers of the experts of each row: two of [rows, top k]."""
        chances = self.router(rows).softmax(-1, dtype=torch.promote_types(rows.dtype, torch.float32))
        allowed = chances if self.resident is None else chances + self.resident
        chosen = allowed.topk(self.top_k, dim=-1).indices
        kept = chances.gather(-1, chosen)
        if self.normalised:
            kept = kept / kept.sum(-1, keepdim=True)
        return kept.to(rows.dtype), chosen

    def only(self, resident: Tensor, active: int) -> "Experts":
        """The same layer with these experts to choose from, and so many chosen; no weight is copied."""
        mask = -torch.ones(len(self.experts), device=resident.device)
        mask[resident] = 0.0
        return replace(self, resident=mask, top_k=active)

    def _always(self, rows: Tensor, shared: Linear) -> Tensor:
        result = shared(rows)
        return result if self.shared_gate is None else result * self.shared_gate(rows).sigmoid()


def prepared_experts(
    weights: MixtureWeights, mixture: Mixture, shared: Linear | None, prepare: Callable[[Tensor, Tensor | None], Linear]
) -> Experts:
    """A layer from its weights, its products prepared for the device."""
    pairs = zip(weights.gate_up, weights.down, strict=True)
    return Experts(
        router=prepare(weights.router, None),
        experts=tuple(swiglu(prepare(gate_up, None), prepare(down, None)) for gate_up, down in pairs),
        shared=shared,
        shared_gate=None if weights.shared_gate is None else prepare(weights.shared_gate, None),
        top_k=mixture.top_k,
        normalised=mixture.normalised,
    )
