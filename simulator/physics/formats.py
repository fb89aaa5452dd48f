"""How a weight format runs on a GPU: the bytes that it reads and the kernels that serve it."""

from dataclasses import dataclass

from simulator.errors import CatalogError
from simulator.physics.linear import LinearCurve, linear_curve
from simulator.spec.hardware import ComputeDtype, Gpu, LinearEfficiency
from simulator.spec.policy import EnginePolicy, Quantisation

MEASURED_BYTES: dict[ComputeDtype, float] = {"fp32": 4.0, "bf16": 2.0, "fp8": 1.0, "int8": 1.0, "nvfp4": 4.5 / 8.0}
"""Bytes per weight of the matrices that were measured for each compute dtype (nvfp4: scales included)."""


@dataclass(frozen=True, slots=True)
class WeightFormat:
    """Bytes per weight and the curve of the kernels that multiply them."""

    curve: LinearCurve
    bytes_per_weight: float
    """Scales and zeros included."""

    def gemm_s(self, weights: float, rows: float) -> float:
        """Seconds of one linear layer of `weights` elements at `rows` tokens."""
        return self.curve.gemm_s(weights, weights * self.bytes_per_weight, rows)

    def reading_s(self, weights: float) -> float:
        """Seconds of the same layer if it had no more to do than read its weights."""
        return self.curve.reading_s(weights * self.bytes_per_weight)


def weight_format(gpu: Gpu, policy: EnginePolicy, quantisation: Quantisation | None) -> WeightFormat:
    """The format on this GPU and engine; without a quantisation the weights are bf16.

    A weight-only format reads its own bytes on the curve of the dtype that it computes in: time follows bytes, and the
    arithmetic at many rows is that of the compute dtype.
    """
    dtype: ComputeDtype = "bf16"
    bytes_per_weight = 2.0
    if quantisation is not None:
        dtype = compute_dtype(gpu, quantisation)
        bytes_per_weight = quantisation.bits_per_weight / 8.0
    efficiency = linear_efficiency(gpu, policy.linear_from, dtype)
    curve = linear_curve(
        efficiency.bandwidth_fraction,
        efficiency.row_latency_ratio,
        peak_flop_per_s(gpu, dtype) * efficiency.compute_fraction,
        MEASURED_BYTES[dtype],
        gpu.memory.bandwidth_bytes_per_s,
        policy.overhead.kernel_floor_us * 1e-6,
    )
    return WeightFormat(curve, bytes_per_weight)


def compute_dtype(gpu: Gpu, quantisation: Quantisation) -> ComputeDtype:
    """Dtype in which the format's matrix products run on this GPU."""
    for key in (gpu.architecture, "default"):
        if key in quantisation.compute:
            return quantisation.compute[key]
    raise CatalogError(
        f"weight format {quantisation.name}: no compute dtype for {gpu.name} ({gpu.architecture}); "
        f"known: {', '.join(sorted(quantisation.compute))}"
    )


def peak_flop_per_s(gpu: Gpu, dtype: ComputeDtype) -> float:
    """Datasheet dense peak [FLOP/s]."""
    if dtype not in gpu.compute.tflops:
        raise CatalogError(f"GPU {gpu.name} has no {dtype} tensor cores; it has: {', '.join(gpu.compute.tflops)}")
    return gpu.compute.tflops[dtype] * 1e12


def linear_efficiency(gpu: Gpu, engine: str, dtype: ComputeDtype) -> LinearEfficiency:
    """Measured efficiencies of the engine, or the nearest ones that were measured.

    In order: the engine's own table of the dtype, vLLM's, any other engine's; for int8 the same of fp8, whose weights
    are as wide. Which one was used does not change the arithmetic peak.
    """
    engines = [engine, "vllm", *sorted(gpu.linear)]
    dtypes: list[ComputeDtype] = [dtype, "fp8"] if dtype == "int8" else [dtype]
    for wanted in dtypes:
        for name in engines:
            if wanted in gpu.linear.get(name, {}):
                return gpu.linear[name][wanted]
    known = ", ".join(f"{name} {d}" for name, table in sorted(gpu.linear.items()) for d in table)
    raise CatalogError(f"GPU {gpu.name}: no linear layers measured for {engine} {dtype}; known: {known or 'none'}")
