"""A GPU and the links between GPUs, as the catalog states them (datasheet units in the names)."""

from typing import Annotated, Literal

from pydantic import Field

from simulator.spec.base import Count, Fraction, Name, Positive, Spec, Text
from simulator.spec.draft import KvDtype
from simulator.spec.sources import Sources

ComputeDtype = Literal["fp32", "bf16", "fp8", "int8", "nvfp4"]
GIB = 2**30
MIB = 2**20


class GpuMemory(Spec):
    """HBM of a GPU, in the two ways that matter; never the marketed figure."""

    driver_mib: Count
    """As the driver reports it."""
    cuda_visible_gib: Positive
    """As CUDA shows it to an engine: what a memory fraction applies to."""
    bandwidth_tb_per_s: Positive
    source: str

    @property
    def driver_bytes(self) -> int:
        """Driver-reported bytes."""
        return self.driver_mib * MIB

    @property
    def visible_bytes(self) -> int:
        """CUDA-visible bytes."""
        return round(self.cuda_visible_gib * GIB)

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """Datasheet bandwidth [bytes/s]."""
        return self.bandwidth_tb_per_s * 1e12


class DenseCompute(Spec):
    """Peak dense rates; a dtype that is absent has no fast path on this GPU."""

    tflops: dict[ComputeDtype, Positive]
    source: str


class LinearEfficiency(Spec):
    """How near a linear layer comes to the GPU's peaks, for one engine and dtype."""

    bandwidth_fraction: tuple[Fraction, Fraction, Fraction]
    """Share of the bandwidth reached at few rows, by weight elements 8–33 M, 33–134 M, above."""
    compute_fraction: Fraction
    """Share of the dense peak reached at 2,048 rows and more."""
    row_latency_ratio: tuple[Positive, Positive, Positive, Positive]
    """Latency at 16, 64, 128, 256 rows ÷ latency at 8 rows or fewer."""
    source: str


def measured_kv(kv: KvDtype) -> Literal["fp32", "bf16", "fp8"]:
    """The KV dtype whose kernels stand for another's: int8 has the bytes of fp8, and no table of it is at hand."""
    return "fp8" if kv == "int8" else kv


AttentionPoint = tuple[Count, Count, Positive]
"""(batch, context tokens, TB/s)"""


class AttentionEfficiency(Spec):
    """Measured decode attention of one layer: effective rate of KV reading."""

    points: tuple[AttentionPoint, ...]
    """vLLM with a bf16 cache: (batch, context tokens, TB/s)."""
    tables: dict[str, dict[Literal["bf16", "fp8"], tuple[AttentionPoint, ...]]] = Field(default_factory=dict)
    """Engine → KV dtype → points, where they were measured on their own; an fp8 cache has half the bytes per token."""
    layer_kv_bytes_per_token: Count
    """bf16 KV bytes per token of the layer that was measured."""
    prefill_compute_fraction: Fraction
    """Share of the bf16 dense peak that prefill attention reaches."""
    source: str

    def points_for(self, engine: str, kv: KvDtype) -> tuple[AttentionPoint, ...]:
        """Points of this engine and KV dtype: its own, else vLLM's of that dtype, else `points`."""
        known = measured_kv(kv)
        if known == "fp32":
            return self.points
        own = self.tables.get(engine, {}).get(known)
        return own or self.tables.get("vllm", {}).get(known) or self.points

    def layer_kv_bytes_for(self, kv: KvDtype) -> int:
        """KV bytes per token of the measured layer, at this KV dtype."""
        return self.layer_kv_bytes_per_token * {"fp32": 4, "bf16": 2, "fp8": 1, "int8": 1}[kv] // 2


class BoardPower(Spec):
    """Power limit of the board."""

    watts: Positive
    source: str


class Gpu(Spec):
    """One GPU of the catalog."""

    name: Name
    title: Text
    architecture: Name
    node_gpus: Count
    """GPUs within one NVLink domain."""
    memory: GpuMemory
    compute: DenseCompute
    power: BoardPower
    linear: dict[str, dict[ComputeDtype, LinearEfficiency]]
    """Engine policy → dtype → measured efficiencies."""
    attention: AttentionEfficiency
    links: Name
    """Name of the link file: collectives between these GPUs and between nodes."""
    source: str = ""
    """Key of the source of node_gpus."""
    sources: Sources


class CollectiveTable(Spec):
    """Latency of a collective by message size, for one number of GPUs."""

    bytes: tuple[Count, ...]
    """Message sizes [bytes], rising."""
    us: tuple[Positive, ...]
    """Latency [µs]."""


class PointToPoint(Spec):
    """A link between two GPUs or nodes."""

    latency_us: Positive
    gb_per_s: Positive
    """Bandwidth per direction [10^9 bytes/s]."""
    source: str


class Links(Spec):
    """Collectives and point-to-point links of a GPU type."""

    name: Name
    all_reduce: dict[str, dict[Annotated[int, Field(ge=2)], CollectiveTable]]
    """Kernel (vllm_graph, vllm_eager, trtllm, nccl) → GPUs → table."""
    all_gather: dict[str, dict[Annotated[int, Field(ge=2)], CollectiveTable]] = Field(default_factory=dict)
    """Kernel → GPUs → table."""
    point_to_point: dict[Literal["nvlink", "pcie", "internode"], PointToPoint]
    source: str
    sources: Sources
