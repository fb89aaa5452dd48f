"""Cost of one pass of one model through its GPUs, in the parts that a step is put together from.

It does not know whether the model is target or draft.
"""

from dataclasses import dataclass
from typing import NamedTuple

from simulator.physics.attention import AttentionCurve
from simulator.physics.communication import Group
from simulator.physics.dense import Dense
from simulator.physics.experts import ExpertLayers
from simulator.physics.footprint import num_moe_layers
from simulator.physics.profiled import Calibration, ProfiledExperts
from simulator.physics.profiled_attention import ProfiledAttention
from simulator.spec.draft import KvDtype
from simulator.spec.hardware import Gpu, Links
from simulator.spec.model import Model
from simulator.spec.policy import EnginePolicy, Quantisation
from simulator.spec.profile import Profile

ACTIVATION_BYTES = 2.0
"""Bytes of an activation between layers (bf16)."""
LOGIT_PASSES = 4
"""Times that the logits, in 32 bits, cross HBM: written, read and written by the softmax, read by the sampler.

Assumption; the sampler's fixed time is the engine policy's.
"""
LOGIT_BYTES = 4.0
MOE_OPERATORS = 4
"""Operators of a MoE layer's routed experts: top-k, permutation, two grouped products."""


class Machine(NamedTuple):
    """The GPUs and the engine that run a pass."""

    gpu: Gpu
    links: Links
    policy: EnginePolicy
    graph_max_tokens: int
    """Passes with more rows run without CUDA graphs."""
    profile: Profile | None = None
    """Measured curves; None: the catalog's efficiencies."""

    @property
    def step_s(self) -> float:
        """Host time of a step that kernels do not hide: the profile's where it was fitted, else the policy's."""
        if self.profile is None or not self.profile.constants.source:
            return self.policy.overhead.unfitted_step.seconds
        return self.profile.constants.step_ms * 1e-3

    @property
    def sequence_s(self) -> float:
        """Host time that a decoding sequence adds to a step."""
        return self.profile.constants.sequence_host_us * 1e-6 if self.profile is not None else 0.0


class Split(NamedTuple):
    """How a model is spread over the GPUs of a replica."""

    tensor_parallel: int
    data_parallel: int = 1
    expert_parallel: int = 1

    @property
    def num_gpus(self) -> int:
        """GPUs that run the model."""
        return self.tensor_parallel * self.data_parallel


class HostKv(NamedTuple):
    """The part of the target's KV that lies on the host, on a link that nothing hides."""

    position_s: float = 0.0
    """Seconds that a GPU's link takes for the part of one position: once to write it, once in each step that reads it.
    """
    chunk_tokens: int = 1
    """Prompt tokens of a chunk, which read what came before them together."""


NO_HOST = HostKv()
"""All KV lies in HBM."""


class Checkpoint(NamedTuple):
    """A model as it is stored."""

    model: Model
    weights: Quantisation | None
    """None: bf16."""
    kv: KvDtype
    unquantised: tuple[str, ...] = ()


class LayersCost(NamedTuple):
    """What the layers of a pass take, attention left out [s]."""

    linear_s: float
    experts_s: float
    collectives_s: float
    launch_s: float
    """Waiting for launches: what they take beyond the three before."""
    reading_s: float
    """Time of the linear layers and experts if they only read their weights (not a part of the sum)."""

    @property
    def total_s(self) -> float:
        """Seconds of the layers."""
        return self.linear_s + self.experts_s + self.collectives_s + self.launch_s


class HeadCost(NamedTuple):
    """What the output head takes [s]."""

    linear_s: float
    collectives_s: float
    sampling_s: float

    @property
    def total_s(self) -> float:
        """Seconds of the head."""
        return self.linear_s + self.collectives_s + self.sampling_s


def per_rank(count: int, data_parallel: int) -> int:
    """Rows or sequences of the fullest data-parallel rank when they are dealt out evenly.

    >>> per_rank(9, data_parallel=8)
    2
    """
    return -(-count // data_parallel)


@dataclass(frozen=True, slots=True)
class Forward:
    """One model on its GPUs."""

    model: Model
    machine: Machine
    split: Split
    dense: Dense
    experts: tuple[ExpertLayers | ProfiledExperts, ...]
    head: Dense
    attention: AttentionCurve | ProfiledAttention
    tensor_group: Group
    replica_group: Group
    calibration: Calibration
    between_s: tuple[float, float] = (0.0, 0.0)
    """Small kernels between the products, all layers: a constant, and per row (activations that cross HBM)."""
    host: HostKv = NO_HOST

    def layers(self, rows: int, dealt_rows: int | None = None) -> LayersCost:
        """Seconds of all layers at `rows` tokens of the whole replica.

        dealt_rows: tokens that, dealt out evenly, would give each data-parallel rank as many as its fullest has; None:
        they are dealt out evenly. [tokens]
        """
        if rows <= 0:
            return LayersCost(0.0, 0.0, 0.0, 0.0, 0.0)
        mine = per_rank(dealt_rows or rows, self.split.data_parallel)
        eager = mine > self.machine.graph_max_tokens
        linear = self.dense.seconds(mine, eager) + self.between_s[0] + self.between_s[1] * mine
        experts = sum(layers.seconds(rows) for layers in self.experts)
        reading = self.dense.reading_s + sum(layers.reading_s(rows) for layers in self.experts)
        collectives = self._collectives_s(mine, eager)
        launch = max(0.0, self._launch_s(eager) - (linear + experts + collectives))
        return LayersCost(linear, experts, collectives, launch, reading)

    def head_cost(self, logit_rows: int) -> HeadCost:
        """Seconds of the head at so many tokens of the whole replica: product, gathering, passes over the logits."""
        if logit_rows <= 0:
            return HeadCost(0.0, 0.0, 0.0)
        rows = per_rank(logit_rows, self.split.data_parallel)
        logits = rows * self.model.vocab_size
        others = 1.0 - 1.0 / self.split.tensor_parallel
        gathered = self.tensor_group.exchange_s(logits * ACTIVATION_BYTES * others)
        passes = logits * LOGIT_BYTES * LOGIT_PASSES / self.machine.gpu.memory.bandwidth_bytes_per_s
        return HeadCost(self.head.seconds(rows, rows > self.machine.graph_max_tokens), gathered, passes)

    def decode_attention(self, sequences: int, queries: int) -> tuple[float, float]:
        """Seconds of decode attention: a constant, and per position of the replica's context."""
        ranks = self.split.data_parallel
        mine = per_rank(sequences, ranks)
        constant, slope = self.attention.decode_s(mine, queries)
        return constant + mine * queries * self.host.position_s, (slope + self.host.position_s) / ranks

    @property
    def step_s(self) -> float:
        """Host time of a step that kernels do not hide."""
        return self.machine.step_s

    @property
    def sampler_s(self) -> float:
        """Fixed time of the sampler."""
        return self.machine.policy.overhead.sampling_us_per_step * 1e-6

    def hosting_s(self, sequences: int, queries: int) -> float:
        """Host time of the decoding sequences; nothing hides it."""
        return sequences * self.machine.sequence_s

    def bound_by_flops(self, queries: int) -> bool:
        """Whether decode attention takes longer to multiply than to read."""
        host_reads = self.host.position_s > self.attention.decode_s(1, queries)[1]
        return self.attention.bound_by_flops(queries) and not host_reads

    def prefill_attention_s(self, tokens: int) -> float:
        """Seconds of prompt attention that do not depend on the positions attended to."""
        mine = per_rank(tokens, self.split.data_parallel)
        return self.attention.prefill_s(mine) + mine * self.host.position_s

    @property
    def prefill_context_s(self) -> float:
        """Seconds per pair of a prompt token and a position that it attends to, over the replica."""
        reading_s = self.host.position_s / self.host.chunk_tokens
        return (self.attention.prefill_context_s + reading_s) / self.split.data_parallel

    def _launch_s(self, eager: bool) -> float:
        """Time in which every operator is launched, or replayed from a graph."""
        reduces, exchanges = self._messages()
        operators = self.dense.operators + self.attention.layers + reduces + exchanges
        operators += MOE_OPERATORS * sum(layers.layers for layers in self.experts)
        overhead = self.machine.policy.overhead
        return operators * (overhead.eager_kernel_us if eager else overhead.kernel_floor_us) * 1e-6

    def _messages(self) -> tuple[int, int]:
        """All-reduces within the tensor-parallel group, and exchanges over the replica, of one pass.

        One all-reduce after the embedding, attention and MLP of each layer; with data-parallel attention the MLP of a
        MoE layer has an exchange before and after its experts instead.
        """
        moe = num_moe_layers(self.model) if self.split.data_parallel > 1 else 0
        reduces = 2 * self.model.num_layers + 1 - moe if self.split.tensor_parallel > 1 else 0
        return reduces, 2 * moe

    def _collectives_s(self, rows: int, eager: bool) -> float:
        """Seconds of the messages at `rows` tokens per rank; every token is sent to each GPU that holds its experts."""
        reduces, exchanges = self._messages()
        hidden_bytes = rows * self.model.hidden_size * ACTIVATION_BYTES
        seconds = reduces * self.tensor_group.all_reduce_s(hidden_bytes, eager)
        if not exchanges or self.model.moe is None:
            return seconds
        tensor_parallel, _, groups = self.split
        copies = min(self.model.moe.top_k, groups) * self.split.num_gpus / groups
        sent = hidden_bytes / tensor_parallel * copies * (1.0 - 1.0 / self.split.num_gpus)
        return seconds + exchanges * self.replica_group.exchange_s(sent)
