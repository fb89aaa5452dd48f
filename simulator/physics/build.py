"""A checkpoint on its GPUs: each part from the measured profile where it has a table, else from the catalog."""

from simulator.physics.attention import AttentionCurve, attention_curve
from simulator.physics.communication import Group
from simulator.physics.dense import Dense, dense
from simulator.physics.experts import ExpertLayers, expert_layers
from simulator.physics.footprint import num_moe_layers
from simulator.physics.formats import WeightFormat, peak_flop_per_s, weight_format
from simulator.physics.forward import ACTIVATION_BYTES, Checkpoint, Forward, Machine, Split
from simulator.physics.matrices import Matrix, dense_matrices, edge_layers, head_weights, shared_intermediate
from simulator.physics.profiled import Calibration, ProfiledExperts, all_reduce_curves, profiled_experts
from simulator.physics.profiled_attention import ProfiledAttention, profiled_attention
from simulator.spec.model import Model

STREAMING_FRACTION = 0.8
"""Share of the bandwidth that element-wise kernels reach.

Assumption: the factor of aiconfigurator-core 0.12.0, systems/h200_sxm.yaml (mem_bw_empirical_scaling_factor).
"""
Formats = tuple[WeightFormat, WeightFormat]
"""Of quantised and of unquantised weights."""
Experts = ExpertLayers | ProfiledExperts


def build_forward(checkpoint: Checkpoint, machine: Machine, split: Split) -> Forward:
    """A checkpoint on the machine's GPUs."""
    model, gpu, policy, profile = checkpoint.model, machine.gpu, machine.policy, machine.profile
    plain = weight_format(gpu, policy, None)
    low = weight_format(gpu, policy, checkpoint.weights) if checkpoint.weights is not None else plain
    names = (checkpoint.weights.name if checkpoint.weights is not None else "bf16", "bf16")
    bandwidth = gpu.memory.bandwidth_bytes_per_s
    matrices = dense_matrices(model, split.tensor_parallel, checkpoint.weights, checkpoint.unquantised)
    head = Matrix(head_weights(model, split.tensor_parallel), 1, "head", False, float(model.hidden_size))
    layers = dense(matrices, (low, plain), names, profile, bandwidth)
    logits = dense((head,), (low, plain), names, profile, bandwidth)
    experts, experts_derived, experts_missing = _experts(checkpoint, machine, split, (low, plain))
    attention, attention_missing = _attention(checkpoint, machine, split)
    tensor_group, replica_group = (_group(machine, gpus) for gpus in (split.tensor_parallel, split.num_gpus))
    missing = (*layers.uncalibrated, *logits.uncalibrated, *experts_missing, *attention_missing)
    missing += () if tensor_group.calibrated or profile is None else ("all-reduce",)
    derived = (*layers.derived, *logits.derived, *experts_derived)
    if isinstance(attention, ProfiledAttention):
        derived += attention.derived
    return Forward(
        model=model,
        machine=machine,
        split=split,
        dense=layers,
        experts=experts,
        head=logits,
        attention=attention,
        tensor_group=tensor_group,
        replica_group=replica_group,
        calibration=_calibration(machine, layers, attention, derived, missing),
        between_s=_between(model, machine, split),
    )


def _between(model: Model, machine: Machine, split: Split) -> tuple[float, float]:
    """Kernels between the products, where a profile measured all else: a constant, and seconds per row.

    Per row and layer, in 2-byte activations: two norms with their residual (each reads two vectors of the hidden size
    and writes two), the rotary embedding (queries and keys, read and written), the gated activation of a dense or
    shared MLP (reads two vectors, writes one).
    """
    if machine.profile is None:
        return 0.0, 0.0
    heads = (model.num_attention_heads + model.num_kv_heads) * model.head_dim / split.tensor_parallel
    moe_layers = num_moe_layers(model)
    dense_width = model.intermediate_size * (model.num_layers - moe_layers) + shared_intermediate(model) * moe_layers
    values = model.num_layers * (8 * model.hidden_size + 2 * heads) + 3 * dense_width / split.tensor_parallel
    rate = STREAMING_FRACTION * machine.gpu.memory.bandwidth_bytes_per_s
    constants = machine.profile.constants
    per_row = constants.unfused_fraction * values * ACTIVATION_BYTES / rate
    return model.num_layers * constants.layer_us * 1e-6, per_row


def _calibration(
    machine: Machine,
    layers: Dense,
    attention: AttentionCurve | ProfiledAttention,
    derived: tuple[str, ...],
    missing: tuple[str, ...],
) -> Calibration:
    return Calibration(
        profile=machine.profile,
        derived=tuple(dict.fromkeys(derived)),
        uncalibrated=tuple(dict.fromkeys(missing)),
        max_rows=layers.max_rows,
        max_batch=attention.max_batch if isinstance(attention, ProfiledAttention) else 0,
        max_context=attention.max_context if isinstance(attention, ProfiledAttention) else 0,
    )


def _experts(
    checkpoint: Checkpoint, machine: Machine, split: Split, formats: Formats
) -> tuple[tuple[Experts, ...], tuple[str, ...], tuple[str, ...]]:
    """The routed experts by weight format, what of them was extrapolated, and what is uncalibrated."""
    model = checkpoint.model
    if model.moe is None:
        return (), (), ()
    edges = edge_layers(model)[1] if "first_and_last_mlp" in checkpoint.unquantised else 0
    by_format = [(num_moe_layers(model) - edges, formats[0]), (edges, formats[1])]
    names = [checkpoint.weights.name if checkpoint.weights is not None else "bf16", "bf16"]
    found: list[Experts] = []
    derived, missing = [], []
    for (layers, weights), name in zip(by_format, names, strict=True):
        for law in expert_layers(model, split.num_gpus, split.expert_parallel, [(layers, weights)]):
            table, said = profiled_experts(
                machine.profile, name, law, model.moe.expert_intermediate, split.num_gpus // split.expert_parallel
            )
            found.append(table or law)
            derived += [said] if said else []
            missing += [f"{name} experts"] if table is None and machine.profile is not None else []
    return tuple(found), tuple(derived), tuple(missing)


def _attention(
    checkpoint: Checkpoint, machine: Machine, split: Split
) -> tuple[AttentionCurve | ProfiledAttention, tuple[str, ...]]:
    """Attention, and what of it is uncalibrated."""
    model, gpu, profile = checkpoint.model, machine.gpu, machine.profile
    if profile is not None:
        measured = profiled_attention(profile, model, checkpoint.kv, split.tensor_parallel)
        if measured is not None:
            return measured, ()
    peak = peak_flop_per_s(gpu, "bf16")
    law = attention_curve(model, checkpoint.kv, split.tensor_parallel, gpu.attention, machine.policy.linear_from, peak)
    return law, () if profile is None else ("attention",)


def _group(machine: Machine, num_gpus: int) -> Group:
    overhead = machine.policy.overhead
    return Group(
        machine.links,
        num_gpus,
        machine.gpu.node_gpus,
        (overhead.all_reduce, overhead.all_reduce_eager),
        lambda gpus: all_reduce_curves(machine.profile, gpus),
    )
